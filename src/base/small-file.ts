/** A file that came with a project, from whomever: read only where it is one, and small. A pipe in its place would be waited for without end. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
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

/** Other errors of the system are thrown as they are. */
export function readSmallFile(path: string, mostBytes: number): string {
  const descriptor = open(path);
  try {
    const about = fstatSync(descriptor);
    if (!about.isFile()) refuse('EINVAL', path, 'expected a file');
    if (about.size > mostBytes) refuse('EFBIG', path, `expected at most ${mostBytes} bytes, found ${about.size}`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
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
