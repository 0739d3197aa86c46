/** What apply will do, decided before anything is written. Pure. */
import { clashing } from './clashing.js';
import type { Change, Step } from './tree.js';

export type ConflictChoice =
  /** Refuse the whole apply. */
  | 'refuse'
  /** Leave the person's version of those paths alone. */
  | 'ours'
  /** Take the fork's version of those paths. */
  | 'theirs';

export interface ApplyPlan {
  /** In the order to be done: removals from the deepest up, then the rest from the top down. */
  readonly steps: readonly Step[];
  /** Paths both sides changed, in different ways. */
  readonly conflicts: readonly string[];
}

/**
 * `agreed` holds the clashing paths at which the origin already is what the fork wants: no conflict, and nothing to do.
 * A conflict at a directory holds for everything below it.
 */
export function planApply(
  changes: readonly Change[],
  clashes: readonly string[],
  agreed: ReadonlySet<string>,
  choice: ConflictChoice,
): ApplyPlan {
  const open = clashes.filter((path) => !agreed.has(path)).map((path) => ({ path }));
  const conflicts = clashing(
    changes.map(({ path }) => path),
    open,
  );
  const left = new Set(choice === 'theirs' ? [] : conflicts);
  const wanted = changes.filter(({ path }) => !left.has(path) && !agreed.has(path));
  const removals = wanted
    .filter(({ kind }) => kind === 'deleted')
    .reverse()
    .map(({ path }): Step => ({ action: 'remove', path }));
  const puts = wanted.filter(({ kind }) => kind !== 'deleted').map(({ path }): Step => ({ action: 'put', path }));
  return { steps: [...removals, ...puts], conflicts };
}
