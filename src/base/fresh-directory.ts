/** A place for what is written out: made for it, or a directory that is there and empty. */
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { realPath } from './canonical-path.js';
import { directoryFlags, type InodeIdentity, openWithoutLinks } from './directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';

export interface FreshDirectory {
  /** Canonical. */
  readonly path: string;
  readonly identity: InodeIdentity;
}

/**
 * Acts in the directory that holds `path`, by descriptor: anyone who may write further up can put a link in the place
 * of any directory on the way, between one call and the next.
 */
export function inParent<T>(path: string, operation: string, act: (at: string, canonical: string) => T): T {
  let parent: string;
  try {
    parent = realPath(dirname(path));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      const reason = `there is no directory ${dirname(path)}`;
      throw new ErrnoError('ENOENT', { operation, path, reason, remedy: 'make it first, or name another place' });
    }
    throw fromSystemError(error, operation, path);
  }
  const descriptor = openWithoutLinks(parent, operation);
  try {
    return act(`/proc/self/fd/${descriptor}/${basename(path)}`, join(parent, basename(path)));
  } finally {
    closeSync(descriptor);
  }
}

function isMade(at: string, path: string, operation: string, mode: number): boolean {
  try {
    mkdirSync(at, { mode });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw fromSystemError(error, operation, path);
  }
}

function openFresh(at: string, path: string, operation: string): number {
  try {
    return openSync(at, directoryFlags);
  } catch (error) {
    if (hasCode(error, 'ENOTDIR') || hasCode(error, 'ELOOP')) throw taken(path, operation);
    throw fromSystemError(error, operation, path);
  }
}

function taken(path: string, operation: string): ErrnoError {
  const reason = 'expected a path that does not exist yet, or an empty directory';
  return new ErrnoError('EEXIST', { operation, path, reason, remedy: 'name another one' });
}

function isEmpty(descriptor: number): boolean {
  try {
    return readdirSync(`/proc/self/fd/${descriptor}`).length === 0;
  } catch {
    return false; // none that we may look into
  }
}

export function freshDirectory(path: string, operation: string, mode: number): FreshDirectory {
  return inParent(path, operation, (at, canonical) => {
    const made = isMade(at, path, operation, mode);
    const descriptor = openFresh(at, path, operation);
    try {
      const { dev, ino, uid } = fstatSync(descriptor, { bigint: true });
      const isOurs = !made || uid === BigInt(process.geteuid?.() ?? -1);
      if (!isOurs || !isEmpty(descriptor)) throw taken(path, operation);
      return { path: canonical, identity: `${dev}:${ino}` };
    } finally {
      closeSync(descriptor);
    }
  });
}
