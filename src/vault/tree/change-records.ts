/** What the walker says of changes and times, as values: records of fields (`tree-program`). */
import type { ErrnoCode } from '../../base/errno.js';
import { tooDeep } from './too-deep.js';
import type { Change, FileTime, Problem, TreeDiffOptions } from './tree-jobs.js';
import { eachRecord, splitFields } from './tree-program.js';

/** Records of so many fields each. */
export function parse<T>(output: Buffer, width: number, make: (...fields: string[]) => T): T[] {
  const items: T[] = [];
  eachRecord(output, width, (fields, at) => items.push(make(...fields.slice(at, at + width))));
  return items;
}

export const parseProblems = (output: Buffer) =>
  parse<Problem>(output, 3, (path = '', code = '', reason = '') => ({ path, code: code as ErrnoCode, reason }));

/** Each change would hold on to words of its own otherwise: lists are long. */
const kinds: Readonly<Record<string, Change['kind']>> = { added: 'added', modified: 'modified', deleted: 'deleted' };
const types: Readonly<Record<string, Change['type']>> = {
  file: 'file',
  directory: 'directory',
  symlink: 'symlink',
  fifo: 'fifo',
  socket: 'socket',
  device: 'device',
};

function changeOf(fields: readonly string[], at: number): Change {
  const change: Change = {
    kind: kinds[fields[at] ?? ''] ?? 'modified',
    type: types[fields[at + 1] ?? ''] ?? 'device',
    mode: Number.parseInt(fields[at + 2] ?? '', 8),
    size: Number(fields[at + 3]),
    content: fields[at + 4] === '1',
    stamp: fields[at + 5] ?? '',
    path: fields[at + 7] ?? '',
  };
  const unlisted = fields[at + 6];
  return unlisted === '0' ? change : { ...change, unlisted: Number(unlisted) };
}

export function parseChanges(output: Buffer, { tellsUnlisted }: TreeDiffOptions): Change[] {
  const changes: Change[] = [];
  eachRecord(output, 8, (fields, at) => {
    const change = changeOf(fields, at);
    if (change.unlisted === undefined || tellsUnlisted === true) changes.push(change);
    else throw tooDeep('tree diff', change.path, change.unlisted);
  });
  return changes;
}

function timeOf(fields: readonly string[], at: number): FileTime {
  const links = fields[at + 4] ?? '0';
  return {
    path: fields[at] ?? '',
    state: fields[at + 1] as FileTime['state'],
    modified: BigInt(fields[at + 2] ?? ''),
    before: BigInt(fields[at + 3] ?? ''),
    links: links === '0' ? undefined : links,
  };
}

export function parseTimes(output: Buffer): FileTime[] {
  const times: FileTime[] = [];
  eachRecord(output, 5, (fields, at) => times.push(timeOf(fields, at)));
  return times;
}

/** Changes, then an empty field, then files with their times: as the bytes come, so that none of them is held. */
export class TimedChangeReader {
  readonly times: FileTime[] = [];
  readonly #take: (change: Change) => void;
  #rest: Buffer = Buffer.alloc(0);
  #fields: readonly string[] = [];
  #isTimes = false;

  constructor(take: (change: Change) => void) {
    this.#take = take;
  }

  read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(0) + 1;
    // A copy: what is left would hold on to all of it otherwise.
    this.#rest = Buffer.from(bytes.subarray(end));
    const fields = [...this.#fields, ...splitFields(bytes.subarray(0, end))];
    let at = 0;
    for (; !this.#isTimes && at < fields.length; at += 8) {
      if (fields[at] === '') {
        this.#isTimes = true;
        at += 1;
        break;
      }
      if (at + 8 > fields.length) break;
      this.#take(changeOf(fields, at));
    }
    for (; this.#isTimes && at + 5 <= fields.length; at += 5) this.times.push(timeOf(fields, at));
    this.#fields = fields.slice(at);
  }
}
