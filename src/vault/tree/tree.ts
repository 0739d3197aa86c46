/**
 * The face of `native/tree`: bulk work on trees that may be hostile is done by one static program, fd-anchored and
 * without following links. This file knows the words of each verb and types its answers; `tree-program` runs them.
 *
 * Paths in and out are relative and lossless (`base/path-bytes`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../../base/clock.js';
import type { InodeIdentity } from '../../base/directory-identity.js';
import { ErrnoError } from '../../base/errno.js';
import { type FileLock, type FlockLibrary, loadFileLock, loadFlock } from '../../base/file-lock.js';
import { lockAgainMilliseconds, lockAskedMilliseconds, longPathBytes } from '../../base/limits/store.js';
import type { Starter } from '../../base/starter.js';
import { parse, parseChanges, parseProblems, parseTimes, TimedChangeReader } from './change-records.js';
import type {
  Change,
  Common,
  CompareOptions,
  CompareVerdict,
  CopyOptions,
  DigestOptions,
  DirectoryIdentity,
  Drift,
  FileTime,
  Interference,
  MergeOptions,
  MirrorOptions,
  Problem,
  ScanOptions,
  TimesOptions,
  TreeApplyOptions,
  TreeContent,
  TreeDiffOptions,
  TreeReadOptions,
  WalkerLock,
} from './tree-jobs.js';
import { joinFields, splitFields, TreeProgram } from './tree-program.js';

export type * from './tree-jobs.js';

const skipWords = (skip: readonly DirectoryIdentity[] = []) =>
  skip.flatMap(({ device, inode }) => ['--skip', `${device}:${inode}`]);
const shiftWords = (shift: number | undefined) => (shift === undefined ? [] : ['--shift', String(shift)]);
/** Of a lock, as the library names it. */
const sharedKind = 1;

function lockWords(lock: WalkerLock | undefined): readonly string[] {
  if (lock === undefined) return [];
  return ['--lock-fd', '3', ...(lock.wait ? ['--wait'] : []), ...(lock.shared === true ? ['--shared'] : [])];
}

const listWords = (option: string, paths: readonly string[]) => paths.flatMap((path) => [option, path]);

/** Gives each whole line to `take`; what is cut stays for the next chunk. */
function lines(take: (line: string) => void): (chunk: Buffer) => void {
  let rest = '';
  return (chunk) => {
    const parts = (rest + chunk.toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) take(line);
  };
}

function drifts(output: Buffer): Drift[] {
  return parse<Drift>(output, 2, (path = '', what = '') => ({ path, what: what as Drift['what'] }));
}

export class Tree {
  readonly #program: TreeProgram;
  readonly #lockLibrary: string | undefined;
  #locks: FlockLibrary | undefined;

  /** With the lock library a lock that is free is taken without starting a process. */
  constructor(options: {
    readonly program: string;
    readonly lockLibrary?: string | undefined;
    readonly starter?: Starter | undefined;
  }) {
    this.#program = new TreeProgram(options.program, options.starter);
    this.#lockLibrary = options.lockLibrary;
  }

  get program(): string {
    return this.#program.path;
  }

  /** From now on every job that names this path means this directory, and fails with ESTALE where it is another one. */
  know(path: string, identity: InodeIdentity): void {
    this.#program.know(path, identity);
  }

  #lockLibraryOrNone(): FlockLibrary | undefined {
    if (this.#lockLibrary === undefined || this.#locks !== undefined) return this.#locks;
    try {
      this.#locks = loadFlock(this.#lockLibrary, 'lock');
    } catch {
      // The program does the same, only slower.
    }
    return this.#locks;
  }

  /** Undefined where it takes a process to know. */
  #lockAtOnce({ descriptor, shared = false }: WalkerLock): boolean | undefined {
    const library = this.#lockLibraryOrNone();
    const number = shared ? library?.whole(descriptor, sharedKind) : library?.lock(descriptor, 0);
    return number === undefined ? undefined : number === 0;
  }

  /** Writes the signatures of a directory; with `against`, says what differs from an earlier scan or copy. */
  async scan(options: ScanOptions): Promise<Drift[]> {
    const out = options.signatures === undefined ? [] : ['--out', options.signatures];
    const against = options.against === undefined ? [] : ['--against', options.against];
    const words = ['scan', options.root, ...out, ...against, ...skipWords(options.skip)];
    const { known, lock, signal } = options;
    const isAskedThere = known === undefined && this.#program.isThere;
    if (isAskedThere && (lock === undefined || this.#lockAtOnce(lock) === true)) {
      return drifts(await this.#program.runThere({ words, signal }));
    }
    words.push(...lockWords(lock));
    if (known !== undefined) {
      words.push('--trees', ...listWords('--upper', known.written), ...listWords('--layer', known.kept));
    }
    const input = known === undefined ? undefined : joinFields(known.trees);
    return drifts(await this.#program.run({ words, input, signal, inherited: lock?.descriptor }));
  }

  /** Imports a directory into a fresh layer. */
  async copy(options: CopyOptions): Promise<Problem[]> {
    const { onProgress } = options;
    const words = ['copy', options.root, options.destination, '--out', options.signatures];
    words.push(...skipWords(options.skip), ...shiftWords(options.shift));
    if (onProgress === undefined) return parseProblems(await this.#program.run({ words, signal: options.signal }));
    const onExtra = lines((line) => {
      const [files, bytes] = line.split(' ');
      onProgress({ files: Number(files), bytes: Number(bytes) });
    });
    words.push('--progress-fd', '3');
    return parseProblems(await this.#program.run({ words, signal: options.signal, inherited: 'pipe', onExtra }));
  }

  #diffWords(options: TreeDiffOptions, more: readonly string[] = []): readonly string[] {
    const words = ['diff', ...more, ...listWords('--upper', options.uppers), ...listWords('--lower', options.lowers)];
    if (options.whole === true) words.push('--whole');
    if (options.stampless === true) words.push('--stampless');
    // What a person has in their own directory is listed in full.
    if (options.pastClosed === true) words.push('--past-closed');
    else words.push('--most', String(longPathBytes));
    if (options.entries !== undefined) words.push('--entries', String(options.entries));
    words.push(...listWords('--under', options.under ?? []));
    if (options.closed !== undefined) words.push('--trees');
    return words;
  }

  /** What the upper layers change in what the lower ones show, in walk order. */
  async diff(options: TreeDiffOptions): Promise<Change[]> {
    const input = options.closed === undefined ? undefined : joinFields(options.closed);
    const job = { words: this.#diffWords(options), input, signal: options.signal };
    return parseChanges(await this.#program.ask(job), options);
  }

  /**
   * The same, each change as it comes, and `times` of the same layers with `known`, but for new names of files of which none was there
   * before: each file is looked at once for both.
   */
  async diffWithTimes(options: TreeDiffOptions, take: (change: Change) => void): Promise<readonly FileTime[]> {
    const words = this.#diffWords(options, ['--timed', '--present']);
    const reader = new TimedChangeReader(take);
    let failed: unknown;
    const onOutput = (chunk: Buffer) => {
      if (failed !== undefined) return;
      try {
        reader.read(chunk);
      } catch (error) {
        failed = error;
      }
    };
    await this.#program.run({ words, signal: options.signal, onOutput });
    if (failed !== undefined) throw failed;
    return reader.times;
  }

  /** What the layers show in these directories, each itself first, in walk order. */
  async names(layers: readonly string[], directories: readonly string[]): Promise<string[]> {
    if (directories.length === 0 || layers.length === 0) return [];
    const words = ['names', ...listWords('--layer', layers)];
    const input = joinFields(directories.map((path) => `${path}/`));
    return splitFields(await this.#program.ask({ words, input }));
  }

  /** How many changes there are, counted up to `most`. */
  async count({ uppers, lowers }: Pick<TreeDiffOptions, 'uppers' | 'lowers'>, most: number): Promise<number> {
    const words = ['diff', '--count', String(most), '--most', String(longPathBytes)];
    words.push(...listWords('--upper', uppers), ...listWords('--lower', lowers));
    return Number(splitFields(await this.#program.ask({ words }))[0]);
  }

  /** Regular files of the upper layers that are new, changed, of another time, or names of one file, in walk order. */
  async times({ uppers, lowers, pastClosed, known }: TimesOptions): Promise<FileTime[]> {
    const words = ['diff', '--times', ...listWords('--upper', uppers), ...listWords('--lower', lowers)];
    if (known === true) words.push('--present');
    if (pastClosed === true) words.push('--past-closed');
    words.push('--most', String(longPathBytes));
    return parseTimes(await this.#program.ask({ words }));
  }

  /** Whether the origin still has, at each path, what the layers show there. */
  async compare(options: CompareOptions): Promise<Map<string, CompareVerdict>> {
    const words = ['compare', ...listWords('--layer', options.layers), '--to', options.root];
    words.push(...shiftWords(options.shift), ...(options.times === true ? ['--times'] : []));
    if (options.undoes === true) words.push('--undoes');
    if (options.differing === true) words.push('--differing');
    const output = await this.#program.ask({ words, input: joinFields(options.paths), signal: options.signal });
    return new Map(parse(output, 2, (path = '', verdict) => [path, verdict as CompareVerdict] as const));
  }

  /** The contents the layers show, in the order of the paths. */
  async read(options: TreeReadOptions): Promise<TreeContent[]> {
    const most = options.most === undefined ? [] : ['--most', String(options.most)];
    const words = ['read', ...listWords('--layer', options.layers), ...most];
    if (options.digests === true) words.push('--digests');
    const output = await this.#program.ask({ words, input: joinFields(options.paths), signal: options.signal });
    let at = 0;
    const field = () => {
      const end = output.indexOf(0, at);
      const text = output.toString('latin1', at, end);
      at = end + 1;
      return text;
    };
    return options.paths.map(() => {
      const type = field() as TreeContent['type'];
      const mode = Number.parseInt(field(), 8);
      const size = Number(field());
      const digest = field();
      const attributes = field();
      const length = Number(field());
      const bytes = output.subarray(at, at + length);
      at += length + 1;
      const content = { type, mode, size, digest, bytes };
      return attributes === '' ? content : { ...content, attributes: attributes.split('\n') };
    });
  }

  /** Makes a layer of what changed in the origin. */
  async mirror(options: MirrorOptions): Promise<Problem[]> {
    const words = ['mirror', options.root, '--into', options.into, ...listWords('--layer', options.layers)];
    if (options.sockets === true) words.push('--sockets');
    if (options.links === true) words.push('--links');
    words.push(...listWords('--upper', options.shown ?? []));
    words.push(...shiftWords(options.shift));
    return parseProblems(await this.#program.ask({ words, input: joinFields(options.paths), signal: options.signal }));
  }

  /** Makes one layer of several, which shows the same. */
  async merge(options: MergeOptions): Promise<Problem[]> {
    const { lowers = [], unrepeated = [], below = [] } = options;
    const words = ['merge', '--into', options.into];
    if (options.copies === true) words.push('--copies');
    if (options.whole === true) words.push('--whole');
    words.push(
      ...listWords('--upper', options.layers),
      ...listWords('--lower', lowers),
      ...listWords('--below', below),
    );
    return parseProblems(await this.#program.ask({ words, input: joinFields(unrepeated), signal: options.signal }));
  }

  /** Those of the paths that the layers decide: hold, delete, or hide with what they have above it. */
  async held(options: TreeReadOptions): Promise<string[]> {
    const words = ['held', ...listWords('--layer', options.layers)];
    const output = await this.#program.ask({ words, input: joinFields(options.paths), signal: options.signal });
    return splitFields(output);
  }

  /** What each layer holds, as a digest; undefined for one that holds more than `most`. */
  async digest({ layers, most, signal }: DigestOptions): Promise<(string | undefined)[]> {
    const words = ['digest', ...listWords('--layer', layers), '--most', String(most)];
    const output = await this.#program.ask({ words, signal });
    return splitFields(output).map((digest) => (digest === '' ? undefined : digest));
  }

  /** Executes a plan on the origin and stops at the first failure. */
  async apply(options: TreeApplyOptions): Promise<Interference> {
    const { onDone, forward, expected = [] } = options;
    const words = ['apply', ...listWords('--upper', options.uppers), '--to', options.root];
    words.push(...listWords('--layer', expected));
    if (options.whole === true) words.push('--whole');
    if (options.sockets === true) words.push('--sockets');
    if (forward !== undefined) words.push('--forward', ...(forward === 'now' ? [] : ['--after', String(forward)]));
    if (options.before !== undefined) words.push('--before', String(options.before));
    if (options.durable === true) words.push('--durable');
    if (options.undoes === true) words.push('--undoes');
    if (options.mounted !== undefined) {
      words.push('--mounted', options.mounted.upper, ...listWords('--holder', options.mounted.holders.map(String)));
    }
    words.push(...shiftWords(options.shift));
    const fields: string[] = [];
    for (const { action, path } of options.plan) fields.push(action, path);
    const input = joinFields(fields);
    const clashes: string[] = [];
    const aside: string[] = [];
    const narrowed: string[] = [];
    let after: bigint | undefined;
    let rest: Buffer = Buffer.alloc(0);
    const onOutput = (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf(0) + 1;
      const told = splitFields(bytes.subarray(0, end));
      // A path whose word is not here yet is for the next chunk.
      const used = told.length % 2 === 0 ? end : end < 2 ? 0 : bytes.lastIndexOf(0, end - 2) + 1;
      for (let at = 0; at + 1 < told.length; at += 2) {
        const [shown = '', what = ''] = [told[at], told[at + 1]];
        if (shown === '') after = BigInt(what);
        else if (what === 'clash') clashes.push(shown);
        else if (what === 'aside') aside.push(shown);
        else if (what === 'narrowed') narrowed.push(shown);
        else onDone?.(shown);
      }
      rest = bytes.subarray(used);
    };
    words.push(...lockWords(options.lock));
    // What writes into a directory of a person's has a program of its own, which can be asked to stop between two steps.
    const isOurs = options.lock === undefined && options.shift === undefined && onDone === undefined;
    if (isOurs && expected.length === 0) {
      onOutput(await this.#program.ask({ words, input, signal: options.signal }));
      return { clashes, aside, narrowed, after };
    }
    await this.#program.run({ words, input, signal: options.signal, onOutput, inherited: options.lock?.descriptor });
    return { clashes, aside, narrowed, after };
  }

  /** Waits until everything that was written to the filesystem of the directory is on its disk. */
  async sync(directory: string): Promise<void> {
    await this.#program.ask({ words: ['sync', directory] });
  }

  /** Ends the program that stays for quick jobs, where nobody waits for it. */
  release(): void {
    this.#program.release();
  }

  /** Removes a directory of the store and everything in it; a missing one is fine. */
  async remove(directory: string, options: Common = {}): Promise<void> {
    await this.#program.run({ words: ['delete', directory], signal: options.signal });
  }

  /** The same, before it returns. */
  removeAtOnce(directory: string): void {
    this.#program.runToEnd(['delete', directory]);
  }

  /** Waits in this thread, for what takes others a moment; undefined without the lock library. */
  fileLock(milliseconds: number, what: string): FileLock | undefined {
    return this.#lockLibrary === undefined ? undefined : loadFileLock(this.#lockLibrary, milliseconds, what);
  }

  /** Of an open file that another process shares: closing it here would leave it locked. */
  unlock(descriptor: number): void {
    const library = this.#lockLibraryOrNone();
    if (library !== undefined && library.unlock(descriptor) === 0) return;
    throw new ErrnoError('ENOSYS', { operation: 'unlock', reason: 'the library that locks files is missing' });
  }

  /** Deletes all that is in a directory, in a process that nobody waits for and that outlives this one. */
  emptyLater(directory: string): void {
    this.#program.startApart(['empty', directory]);
  }

  async lock(request: WalkerLock, options: Common = {}): Promise<void> {
    let taken = options.signal?.aborted === true ? undefined : this.#lockAtOnce(request);
    // Locks are held for moments: asking again is cheaper than a process that waits.
    const until = monotonic() + lockAskedMilliseconds;
    while (taken === false && request.wait && monotonic() < until && options.signal?.aborted !== true) {
      await sleep(lockAgainMilliseconds);
      taken = this.#lockAtOnce(request);
    }
    if (taken === true) return;
    if (taken === false && !request.wait) {
      throw new ErrnoError('EBUSY', { operation: 'tree lock', reason: 'another process has locked it' });
    }
    const words = ['lock', ...lockWords(request)];
    await this.#program.run({ words, inherited: request.descriptor, signal: options.signal });
  }
}
