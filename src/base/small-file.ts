/** A file that somebody else may have put there: read only where it is one, and small. A pipe in its place would be waited for without end. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { ErrnoError, hasCode } from './errno.js';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;

function refuse(code: 'EFBIG' | 'EINVAL', path: string, reason: string): never {
  throw new ErrnoError(code, { operation: 'read', path, reason });
}

function open(path: string): number {
  try {
    return openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    // What the kernel says of a socket.
    if ((error as NodeJS.ErrnoException).code === 'ENXIO') refuse('EINVAL', path, 'expected a file');
    throw error;
  }
}

const chunkBytes = 64 * 1024;
/** Of a stream of the caller's that does not wait by itself. */
const pauseMilliseconds = 10;

function readSome(descriptor: number, chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, chunk, 0, chunk.length, null);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
    }
  }
}

/** What is left of a file or a stream; undefined where that is more. A size says nothing of a device, or of a file that grows. */
export function readAtMost(descriptor: number, mostBytes: number): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let total = 0; total <= mostBytes; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const length = readSome(descriptor, chunk);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, length));
    total += length;
  }
  return undefined;
}

/** Other errors of the system are thrown as they are. */
export function readSmallBytes(path: string, mostBytes: number): Buffer {
  const descriptor = open(path);
  try {
    const about = fstatSync(descriptor);
    if (!about.isFile()) refuse('EINVAL', path, 'expected a file');
    if (about.size > mostBytes) refuse('EFBIG', path, `expected at most ${mostBytes} bytes, found ${about.size}`);
    return readAtMost(descriptor, mostBytes) ?? refuse('EFBIG', path, `expected at most ${mostBytes} bytes`);
  } finally {
    closeSync(descriptor);
  }
}

export function readSmallFile(path: string, mostBytes: number): string {
  return readSmallBytes(path, mostBytes).toString('utf8');
}

const notRead = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG', 'EINVAL', 'EFBIG'] as const;

/** Undefined where there is none that we may see: nothing, something else than a file, or a larger one. */
export function smallFileAt(path: string, mostBytes: number): string | undefined {
  try {
    return readSmallFile(path, mostBytes);
  } catch (error) {
    if (notRead.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}
