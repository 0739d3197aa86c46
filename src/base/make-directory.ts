/** A directory with those above it, for its owner alone where nothing else is asked for. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './atomic-file.js';
import { hasCode } from './errno.js';

/**
 * Not mkdir's `recursive`: it says ENOENT where the disk says EROFS, EDQUOT or EIO, and never ends in a filesystem that
 * answers ENOENT to every mkdir, such as /proc.
 */
export function makeDirectory(path: string, mode = 0o700, onMade: (parent: string) => void = () => undefined): void {
  try {
    mkdirSync(path, { mode });
    onMade(dirname(path));
  } catch (error) {
    if (hasCode(error, 'EEXIST') && statSync(path).isDirectory()) return;
    if (!hasCode(error, 'ENOENT') || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path), mode, onMade);
    makeDirectory(path, mode, onMade);
  }
}

/** For what has to outlast a power cut: a file is gone with the name of a directory above it. */
export function makeDurableDirectory(path: string, mode?: number): void {
  makeDirectory(path, mode, syncDirectory);
}

/** The last directory of the path alone: where what it is in is gone that is ENOENT, and nothing is made. */
export function makeLastDirectory(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

/** As readable as the directory that it is in, whatever the umask is; on the disk, too. One that is there stays as it is. */
export function makeDirectoryLike(parent: string, path: string): void {
  if (existsSync(path)) return;
  makeDurableDirectory(path);
  chmodSync(path, 0o700 | (statSync(parent).mode & 0o055));
  syncDirectory(path);
}
