/**
 * The face of `native/tree`: bulk work on trees that may be hostile is done by one static program, fd-anchored and
 * without following links. This file knows the words of each verb and types its answers; `tree-program` runs them.
 *
 * Paths in and out are relative and lossless (`base/path-bytes`).
 */
import type { ErrnoCode } from '../base/errno.js';
import { decodePath } from '../base/path-bytes.js';
import type {
  ApplyOptions,
  Change,
  Common,
  CompareOptions,
  Content,
  CopyOptions,
  DiffOptions,
  DigestOptions,
  DirectoryIdentity,
  Drift,
  LockRequest,
  MergeOptions,
  MirrorOptions,
  Problem,
  ReadOptions,
  ScanOptions,
  Verdict,
} from './tree-jobs.js';
import { joinFields, splitFields, TreeProgram } from './tree-program.js';

export type * from './tree-jobs.js';

/** Records of so many fields each. */
function parse<T>(output: Buffer, width: number, make: (...fields: string[]) => T): T[] {
  const fields = splitFields(output);
  const items: T[] = [];
  for (let at = 0; at + width <= fields.length; at += width) items.push(make(...fields.slice(at, at + width)));
  return items;
}

const parseProblems = (output: Buffer) =>
  parse<Problem>(output, 3, (path = '', code = '', reason = '') => ({ path, code: code as ErrnoCode, reason }));

const skipWords = (skip: readonly DirectoryIdentity[] = []) =>
  skip.flatMap(({ device, inode }) => ['--skip', `${device}:${inode}`]);
const shiftWords = (shift: number | undefined) => (shift === undefined ? [] : ['--shift', String(shift)]);
const lockWords = (lock: LockRequest | undefined) =>
  lock === undefined ? [] : ['--lock-fd', '3', ...(lock.wait ? ['--wait'] : [])];
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

/** Of `native/flock.node`: 0 or an errno; never waits where it is given no time. */
interface LockLibrary {
  lock(descriptor: number, milliseconds: number): number;
}

export class Tree {
  readonly #program: TreeProgram;
  readonly #lockLibrary: string | undefined;
  #locks: LockLibrary | undefined;

  /** With the lock library a lock that is free is taken without starting a process. */
  constructor(options: { readonly program: string; readonly lockLibrary?: string | undefined }) {
    this.#program = new TreeProgram(options.program);
    this.#lockLibrary = options.lockLibrary;
  }

  get program(): string {
    return this.#program.path;
  }

  /** Undefined where it takes a process to know. */
  #lockAtOnce({ descriptor }: LockRequest): boolean | undefined {
    if (this.#lockLibrary === undefined) return undefined;
    if (this.#locks === undefined) {
      const module = { exports: {} as LockLibrary };
      try {
        process.dlopen(module, this.#lockLibrary);
      } catch {
        return undefined; // The program does the same, only slower.
      }
      this.#locks = module.exports;
    }
    return this.#locks.lock(descriptor, 0) === 0;
  }

  /** Writes the signatures of a directory; with `against`, says what differs from an earlier scan or copy. */
  async scan(options: ScanOptions): Promise<Drift[]> {
    const against = options.against === undefined ? [] : ['--against', options.against];
    const words = ['scan', options.root, '--out', options.signatures, ...against, ...skipWords(options.skip)];
    words.push(...lockWords(options.lock));
    const output = await this.#program.run({ words, signal: options.signal, inherited: options.lock?.descriptor });
    return parse<Drift>(output, 2, (path = '', what = '') => ({ path, what: what as Drift['what'] }));
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

  /** What the upper layers change in what the lower ones show, in walk order. */
  async diff(options: DiffOptions): Promise<Change[]> {
    const words = ['diff', ...listWords('--upper', options.uppers), ...listWords('--lower', options.lowers)];
    if (options.whole === true) words.push('--whole');
    if (options.pastClosed === true) words.push('--past-closed');
    const output = await this.#program.look({ words, signal: options.signal });
    return parse<Change>(output, 7, (kind, type, mode = '', size, content, stamp = '', path = '') => ({
      kind: kind as Change['kind'],
      type: type as Change['type'],
      mode: Number.parseInt(mode, 8),
      size: Number(size),
      content: content === '1',
      stamp,
      path,
    }));
  }

  /** Whether the origin still has, at each path, what the layers show there. */
  async compare(options: CompareOptions): Promise<Map<string, Verdict>> {
    const words = ['compare', ...listWords('--layer', options.layers), '--to', options.root];
    words.push(...shiftWords(options.shift));
    const output = await this.#program.run({ words, input: joinFields(options.paths), signal: options.signal });
    return new Map(parse(output, 2, (path = '', verdict) => [path, verdict as Verdict] as const));
  }

  /** The contents the layers show, in the order of the paths. */
  async read(options: ReadOptions): Promise<Content[]> {
    const words = ['read', ...listWords('--layer', options.layers)];
    const output = await this.#program.run({ words, input: joinFields(options.paths), signal: options.signal });
    let at = 0;
    const field = () => {
      const end = output.indexOf(0, at);
      const text = output.toString('latin1', at, end);
      at = end + 1;
      return text;
    };
    return options.paths.map(() => {
      const type = field() as Content['type'];
      const length = Number(field());
      const bytes = output.subarray(at, at + length);
      at += length + 1;
      return { type, bytes };
    });
  }

  /** Makes a layer of what changed in the origin. */
  async mirror(options: MirrorOptions): Promise<Problem[]> {
    const words = ['mirror', options.root, '--into', options.into, ...listWords('--layer', options.layers)];
    words.push(...shiftWords(options.shift));
    return parseProblems(await this.#program.run({ words, input: joinFields(options.paths), signal: options.signal }));
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
    return parseProblems(await this.#program.run({ words, input: joinFields(unrepeated), signal: options.signal }));
  }

  /** Those of the paths that the layers decide: hold, delete, or hide with what they have above it. */
  async held(options: ReadOptions): Promise<string[]> {
    const words = ['held', ...listWords('--layer', options.layers)];
    const output = await this.#program.run({ words, input: joinFields(options.paths), signal: options.signal });
    return splitFields(output);
  }

  /** What each layer holds, as a digest; undefined for one that holds more than `most`. */
  async digest({ layers, most, signal }: DigestOptions): Promise<(string | undefined)[]> {
    const words = ['digest', ...listWords('--layer', layers), '--most', String(most)];
    const output = await this.#program.look({ words, signal });
    return splitFields(output).map((digest) => (digest === '' ? undefined : digest));
  }

  /** Executes a plan on the origin and stops at the first failure. */
  async apply(options: ApplyOptions): Promise<void> {
    const { onDone } = options;
    const words = ['apply', ...listWords('--upper', options.uppers), '--to', options.root];
    if (options.whole === true) words.push('--whole');
    words.push(...shiftWords(options.shift));
    const input = joinFields(options.plan.flatMap(({ action, path }) => [action, path]));
    let rest: Buffer = Buffer.alloc(0);
    const onOutput =
      onDone &&
      ((chunk: Buffer) => {
        const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
        let used = 0;
        for (let path = bytes.indexOf(0); path >= 0; path = bytes.indexOf(0, used)) {
          const done = bytes.indexOf(0, path + 1);
          if (done < 0) break;
          onDone(decodePath(bytes.subarray(used, path)));
          used = done + 1;
        }
        rest = bytes.subarray(used);
      });
    words.push(...lockWords(options.lock));
    await this.#program.run({ words, input, signal: options.signal, onOutput, inherited: options.lock?.descriptor });
  }

  /** Removes a directory of the store and everything in it; a missing one is fine. */
  async remove(directory: string, options: Common = {}): Promise<void> {
    await this.#program.run({ words: ['delete', directory], signal: options.signal });
  }

  async lock(request: LockRequest, options: Common = {}): Promise<void> {
    if (options.signal?.aborted !== true && this.#lockAtOnce(request) === true) return;
    const words = ['lock', ...lockWords(request)];
    await this.#program.run({ words, inherited: request.descriptor, signal: options.signal });
  }
}
