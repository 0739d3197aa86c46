/**
 * A person who saves all the time, in a process of their own: `person.js DIRECTORY FILES SEED LOG`. Saves in every way programs
 * have, each with a text that was never saved before. Each line of LOG is a text that went from its file without this person
 * having replaced it, or, at the end, the last that was saved of a file. Ends with its stdin.
 */
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
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

/** What a save left in the file, and what it found there and did away with, where that can be known for certain. */
interface Saved {
  readonly text: string;
  readonly met?: string;
}

const nothing = '';

function textOf(descriptor: number): string {
  const whole = Buffer.alloc(1 << 16);
  return whole.toString('utf8', 0, readSync(descriptor, whole, 0, whole.length, 0));
}

function make(path: string, text: string): Saved | undefined {
  return quietly(() => {
    writeFileSync(path, text, { flag: 'wx' });
    return { text, met: nothing };
  });
}

function over(path: string, text: string): Saved {
  writeFileSync(`${path}.mine`, text);
  renameSync(`${path}.mine`, path);
  return { text };
}

const ways: readonly ((path: string, text: string) => Saved | undefined)[] = [
  // Into the file, as it is, emptied by the call that opens it.
  (path, text) => {
    const descriptor = openSync(path, 'w');
    for (const part of [text.slice(0, 5), text.slice(5)]) writeSync(descriptor, part);
    closeSync(descriptor);
    return { text };
  },
  // Into the file, emptied when it is open.
  (path, text) => {
    const descriptor = quietly(() => openSync(path, 'r+'));
    if (descriptor === undefined) return make(path, text);
    const met = textOf(descriptor);
    ftruncateSync(descriptor);
    writeSync(descriptor, text, 0);
    closeSync(descriptor);
    return { text, met };
  },
  over,
  // Away, and made again.
  (path, text) => {
    const met = quietly(() => {
      renameSync(path, `${path}.away`);
      const away = readFileSync(`${path}.away`, 'utf8');
      unlinkSync(`${path}.away`);
      return away;
    });
    const made = make(path, text);
    return made && { ...made, met: met ?? nothing };
  },
  // Below what is there.
  (path, text) => {
    const descriptor = openSync(path, 'a+');
    writeSync(descriptor, text);
    const whole = textOf(descriptor);
    closeSync(descriptor);
    const met = whole.slice(0, -text.length);
    return whole.length > 2000 ? { ...over(path, text), met } : { text: whole, met };
  },
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
  file.waitsIn = undefined;
  const way = ways[Math.floor(random() * ways.length)] ?? over;
  const saved = way(file.path, nextText(file.path));
  // Neither they themselves did away with it, nor is it still there.
  if (file.last !== undefined && saved?.met !== undefined && !saved.met.startsWith(file.last)) gone(file.last);
  // What came to nothing is followed by another one at once.
  file.last = (saved ?? over(file.path, nextText(file.path))).text;
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
