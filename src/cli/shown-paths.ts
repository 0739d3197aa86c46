/** Paths as the person's shell means them, named as a fork's changes are. */
import { type Host, placeOf } from '../proxy/host.js';
import { shownFrom } from '../proxy/shown-from.js';
import { currentDirectory } from './current-directory.js';

export function shownPaths(host: Host, words: readonly string[]): readonly string[] {
  if (words.length === 0) return [];
  return shownFrom(placeOf(host, currentDirectory()), words);
}
