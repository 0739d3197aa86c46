/** Paths as somebody in a directory means them, named as a fork's changes are: relative to the workspace, or in full. Pure. */
import { relative, resolve } from 'node:path';
import type { Place } from './host.js';

export function shownFrom(
  { origin, directory }: Pick<Place, 'origin' | 'directory'>,
  words: readonly string[],
): readonly string[] {
  return words.map((word) => {
    const absolute = resolve(directory, word);
    const path = relative(origin, absolute);
    if (path === '..' || path.startsWith('../')) return absolute;
    return path === '' ? '.' : path;
  });
}
