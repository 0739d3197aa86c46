/** Paths as somebody in a directory means them, named as a fork's changes are: relative to the workspace, or in full. */
import { basename, dirname, join, relative } from 'node:path';
import { canonicalAncestor } from '../base/canonical-path.js';
import { pathFrom } from '../base/path-from.js';
import type { Place } from '../proxy/host.js';

/** Undefined outside of the workspace. */
function within(origin: string, absolute: string): string | undefined {
  const path = relative(origin, absolute);
  if (path === '..' || path.startsWith('../')) return undefined;
  return path === '' ? '.' : path;
}

export function shownFrom(
  { origin, directory }: Pick<Place, 'origin' | 'directory'>,
  words: readonly string[],
): readonly string[] {
  return words.map((word) => {
    const absolute = pathFrom(directory, word);
    const path = within(origin, absolute);
    if (path !== undefined) return path;
    // The workspace may be known to the person by a link that leads to it; the last name may be a link of its own.
    const canonical = join(canonicalAncestor(dirname(absolute)), basename(absolute));
    return within(origin, canonical) ?? within(origin, canonicalAncestor(absolute)) ?? canonical;
  });
}
