/**
 * The index that comes home: the fork's entries, and of each file what the person's own index remembers. Flags that hide a file
 * from `git status`, extensions, and what the fork says of files it changed do not come. Pure.
 */
import {
  type IndexEntry,
  type IndexFile,
  IndexWriter,
  markOfName,
  mostMarks,
  type ObjectFormat,
  parseIndex,
} from './git-index-file.js';
import { isDerived } from './same-index.js';

export interface IndexSides {
  readonly fork: Buffer;
  /** Undefined where the person has none, or one that cannot be read. */
  readonly person?: Buffer | undefined;
  /** When the person's was written, in nanoseconds: a file of the same time may have changed after git looked at it. */
  readonly personTime: bigint;
  readonly format: ObjectFormat;
  /** Files that the fork changed, which apply then writes: whatever git remembers of them is of others. Undefined: all may be. */
  readonly changed: ReadonlySet<string> | undefined;
}

export interface OriginIndex {
  readonly bytes: Buffer;
  /** Names that the fork's index hides and the person's does not. */
  readonly hidden: readonly string[];
  /** Objects of the entries that the person's index does not have. */
  readonly ids: readonly string[];
  /** It says what the person's own says. */
  readonly isOwn: boolean;
}

const modes = new Set([0o100644, 0o100755, 0o120000, 0o160000]);
const unknownStat = Buffer.alloc(40);

/** A part that is empty, `.`, `..` or `.git`. */
const isOddName = (name: string) => /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(name);

/** Why git would not write such an entry itself, or not after that one; undefined for one that it would. */
function faultOf(entry: IndexEntry, last: IndexEntry | undefined): string | undefined {
  if (!modes.has(entry.mode) || isOddName(entry.name)) return 'it has an entry that no working tree can hold';
  const isAfter =
    last === undefined || last.name < entry.name || (last.name === entry.name && last.stage < entry.stage);
  return isAfter ? undefined : 'its entries are not in order';
}

/** The person's index, beside which another is read. */
class OwnIndex {
  readonly file: IndexFile | undefined;
  readonly #time: readonly [seconds: number, nanoseconds: number];
  #at = 0;

  constructor(bytes: Buffer | undefined, time: bigint) {
    this.file = bytes === undefined ? undefined : parseIndex(bytes);
    this.#time = [Number(time / 1_000_000_000n), Number(time % 1_000_000_000n)];
  }

  /** The entry that has all that the other says, where it is the next one; its number. */
  same(other: IndexFile, otherAt: number): number | undefined {
    if (this.file?.isSame(this.#at, other, otherAt) !== true) return undefined;
    this.#at += 1;
    return this.#at - 1;
  }

  /** The entry of a name; names are asked for in their order. */
  find(name: string): number | undefined {
    const { file } = this;
    for (; file !== undefined && this.#at < file.length; this.#at += 1) {
      const own = file.name(this.#at);
      if (own < name) continue;
      if (own !== name) return undefined;
      this.#at += 1;
      return this.#at - 1;
    }
    return undefined;
  }

  /** Whether git looked at the file later than it was changed. */
  isSettled(at: number): boolean {
    return this.file?.isBefore(at, this.#time[0], this.#time[1]) === true;
  }
}

/** Whether an entry is of one of these files. Few are: most are told by their marks, without a name being made of their bytes. */
function changedAmong(changed: ReadonlySet<string> | undefined): (file: IndexFile, at: number) => boolean {
  if (changed === undefined) return () => true;
  const marks = new Uint8Array(mostMarks);
  for (const name of changed) marks[markOfName(name)] = 1;
  return (file, at) => marks[file.mark(at)] === 1 && changed.has(file.name(at));
}

/** A sentence where it does not come home. */
export function originIndex({ fork, person, personTime, format, changed }: IndexSides): OriginIndex | string {
  const parsed = parseIndex(fork);
  if (parsed === undefined) return 'it is not in a form that can be read whole';
  const own = new OwnIndex(person, personTime);
  const writer = new IndexWriter();
  const hidden: string[] = [];
  const ids: string[] = [];
  const isChanged = changedAmong(changed);
  let last: IndexEntry | undefined;
  let lastSame: number | undefined;
  let different = 0;
  for (let at = 0; at < parsed.length; at += 1) {
    const same = own.same(parsed, at);
    // In the person's own index it is where it does here: in order, and what a working tree can hold.
    if (same !== undefined && own.file !== undefined && (lastSame === same - 1 || at === 0)) {
      lastSame = same;
      last = undefined;
      if (own.isSettled(same) && !isChanged(parsed, at)) writer.putSame(own.file, same);
      else writer.put({ ...parsed.entry(at), stat: unknownStat });
      continue;
    }
    const entry = parsed.entry(at);
    const fault = faultOf(entry, last ?? (at === 0 ? undefined : parsed.entry(at - 1)));
    if (fault !== undefined) return fault;
    last = entry;
    const number = same ?? own.find(entry.name);
    const mine = number === undefined ? undefined : own.file?.entry(number);
    lastSame = mine?.stage === entry.stage ? number : undefined;
    const yours = entry.stage === 0 && mine?.stage === 0 ? mine : undefined;
    const assumeUnchanged = entry.assumeUnchanged && yours?.assumeUnchanged === true;
    const skipWorktree = entry.skipWorktree && yours?.skipWorktree === true;
    if (assumeUnchanged !== entry.assumeUnchanged || skipWorktree !== entry.skipWorktree) hidden.push(entry.name);
    const isSame = yours?.mode === entry.mode && yours.id === entry.id;
    const isMine =
      isSame &&
      yours.assumeUnchanged === assumeUnchanged &&
      yours.skipWorktree === skipWorktree &&
      yours.intentToAdd === entry.intentToAdd;
    if (same === undefined && !isMine) different += 1;
    // A submodule's commit is in another store, and a file that is only meant to be added has no object yet.
    if (!isSame && entry.mode !== 0o160000 && !entry.intentToAdd) ids.push(entry.id);
    const isKnown = isSame && number !== undefined && own.isSettled(number) && !isChanged(parsed, at);
    writer.put({ ...entry, assumeUnchanged, skipWorktree, stat: isKnown ? yours.stat : unknownStat });
  }
  const isOwn =
    different === 0 && own.file?.length === parsed.length && own.file.extensions.every(({ name }) => isDerived(name));
  return { bytes: writer.finish(format), hidden, ids, isOwn };
}
