/** A directory with those above it, for its owner alone where nothing else is asked for. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
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
