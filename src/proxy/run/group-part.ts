/** What one command has to do with those that are at work on its fork. Pure. */

import { isThere } from '../../base/process-table.js';
import { isLeaving } from '../../vault/store/group.js';
import type { Worker } from '../../vault/store/worker-file.js';
import type { Change } from '../../vault/tree/tree.js';

/** More is asked of no one: each is as good as the others. */
const mostHolders = 16;

/** Owners of jails that have a root mounted; the first that still has it gives it. */
export function holdersOf(others: readonly Worker[], root: string): readonly number[] {
  return others
    .flatMap(({ jail, roots }) => (jail !== null && roots.includes(root) ? [jail] : []))
    .slice(0, mostHolders);
}

/**
 * Whether somebody is about to mount one of the roots, or has just ended: then it is neither to be cloned nor to be
 * mounted, and it takes a short time until it is one of the two.
 */
export function isUnsettled(others: readonly Worker[], roots: readonly string[], lives = isThere): boolean {
  return roots.some((root) => {
    // Of one that has left no one knows which it had.
    const having = others.filter((other) => isLeaving(other) || other.roots.includes(root));
    return having.length > 0 && !having.some(({ jail }) => jail !== null && lives(jail));
  });
}

type Stamped = Pick<Change, 'stamp' | 'mode' | 'size' | 'path'>;

const signed = ({ stamp, mode, size }: Stamped) => `${stamp} ${mode} ${size}`;

/**
 * What was changed between two looks at a layer that several write. An entry that the earlier one had and the later one has
 * not was put back as it is below, or was new and is gone.
 */
export function changesBetween<Later extends Stamped>(
  before: readonly Change[],
  after: readonly Later[],
): readonly (Later | Change)[] {
  const known = new Map(before.map((change) => [change.path, signed(change)]));
  const left = new Set(after.map(({ path }) => path));
  const gone = before
    .filter(({ path, kind }) => !left.has(path) && kind === 'added')
    .map((change): Change => ({ ...change, kind: 'deleted' }));
  return [...after.filter((change) => known.get(change.path) !== signed(change)), ...gone];
}
