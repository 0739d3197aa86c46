/**
 * Which directory is at a path, as the kernel knows it. Anyone who owns a directory above may put another one in its
 * place, or a link, at any time: a name says where to look, and the identity whether it is still the same one.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs';
import { syncDirectory } from './atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';

/** `DEVICE:INODE`, in decimal. */
export type InodeIdentity = string;

export const isIdentity = (value: unknown): value is InodeIdentity =>
  typeof value === 'string' && /^\d{1,20}:\d{1,20}$/.test(value);

/** Not among Node's constants; the same on all our architectures. */
const pathOnly = 0o10000000;
export const directoryFlags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;

function openStep(above: string, name: string, makes: boolean): number {
  const step = `${above}/${name}`;
  try {
    return openSync(step, directoryFlags);
  } catch (error) {
    if (!makes || !hasCode(error, 'ENOENT')) throw error;
  }
  try {
    mkdirSync(step);
    syncDirectory(`${above}/.`);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  return openSync(step, directoryFlags);
}

/** A descriptor of a directory by its canonical path, one component after the other: links on the way are refused. `makes`: what is missing. */
export function openWithoutLinks(path: string, operation: string, makes = false): number {
  let at = openSync('/', directoryFlags);
  for (const name of path.split('/')) {
    if (name === '') continue;
    const above = at;
    try {
      at = openStep(`/proc/self/fd/${above}`, name, makes);
    } catch (error) {
      throw hasCode(error, 'ENOTDIR') || hasCode(error, 'ELOOP')
        ? otherDirectory(path, operation, error)
        : fromSystemError(error, operation, path);
    } finally {
      closeSync(above);
    }
  }
  return at;
}

function otherDirectory(path: string, operation: string, cause: unknown): ErrnoError {
  return new ErrnoError('ESTALE', {
    operation,
    path,
    reason: 'expected a directory; a link or a file has taken its place, or that of a directory above it',
    remedy: 'put the directory back, or name the place that is meant',
    cause,
  });
}

export function identityOf(path: string, operation = 'open the directory'): InodeIdentity {
  const descriptor = openWithoutLinks(path, operation);
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return `${dev}:${ino}`;
  } finally {
    closeSync(descriptor);
  }
}
