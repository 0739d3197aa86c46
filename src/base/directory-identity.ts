/**
 * Which directory is at a path, as the kernel knows it. Anyone who owns a directory above may put another one in its
 * place, or a link, at any time: a name says where to look, and the identity whether it is still the same one.
 */
import { chownSync, closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { syncDirectory } from './atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';

/** `DEVICE:INODE`, in decimal. */
export type InodeIdentity = string;

export const isIdentity = (value: unknown): value is InodeIdentity =>
  typeof value === 'string' && /^\d{1,20}:\d{1,20}$/.test(value);

/** Not among Node's constants; the same on all our architectures. */
const pathOnly = 0o10000000;
export const directoryFlags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Whose something new in this directory is to be, where that is somebody else than who makes it: what root makes in a user's directory is
 * that user's, or their own programs could not write it.
 */
export function newOwnerIn(directory: number): { readonly uid: number; readonly gid: number } | undefined {
  const { uid, gid } = fstatSync(directory);
  return process.geteuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined;
}

/** Only while it is empty: its owner-to-be may have put something else there meanwhile, and of an empty one they can make another anyway. */
function giveEmpty(directory: number, above: number): void {
  const owner = newOwnerIn(above);
  const path = `/proc/self/fd/${directory}`;
  if (owner !== undefined && fstatSync(directory).uid === 0 && readdirSync(path).length === 0)
    chownSync(`${path}/.`, owner.uid, owner.gid);
}

function openStep(above: number, name: string, makes: boolean): number {
  const [directory, step] = [`/proc/self/fd/${above}`, `/proc/self/fd/${above}/${name}`];
  try {
    return openSync(step, directoryFlags);
  } catch (error) {
    if (!makes || !hasCode(error, 'ENOENT')) throw error;
  }
  try {
    mkdirSync(step);
    syncDirectory(`${directory}/.`);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return openSync(step, directoryFlags);
  }
  const made = openSync(step, directoryFlags);
  try {
    giveEmpty(made, above);
    return made;
  } catch (error) {
    closeSync(made);
    throw error;
  }
}

/** A descriptor of a directory by its canonical path, one component after the other: links on the way are refused. `makes`: what is missing. */
export function openWithoutLinks(path: string, operation: string, makes = false): number {
  let at = openSync('/', directoryFlags);
  for (const name of path.split('/')) {
    if (name === '') continue;
    const above = at;
    try {
      at = openStep(above, name, makes);
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
