/**
 * Trees of the VFS as directories: what an operation costs against tmpfs, the kernel's overlay and FUSE servers in C.
 * `npm run bench -- vfs 200` for another number of files. One process makes all calls; whatever else runs on the machine
 * slows down what has a server more than what has none.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { measure, print } from './measure.js';
import { makePlaces, type Place } from './vfs/places.js';

const files = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 500);
const largeBytes = 32 * 1024 * 1024;
const page = Buffer.alloc(4_096, 7);
const piece = Buffer.alloc(1024 * 1024, 7);

interface Row {
  readonly title: string;
  readonly rounds: number;
  before?(directory: string): void;
  run(directory: string): void;
  after?(directory: string): void;
}

const numbers = Array.from({ length: files }, (_, index) => index);
const each = (act: (path: string, index: number) => void) => (directory: string) => {
  for (const index of numbers) act(join(directory, `f${index}`), index);
};
const make = each((path) => writeFileSync(path, page));
const clear = (directory: string) => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
};
const large = (directory: string) => join(directory, 'large');
const writeLarge = (directory: string) => {
  const descriptor = openSync(large(directory), 'w');
  for (let at = 0; at < largeBytes; at += piece.length) writeSync(descriptor, piece, 0, piece.length, at);
  closeSync(descriptor);
};

const rows: readonly Row[] = [
  { title: `stat of ${files} files, warm`, rounds: 9, run: each((path) => void statSync(path)) },
  { title: `create, write 4 KiB and close ${files} files`, rounds: 7, before: clear, run: make },
  { title: `open, read 4 KiB and close ${files} files`, rounds: 9, run: each((path) => void readFileSync(path)) },
  {
    title: `rename ${files} files`,
    rounds: 7,
    run: each((path) => renameSync(path, `${path}.moved`)),
    after: each((path) => renameSync(`${path}.moved`, path)),
  },
  { title: `unlink ${files} files`, rounds: 7, before: make, run: each((path) => unlinkSync(path)), after: make },
  { title: `write ${largeBytes >> 20} MiB by 1 MiB`, rounds: 5, run: writeLarge },
  {
    title: `read ${largeBytes >> 20} MiB by 1 MiB`,
    rounds: 5,
    before: writeLarge,
    run: (directory) => {
      const descriptor = openSync(large(directory), 'r');
      const bytes = Buffer.allocUnsafe(piece.length);
      while (readSync(descriptor, bytes) > 0);
      closeSync(descriptor);
    },
  },
];

const places = makePlaces();
try {
  const subjects = places.all.map(({ name, directory }: Place) => ({ name, directory: join(directory, 'work') }));
  for (const { directory } of subjects) {
    mkdirSync(directory);
    make(directory);
  }
  for (const { title, rounds, before, run, after } of rows) {
    const report = await measure({
      title,
      anchor: 'tmpfs',
      rounds,
      warmUpRounds: 1,
      directory: '/dev/shm',
      notes: places.notes,
      subjects: subjects.map(({ name, directory }) => ({
        name,
        before: () => before?.(directory),
        run: () => run(directory),
        after: () => after?.(directory),
      })),
    });
    print(report);
  }
} finally {
  places.end();
}
