/** A path as somebody in a directory means it. Pure. */
import { resolve } from 'node:path';
import { ErrnoError } from './errno.js';

/**
 * In full. EINVAL where it is empty: that is mostly a variable that is not set, and would mean the directory itself, with all that is in it.
 */
export function pathFrom(directory: string, path: string): string {
  if (path !== '') return resolve(directory, path);
  throw new ErrnoError('EINVAL', {
    operation: 'resolve the path',
    reason: 'expected a path, got an empty word',
    remedy: 'is it a variable that is not set? The directory you are in is called .',
  });
}
