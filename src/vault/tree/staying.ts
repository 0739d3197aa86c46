/** What cannot be written because of what stays as it is. Pure. */
import { addParents, belowAny } from './clashing.js';
import type { Change } from './tree.js';

/** Changes that leave no directory at their path. */
export const endsDirectory = ({ kind, type }: Change): boolean => kind === 'deleted' || type !== 'directory';

/** Changes that make a directory where there was none; one that only gets another mode was there before. */
export const makesDirectory = ({ kind, type, content }: Change): boolean =>
  type === 'directory' && (kind === 'added' || (kind === 'modified' && content));

/** A directory cannot go while something in it stays, and nothing can be put into one that is not made. */
export function stayingWith(stays: ReadonlySet<string>, changes: readonly Change[]): ReadonlySet<string> {
  if (stays.size === 0) return stays;
  const holding = new Set<string>();
  for (const path of stays) addParents(path, holding);
  const kept = changes.filter((change) => endsDirectory(change) && holding.has(change.path));
  const unmade = changes.filter((change) => makesDirectory(change) && stays.has(change.path));
  const isCutOff = belowAny(new Set(unmade.map(({ path }) => path)));
  const lost = changes.filter(({ kind, path }) => kind !== 'deleted' && isCutOff(path));
  return new Set([...stays, ...kept.map(({ path }) => path), ...lost.map(({ path }) => path)]);
}
