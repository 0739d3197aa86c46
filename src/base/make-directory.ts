/** A directory with those above it, for its owner alone. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from './errno.js';

/** Not mkdir's `recursive`: it never ends in a filesystem that answers ENOENT to every mkdir, such as /proc. */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    if (!hasCode(error, 'ENOENT') || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path));
    makeDirectory(path);
  }
}
