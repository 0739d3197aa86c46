/**
 * The face of `native/tree`: bulk work on trees that may be hostile is done by one static program, fd-anchored and
 * without following links. This file only speaks its wire format (NUL-separated fields) and types its answers.
 *
 * Every failure is an ErrnoError: what the program said, EIO where it died without a word, ECANCELED where the caller
 * aborted. Paths in and out are relative and lossless (`base/path-bytes`).
 */
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import { nativeErrorBytes } from '../base/limits.js';
import { decodePath, encodePath } from '../base/path-bytes.js';
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

import { TreeServer } from './tree-server.js';

export type * from './tree-jobs.js';

interface Job {
  readonly words: readonly string[];
  readonly input?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Becomes fd 3 of the program. */
  readonly inherited?: number | 'pipe' | undefined;
  readonly onExtra?: ((chunk: Buffer) => void) | undefined;
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
}

const reasons: Readonly<Record<string, string>> = {
  EBUSY: 'it is in use by somebody else',
  EMFILE: 'the tree is deeper than the limit of open files allows; raise it (ulimit -Hn)',
  ENOENT: 'expected it to exist',
  ENOSPC: 'no space is left on the device',
  ENOTEMPTY: 'expected an empty directory',
  EROFS: 'the filesystem is read-only',
};

/** The fields of a NUL-terminated list; what follows the last NUL is not a field. Decoded at once: lists are long, fields short. */
export function splitFields(bytes: Buffer): string[] {
  const fields = decodePath(bytes).split('\0');
  fields.pop();
  return fields;
}

function joinFields(fields: readonly string[]): Buffer {
  // One conversion for the usual list; only a list with escaped bytes pays for each field.
  const text = fields.length === 0 ? '' : `${fields.join('\0')}\0`;
  if (fields.some((field) => field.includes('\0'))) {
    throw new ErrnoError('EINVAL', { operation: 'tree', reason: 'expected paths without NUL' });
  }
  return encodePath(text);
}

function failure(verb: string, code: number | null, signal: NodeJS.Signals | null, stderr: Buffer): ErrnoError {
  const [errno, operation, path] = splitFields(stderr);
  if (code === 1 && errno !== undefined && operation !== undefined && path !== undefined) {
    return new ErrnoError(errno as ErrnoCode, {
      operation: `tree ${verb}`,
      path,
      reason: `could not ${operation}: ${reasons[errno] ?? errno}`,
    });
  }
  const text = stderr.toString('utf8').trim();
  return new ErrnoError(code === 2 ? 'EINVAL' : 'EIO', {
    operation: `tree ${verb}`,
    reason: signal === null ? `the program ended with ${code}: ${text}` : `the program was killed by ${signal}`,
  });
}

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
  readonly #program: string;
  readonly #lockLibrary: string | undefined;
  #locks: LockLibrary | undefined;
  #server: TreeServer | undefined;

  /** With the lock library a lock that is free is taken without starting a process. */
  constructor(options: { readonly program: string; readonly lockLibrary?: string | undefined }) {
    this.#program = options.program;
    this.#lockLibrary = options.lockLibrary;
  }

  get program(): string {
    return this.#program;
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
    const output = await this.#run({ words, signal: options.signal, inherited: options.lock?.descriptor });
    return parse<Drift>(output, 2, (path = '', what = '') => ({ path, what: what as Drift['what'] }));
  }

  /** Imports a directory into a fresh layer. */
  async copy(options: CopyOptions): Promise<Problem[]> {
    const { onProgress } = options;
    const words = ['copy', options.root, options.destination, '--out', options.signatures];
    words.push(...skipWords(options.skip), ...shiftWords(options.shift));
    if (onProgress === undefined) return parseProblems(await this.#run({ words, signal: options.signal }));
    const onExtra = lines((line) => {
      const [files, bytes] = line.split(' ');
      onProgress({ files: Number(files), bytes: Number(bytes) });
    });
    words.push('--progress-fd', '3');
    return parseProblems(await this.#run({ words, signal: options.signal, inherited: 'pipe', onExtra }));
  }

  /** What the upper layers change in what the lower ones show, in walk order. */
  async diff(options: DiffOptions): Promise<Change[]> {
    const words = ['diff', ...listWords('--upper', options.uppers), ...listWords('--lower', options.lowers)];
    if (options.whole === true) words.push('--whole');
    const output = await this.#look({ words, signal: options.signal });
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
    const output = await this.#run({ words, input: joinFields(options.paths), signal: options.signal });
    return new Map(parse(output, 2, (path = '', verdict) => [path, verdict as Verdict] as const));
  }

  /** The contents the layers show, in the order of the paths. */
  async read(options: ReadOptions): Promise<Content[]> {
    const words = ['read', ...listWords('--layer', options.layers)];
    const output = await this.#run({ words, input: joinFields(options.paths), signal: options.signal });
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
    return parseProblems(await this.#run({ words, input: joinFields(options.paths), signal: options.signal }));
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
    return parseProblems(await this.#run({ words, input: joinFields(unrepeated), signal: options.signal }));
  }

  /** Those of the paths that the layers decide: hold, delete, or hide with what they have above it. */
  async held(options: ReadOptions): Promise<string[]> {
    const words = ['held', ...listWords('--layer', options.layers)];
    const output = await this.#run({ words, input: joinFields(options.paths), signal: options.signal });
    return splitFields(output);
  }

  /** What each layer holds, as a digest; undefined for one that holds more than `most`. */
  async digest({ layers, most, signal }: DigestOptions): Promise<(string | undefined)[]> {
    const words = ['digest', ...listWords('--layer', layers), '--most', String(most)];
    const output = await this.#look({ words, signal });
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
    await this.#run({ words, input, signal: options.signal, onOutput, inherited: options.lock?.descriptor });
  }

  /** Removes a directory of the store and everything in it; a missing one is fine. */
  async remove(directory: string, options: Common = {}): Promise<void> {
    await this.#run({ words: ['delete', directory], signal: options.signal });
  }

  async lock(request: LockRequest, options: Common = {}): Promise<void> {
    if (options.signal?.aborted !== true && this.#lockAtOnce(request) === true) return;
    const words = ['lock', ...lockWords(request)];
    await this.#run({ words, inherited: request.descriptor, signal: options.signal });
  }

  /** A job that only looks, with nothing to it but its words. One that may be cancelled has a program of its own. */
  async #look(job: Pick<Job, 'words' | 'signal'>): Promise<Buffer> {
    if (job.signal !== undefined) return this.#run(job);
    const verb = job.words[0] ?? '';
    this.#server ??= new TreeServer(this.#program);
    const { output, errors, code, signal } = await this.#server.run(joinFields(job.words)).catch((cause: Error) => {
      throw new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.#program, reason: cause.message, cause });
    });
    if (code === 0) return output;
    throw failure(verb, code, signal, errors);
  }

  #run(job: Job): Promise<Buffer> {
    const verb = job.words[0] ?? '';
    return new Promise((resolve, reject) => {
      const cancelled = () =>
        new ErrnoError('ECANCELED', {
          operation: `tree ${verb}`,
          reason: 'it was cancelled',
          cause: job.signal?.reason,
        });
      if (job.signal?.aborted === true) {
        reject(cancelled());
        return;
      }
      const child = spawn(this.#program, job.words, {
        stdio: [job.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', job.inherited ?? 'ignore'],
        env: {},
      });
      const output: Buffer[] = [];
      const errors: Buffer[] = [];
      let errorBytes = 0;
      // Not SIGKILL: an apply removes its temporary file first.
      const abort = () => child.kill('SIGTERM');
      job.signal?.addEventListener('abort', abort, { once: true });
      child.stdout?.on('data', job.onOutput ?? ((chunk: Buffer) => output.push(chunk)));
      child.stderr?.on('data', (chunk: Buffer) => {
        errorBytes += chunk.length;
        if (errorBytes <= nativeErrorBytes) errors.push(chunk);
      });
      if (job.onExtra !== undefined) (child.stdio[3] as Readable).on('data', job.onExtra);
      // A program that fails early does not read its list: its own record says why.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(job.input);
      child.on('error', (cause) => {
        job.signal?.removeEventListener('abort', abort);
        reject(new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.#program, reason: cause.message, cause }));
      });
      child.on('close', (code, signal) => {
        job.signal?.removeEventListener('abort', abort);
        if (job.signal?.aborted === true) reject(cancelled());
        else if (code === 0) resolve(Buffer.concat(output));
        else reject(failure(verb, code, signal, Buffer.concat(errors)));
      });
    });
  }
}
