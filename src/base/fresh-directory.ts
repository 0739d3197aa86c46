/** A directory for what is written out: made for it, or there and empty. */
import { mkdirSync, readdirSync } from 'node:fs';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';

function isEmptyDirectory(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false; // no directory, or none that we may look into
  }
}

export function freshDirectory(path: string, operation: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw fromSystemError(error, operation, path);
    if (isEmptyDirectory(path)) return;
    throw new ErrnoError('EEXIST', {
      operation,
      path,
      reason: 'expected a path where nothing stands yet, or an empty directory',
      remedy: 'name another one',
    });
  }
}
