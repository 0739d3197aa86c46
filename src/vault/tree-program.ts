/**
 * One job of `native/tree`: its words and its list go in NUL-separated, what it says comes out, and how it failed as an
 * ErrnoError: what the program said, EIO where it died without a word, ECANCELED where the caller aborted.
 */
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import { nativeErrorBytes } from '../base/limits.js';
import { decodePath, encodePath } from '../base/path-bytes.js';
import { TreeServer } from './tree-server.js';

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

export function joinFields(fields: readonly string[]): Buffer {
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

export class TreeProgram {
  readonly path: string;
  #server: TreeServer | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** A job that only looks, with nothing to it but its words. One that may be cancelled has a program of its own. */
  async look(job: Pick<Job, 'words' | 'signal'>): Promise<Buffer> {
    if (job.signal !== undefined) return this.run(job);
    const verb = job.words[0] ?? '';
    this.#server ??= new TreeServer(this.path);
    const { output, errors, code, signal } = await this.#server.run(joinFields(job.words)).catch((cause: Error) => {
      throw new ErrnoError('EIO', { operation: `tree ${verb}`, path: this.path, reason: cause.message, cause });
    });
    if (code === 0) return output;
    throw failure(verb, code, signal, errors);
  }

  run(job: Job): Promise<Buffer> {
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
      const child = spawn(this.path, job.words, {
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
        if (job.signal?.aborted === true) reject(cancelled());
        else if (code === 0) resolve(Buffer.concat(output));
        else reject(failure(verb, code, signal, Buffer.concat(errors)));
      });
    });
  }
}
