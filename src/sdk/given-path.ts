/** A path of `--read` or `--write` for somebody who runs elsewhere. Light: the hook's start reads it. */
import { pathFrom } from '../base/path-from.js';

/** One that starts with a variable is left as it is: anyone who resolves the surface knows what it holds. */
export function givenPath(directory: string, path: string): string {
  return path.startsWith('$') ? path : pathFrom(directory, path);
}
