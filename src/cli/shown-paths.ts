/** Paths as the person's shell means them, named as a fork's changes are: relative to the workspace, or in full. */
import { relative, resolve } from 'node:path';
import { type Host, placeOf } from '../proxy/host.js';
import { currentDirectory } from './current-directory.js';

export function shownPaths(host: Host, words: readonly string[]): readonly string[] {
  if (words.length === 0) return [];
  const { origin } = placeOf(host, currentDirectory());
  return words.map((word) => {
    const path = relative(origin, resolve(word));
    if (path === '..' || path.startsWith('../')) return resolve(word);
    return path === '' ? '.' : path;
  });
}
