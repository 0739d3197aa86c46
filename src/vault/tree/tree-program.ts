/**
 * One job of `native/tree`: its words and its list go in NUL-separated, what it says comes out, and how it failed as an
 * ErrnoError: what the program said, EIO where it died without a word, ECANCELED where the caller aborted.
 */
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { childProcess, startProgram } from '../../base/child-process.js';
import type { InodeIdentity } from '../../base/directory-identity.js';
import { type ErrnoCode, ErrnoError, fromSystemError, fullDiskRemedy } from '../../base/errno.js';
import { nativeErrorBytes } from '../../base/limits/store.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { isReady } from '../../base/ready-program.js';
import { hear, type Starter } from '../../base/starter.js';
import { servedBytes, TreeServer } from './tree-server.js';

export interface Job {
  readonly words: readonly string[];
  readonly input?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Becomes fd 3 of the program. */
  readonly inherited?: number | 'pipe' | undefined;
  readonly onExtra?: ((chunk: Buffer) => void) | undefined;
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EBUSY: 'it is in use by another process, or something is mounted there',
  EDQUOT: 'the most that you may have on that disk is reached (quota)',
  EFBIG: 'a file would be larger than the limit of file sizes allows; raise it (ulimit -f)',
  EMFILE: 'the tree is deeper than the limit of open files allows; raise it (ulimit -Hn)',
  EIO: 'the disk, or the server behind it, failed (input/output error)',
  ENAMETOOLONG: 'a name is longer than that filesystem takes',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space is left on the device',
  ENOTEMPTY: 'expected an empty directory',
  ESTALE: 'the directory that this vault knows was replaced by another one or a link, or removed',
  EPERM: 'the system forbids it: it may be immutable (lsattr shows that), or of another user in a sticky directory',
  EROFS: 'the filesystem is read-only',
};

const nothing = Buffer.alloc(0);

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: fullDiskRemedy,
  ESTALE:
    'put the directory back (is its disk mounted?); if the one there now is right, confirm it: ctx vault set --moved',
};

/** The fields of a NUL-terminated list; what follows the last NUL is not a field. Decoded at once: lists are long, fields short. */
export function splitFields(bytes: Buffer): string[] {
  const fields = decodePath(bytes).split('\0');
  fields.pop();
  return fields;
}

/** A long list is decoded in pieces of this size: what is made of one is garbage before the next. */
const pieceBytes = 256 * 1024;

/** Records of so many fields each of a NUL-terminated list. `take` is given the fields of several, and where its own begin. */
export function eachRecord(bytes: Buffer, width: number, take: (fields: readonly string[], at: number) => void): void {
  let rest: readonly string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, Math.min(from + pieceBytes, bytes.length) - 1) + 1;
    if (end === 0) return;
    const fields = [...rest, ...splitFields(bytes.subarray(from, end))];
    let at = 0;
    for (; at + width <= fields.length; at += width) take(fields, at);
    rest = fields.slice(at);
    from = end;
  }
}

export function joinFields(fields: readonly string[]): Buffer {
  // One conversion for the usual list; only a list with escaped bytes pays for each field.
  const text = fields.length === 0 ? '' : `${fields.join('\0')}\0`;
  if (fields.some((field) => field.includes('\0'))) {
    throw new ErrnoError('EINVAL', { operation: 'tree', reason: 'expected paths without NUL' });
  }
  return encodePath(text);
}

/** By a key of the terminal, which reaches every program of ours at once: this one may have ended before we heard of it ourselves. */
const interruptions = ['SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

function isInterrupted(code: number | null, signal: NodeJS.Signals | null): boolean {
  return interruptions.some((name) => name === signal || code === 128 + constants.signals[name]);
}

function failure(verb: string, code: number | null, signal: NodeJS.Signals | null, stderr: Buffer): ErrnoError {
  const [errno, operation, path] = splitFields(stderr);
  if (code === 1 && errno !== undefined && operation !== undefined && path !== undefined) {
    return new ErrnoError(errno as ErrnoCode, {
      operation: `tree ${verb}`,
      path,
      reason: `could not ${operation}: ${reasons[errno] ?? errno}`,
      remedy: remedies[errno],
    });
  }
  if (isInterrupted(code, signal))
    return new ErrnoError('ECANCELED', { operation: `tree ${verb}`, reason: 'it was interrupted' });
  const text = stderr.toString('utf8').trim();
  return new ErrnoError(code === 2 ? 'EINVAL' : 'EIO', {
    operation: `tree ${verb}`,
    reason: signal === null ? `the program ended with ${code}: ${text}` : `the program was killed by ${signal}`,
  });
}

/** Asked again and again: the answer changes while a job runs. */
function isCancelled({ signal }: Job): boolean {
  return signal?.aborted === true;
}

function cancelled(verb: string, { signal }: Job): ErrnoError {
  return new ErrnoError('ECANCELED', { operation: `tree ${verb}`, reason: 'it was cancelled', cause: signal?.reason });
}

/** A program whose caller was killed ends, and lets go of its locks, even where that happened while it was being started. */
export const endsWithUs = () => ['--parent', String(process.pid)];

export class TreeProgram {
  readonly path: string;
  readonly #starter: Starter | undefined;
  #server: TreeServer | undefined;
  /** Directories of the person's, by path: a job that names one opens this one, or fails with ESTALE. */
  readonly #known = new Map<string, InodeIdentity>();

  constructor(path: string, starter?: Starter | undefined) {
    this.path = path;
    this.#starter = starter;
  }

  know(path: string, identity: InodeIdentity): void {
    this.#known.set(path, identity);
  }

  release(): void {
    this.#server?.release();
  }

  #knownWords(words: readonly string[]): readonly string[] {
    if (this.#known.size === 0) return words;
    const known = words.flatMap((word) => {
      const identity = this.#known.get(word);
      return identity === undefined ? [] : ['--known', `${identity}:${word}`];
    });
    return [...words, ...known];
  }

  /** A job of words and a list, for the program that stays. One that may be cancelled, or is large, has a program of its own. */
  async ask(job: Pick<Job, 'words' | 'input' | 'signal'>): Promise<Buffer> {
    const words = joinFields(this.#knownWords(job.words));
    const list = job.input ?? nothing;
    if (job.signal !== undefined || words.length + list.length > servedBytes) return this.run(job);
    const verb = job.words[0] ?? '';
    this.#server ??= new TreeServer(this.path, this.#starter);
    const { output, errors, code, signal } = await this.#server.run(words, list).catch((cause: Error) => {
      if (cause instanceof ErrnoError) throw cause;
      throw new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.path, reason: cause.message, cause });
    });
    if (code === 0) return output;
    throw failure(verb, code, signal, errors);
  }

  /** Whether a process that runs one command has the program that stays already: another one would cost more than the job. */
  get isThere(): boolean {
    return this.#starter !== undefined && (this.#server !== undefined || isReady(this.path));
  }

  /** As `run`, by the program that is there. It ends with a job that is cancelled, so this is for those that leave nothing half done. */
  async runThere(job: Pick<Job, 'words' | 'signal'>): Promise<Buffer> {
    const { words, signal } = job;
    const verb = words[0] ?? '';
    if (isCancelled(job)) throw cancelled(verb, job);
    const abort = () => this.#server?.kill();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await this.ask({ words });
    } catch (error) {
      throw isCancelled(job) ? cancelled(verb, job) : error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  run(job: Job): Promise<Buffer> {
    const { input, inherited, onExtra, onOutput } = job;
    const isPlain = input === undefined && onExtra === undefined && onOutput === undefined && inherited !== 'pipe';
    return this.#starter !== undefined && isPlain ? this.#runAtOnce(job, this.#starter) : this.#runBeside(job);
  }

  /**
   * No one waits for it, and it outlives this process. Where it cannot be started, the process that needs the same next
   * starts it.
   */
  startApart(words: readonly string[]): void {
    try {
      if (this.#starter === undefined) {
        const child = startProgram(this.path, [...words], { stdio: 'ignore', env: {}, cwd: '/', detached: true });
        child.once('error', () => undefined);
        child.unref();
        return;
      }
      this.#starter.start(this.path, joinFields([this.path, ...words]), ['nothing', 'nothing', 'nothing']);
    } catch {
      // as above
    }
  }

  /** Has ended when this returns, which holds everything else up: for what is seldom, and must not be asynchronous. */
  runToEnd(words: readonly string[]): void {
    const [verb = ''] = words;
    const { status, signal, stderr, error } = childProcess().spawnSync(this.path, [...words, ...endsWithUs()], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {},
      cwd: '/',
    });
    if (error !== undefined) throw fromSystemError(error, `tree ${verb}`, this.path);
    if (status !== 0) throw failure(verb, status, signal, stderr);
  }

  /** As `#runBeside`, for a process that runs one command. */
  async #runAtOnce(job: Job, starter: Starter): Promise<Buffer> {
    const verb = job.words[0] ?? '';
    if (isCancelled(job)) throw cancelled(verb, job);
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    let errorBytes = 0;
    const inherited = typeof job.inherited === 'number' ? job.inherited : 'nothing';
    const words = joinFields([this.path, ...this.#knownWords(job.words), ...endsWithUs()]);
    try {
      const program = starter.start(this.path, words, ['nothing', 'heard', 'heard', inherited]);
      const abort = () => program.signal('SIGTERM');
      job.signal?.addEventListener('abort', abort, { once: true });
      await Promise.all([
        hear(program.end(1), (chunk) => output.push(chunk)),
        hear(program.end(2), (chunk) => {
          errorBytes += chunk.length;
          if (errorBytes <= nativeErrorBytes) errors.push(chunk);
        }),
      ]);
      const { code, signal } = program.wait();
      job.signal?.removeEventListener('abort', abort);
      if (isCancelled(job)) throw cancelled(verb, job);
      if (code === 0) return Buffer.concat(output);
      throw failure(verb, code, signal, Buffer.concat(errors));
    } catch (cause) {
      if (cause instanceof ErrnoError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.path, reason, cause });
    }
  }

  #runBeside(job: Job): Promise<Buffer> {
    const verb = job.words[0] ?? '';
    return new Promise((resolve, reject) => {
      if (isCancelled(job)) {
        reject(cancelled(verb, job));
        return;
      }
      const child = startProgram(this.path, [...this.#knownWords(job.words), ...endsWithUs()], {
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
        reject(new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.path, reason: cause.message, cause }));
      });
      child.on('close', (code, signal) => {
        job.signal?.removeEventListener('abort', abort);
        if (isCancelled(job)) reject(cancelled(verb, job));
        else if (code === 0) resolve(Buffer.concat(output));
        else reject(failure(verb, code, signal, Buffer.concat(errors)));
      });
    });
  }
}
