/**
 * A person who saves all the time, in a process of their own: `person.js DIRECTORY FILES SEED LOG`. Saves in every way programs
 * have, each with a text that was never saved before. Each line of LOG is a text that went from its file without this person
 * having replaced it, or, at the end, the last that was saved of a file. Ends with its stdin.
 */
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomFrom } from '../../support/random.js';

const [directory = '', files = '1', seed = '1', log = ''] = process.argv.slice(2);
const random = randomFrom(Number(seed));

interface File {
  readonly path: string;
  last: string | undefined;
  /** The round in which it was found to be another's: not touched before the next. */
  waitsIn: string | undefined;
}

const all: File[] = Array.from({ length: Number(files) }, (_, index) => ({
  path: join(directory, `f${index}`),
  last: undefined,
  waitsIn: undefined,
}));
let saves = 0;

const quietly = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EEXIST') return undefined;
    throw error;
  }
};

const ways: readonly ((path: string, text: string) => string | undefined)[] = [
  // Into the file, as it is.
  (path, text) => {
    const descriptor = openSync(path, 'w');
    for (const part of [text.slice(0, 5), text.slice(5)]) writeSync(descriptor, part);
    closeSync(descriptor);
    return text;
  },
  // Over it.
  (path, text) => {
    writeFileSync(`${path}.mine`, text);
    renameSync(`${path}.mine`, path);
    return text;
  },
  // Away, and made again.
  (path, text) => {
    quietly(() => unlinkSync(path));
    return quietly(() => {
      writeFileSync(path, text, { flag: 'wx' });
      return text;
    });
  },
  // Below what is there.
  (path, text) =>
    quietly(() => {
      const descriptor = openSync(path, 'a+');
      writeSync(descriptor, text);
      const whole = Buffer.alloc(1 << 16);
      const length = readSync(descriptor, whole, 0, whole.length, 0);
      closeSync(descriptor);
      return length > 2000 ? undefined : whole.toString('utf8', 0, length);
    }),
];

const gone = (text: string) => appendFileSync(log, `${JSON.stringify(text)}\n`);

function nextText(path: string): string {
  saves += 1;
  return `save ${saves} of ${path}\n`;
}

function save(file: File, round: string): void {
  const found = quietly(() => readFileSync(file.path, 'utf8'));
  const isOther = file.last !== undefined && found !== file.last;
  if (isOther && file.waitsIn === undefined && random() < 0.7) file.waitsIn = round;
  if (file.waitsIn === round) return;
  const way = Math.floor(random() * ways.length);
  // Whoever replaces the whole file at once, without having waited, has replaced it themselves.
  if (isOther && file.last !== undefined && (file.waitsIn !== undefined || way === 3)) gone(file.last);
  file.waitsIn = undefined;
  const saved = ways[way]?.(file.path, nextText(file.path));
  // What grew too long, or came to nothing, is followed by another one at once.
  file.last = saved ?? ways[1]?.(file.path, nextText(file.path));
}

process.stdin.resume();
process.stdin.on('end', () => {
  for (const { last } of all) if (last !== undefined) gone(last);
  process.stdout.write(`${saves}\n`);
  process.exit(0);
});

(function work(): void {
  const round = readFileSync(join(directory, '..', 'round'), 'utf8');
  for (let turn = 0; turn < 5; turn++) {
    const file = all[Math.floor(random() * all.length)];
    if (file !== undefined) save(file, round);
  }
  setImmediate(work);
})();
