/** A directory with those above it, for its owner alone where nothing else is asked for. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from './errno.js';

/**
 * Not mkdir's `recursive`: it says ENOENT where the disk says EROFS, EDQUOT or EIO, and never ends in a filesystem that
 * answers ENOENT to every mkdir, such as /proc.
 */
export function makeDirectory(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (hasCode(error, 'EEXIST') && statSync(path).isDirectory()) return;
    if (!hasCode(error, 'ENOENT') || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path), mode);
    makeDirectory(path, mode);
  }
}

/** As readable as the directory that it is in, whatever the umask is. One that is there stays as it is. */
export function makeDirectoryLike(parent: string, path: string): void {
  if (existsSync(path)) return;
  makeDirectory(path);
  chmodSync(path, 0o700 | (statSync(parent).mode & 0o055));
}
