/** Where the person stands. A directory that was deleted meanwhile is their trouble, not a defect of ours. */
import { ErrnoError, hasCode } from '../base/errno.js';

export function currentDirectory(): string {
  try {
    return process.cwd();
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
