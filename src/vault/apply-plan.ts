/** What apply will do, decided before anything is written. Pure. */
import { clashing } from './clashing.js';
import type { Change, Problem, Step } from './tree.js';

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
  /** What is never written to a person's directory, with the reason. */
  readonly leftOut: readonly Problem[];
}

/** The walker's own temporaries, which it would overwrite. */
const temporary = /(^|\/)\.ctx-[0-9a-f]{16}\.new(\/|$)/;

/** Undefined for what may be written. */
function reasonToLeaveOut({ kind, type, path }: Change): string | undefined {
  if (path === '.ctx' || path.startsWith('.ctx/')) {
    return 'what stands in .ctx says what commands here may see: it is yours to write';
  }
  if (temporary.test(path)) return 'this is a name that apply itself uses';
  // They stand for a process or for hardware.
  if (kind !== 'deleted' && (type === 'socket' || type === 'device'))
    return `a ${type} is not written to your directory`;
  return undefined;
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
  const due = changes.filter(({ path }) => !left.has(path) && !agreed.has(path));
  const wanted = due.filter((change) => reasonToLeaveOut(change) === undefined);
  const removals = wanted
    .filter(({ kind }) => kind === 'deleted')
    .reverse()
    .map(({ path }): Step => ({ action: 'remove', path }));
  const puts = wanted.filter(({ kind }) => kind !== 'deleted').map(({ path }): Step => ({ action: 'put', path }));
  const leftOut = due.flatMap((change): Problem[] => {
    const reason = reasonToLeaveOut(change);
    return reason === undefined ? [] : [{ path: change.path, code: 'ENOTSUP', reason }];
  });
  return { steps: [...removals, ...puts], conflicts, leftOut };
}
