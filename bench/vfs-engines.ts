/**
 * The VFS in process, by its calls of `fs.promises`, against other filesystems for programs: memfs, @zenfs/core, just-bash, agentfs-sdk.
 * They are installed into a directory of this run, without their scripts, and go with it. `npm run bench -- vfs-engines 500`.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createVfs } from '../src/index.js';
import { measure, print } from './measure.js';
import { type Calls, installPeers } from './vfs/peers.js';

const files = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 500);
const page = Buffer.alloc(4_096, 7);
const large = Buffer.alloc(8 * 1024 * 1024, 7);
const peers = await installPeers();
const store = join(peers.directory, 'store');
const memory = await createVfs({ mounts: { '/': 'memory:' } });
const chunked = await createVfs({ mounts: { '/': `chunked:${store}` } });
const subjects: readonly (readonly [string, Calls])[] = [
  ['ctx memory', memory],
  ['ctx chunked', chunked],
  ...peers.all,
];

interface Row {
  readonly title: string;
  before?(calls: Calls): Promise<unknown>;
  run(calls: Calls): Promise<unknown>;
  after?(calls: Calls): Promise<unknown>;
}

const paths = Array.from({ length: files }, (_, index) => `/d${index % 10}/f${index}`);
const each = (act: (calls: Calls, path: string) => Promise<unknown>) => async (calls: Calls) => {
  for (const path of paths) await act(calls, path);
};
const make = each((calls, path) => calls.writeFile(path, page));
const clear = each((calls, path) => calls.unlink(path));

const rows: readonly Row[] = [
  { title: `write ${files} files of 4 KiB`, run: make, after: clear },
  {
    title: `read ${files} files of 4 KiB`,
    before: make,
    run: each((calls, path) => calls.readFile(path)),
    after: clear,
  },
  { title: `stat ${files} files`, before: make, run: each((calls, path) => calls.stat(path)), after: clear },
  {
    title: `list 10 directories of ${files / 10} files`,
    before: make,
    run: async (calls) => {
      for (let index = 0; index < 10; index += 1) await calls.readdir(`/d${index}`);
    },
    after: clear,
  },
  {
    title: `rename ${files} files`,
    before: make,
    run: each((calls, path) => calls.rename(path, `${path}.moved`)),
    after: each((calls, path) => calls.unlink(`${path}.moved`)),
  },
  { title: `unlink ${files} files`, before: make, run: clear },
  { title: 'write a file of 8 MiB', run: (calls) => calls.writeFile('/large', large) },
  {
    title: 'read a file of 8 MiB',
    before: (calls) => calls.writeFile('/large', large),
    run: (calls) => calls.readFile('/large'),
  },
];

try {
  for (const [, calls] of subjects) for (let index = 0; index < 10; index += 1) await calls.mkdir(`/d${index}`);
  for (const { title, before, run, after } of rows) {
    const report = await measure({
      title,
      anchor: 'ctx memory',
      rounds: 7,
      notes: peers.notes,
      directory: peers.directory,
      subjects: subjects.map(([name, calls]) => ({
        name,
        before: () => before?.(calls),
        run: () => run(calls),
        after: () => after?.(calls),
      })),
    });
    print(report);
  }
} finally {
  await memory.close();
  await chunked.close();
  rmSync(peers.directory, { recursive: true, force: true });
}
