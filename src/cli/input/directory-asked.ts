/** The directory that a call works in: `--cwd`, else where the person is. That one may have been deleted where the other is named in full. */
import { isAbsolute } from 'node:path';
import { pathFrom } from '../../base/path-from.js';
import { currentDirectory } from '../../sdk/current-directory.js';

export function directoryAsked(given = '.'): string {
  return isAbsolute(given) ? pathFrom('/', given) : pathFrom(currentDirectory(), given);
}
