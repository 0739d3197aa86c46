/** Where the person is. A directory that was deleted meanwhile is their trouble, not a defect of ours. */
import { lstatSync, statSync } from 'node:fs';
import { ErrnoError, hasCode } from '../base/errno.js';

/** What Node cannot say as text comes out as the name of another directory, or of none. */
function isHere(path: string): boolean {
  const named = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  const here = statSync('.', { bigint: true });
  return named !== undefined && named.dev === here.dev && named.ino === here.ino;
}

export function currentDirectory(): string {
  try {
    const path = process.cwd();
    if (isHere(path)) return path;
    throw new ErrnoError('ESTALE', {
      operation: 'open the directory',
      path,
      reason: 'the directory you are in was moved or replaced, or its path is not UTF-8',
      remedy: 'cd to the project again; if a directory on its path has a name that is not UTF-8, rename it first',
    });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new ErrnoError('ENOENT', {
      operation: 'open the directory',
      reason: 'expected to be in a directory, but the one you are in has been deleted',
      remedy: 'go to the project you want to work on and run the command there',
      cause: error,
    });
  }
}
