/** What apply will do, decided before anything is written. Pure. */
import { addParents, belowAny, clashing } from './clashing.js';
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
  /** Paths both sides changed, in different ways, and that nobody chose a side for. */
  readonly conflicts: readonly string[];
  /** What is never written to a person's directory, with the reason. */
  readonly leftOut: readonly Problem[];
  /** What stays in the fork for another time: not asked for, or sensitive and not allowed. */
  readonly heldBack: readonly string[];
}

export interface ApplyChoices {
  readonly conflicts: ConflictChoice;
  /** A side for single paths, and what is below them. */
  readonly ours?: readonly string[] | undefined;
  readonly theirs?: readonly string[] | undefined;
  /** Only these, and what is below them; all where it is undefined. */
  readonly only?: readonly string[] | undefined;
  /** Paths that are sensitive and were not allowed. */
  readonly withheld?: ReadonlySet<string> | undefined;
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

function isAtOrBelow(path: string, tops: readonly string[]): boolean {
  return tops.some((top) => top === '.' || path === top || path.startsWith(`${top}/`));
}

/** Paths held back take with them what cannot be written without them: whatever is below a held back directory. */
function heldBackOf(changes: readonly Change[], { only, withheld }: ApplyChoices): ReadonlySet<string> {
  const wanted = (path: string) => only === undefined || isAtOrBelow(path, only);
  // What is asked for needs the directories above it.
  const needed = new Set<string>();
  for (const { path } of changes) {
    if (!wanted(path)) continue;
    needed.add(path);
    addParents(path, needed);
  }
  const unwanted = changes.filter(
    ({ path, kind }) => withheld?.has(path) === true || !(kind === 'deleted' ? wanted(path) : needed.has(path)),
  );
  const held = new Set(unwanted.map(({ path }) => path));
  const isBelow = belowAny(held);
  return new Set(changes.map(({ path }) => path).filter((path) => held.has(path) || isBelow(path)));
}

/**
 * `agreed` holds the clashing paths at which the origin already is what the fork wants: no conflict, and nothing to do.
 * A conflict at a directory holds for everything below it.
 */
export function planApply(
  changes: readonly Change[],
  clashes: readonly string[],
  agreed: ReadonlySet<string>,
  choices: ApplyChoices,
): ApplyPlan {
  const { conflicts: choice, ours = [], theirs = [] } = choices;
  const heldBack = heldBackOf(changes, choices);
  const open = clashes.filter((path) => !agreed.has(path)).map((path) => ({ path }));
  const met = clashing(
    changes.map(({ path }) => path).filter((path) => !heldBack.has(path)),
    open,
  );
  const kept = new Set(
    met.filter((path) => isAtOrBelow(path, ours) || (choice === 'ours' && !isAtOrBelow(path, theirs))),
  );
  const undecided = met.filter((path) => !kept.has(path) && !isAtOrBelow(path, theirs));
  const left = choice === 'theirs' ? kept : new Set([...kept, ...undecided]);
  const due = changes.filter(({ path }) => !left.has(path) && !agreed.has(path) && !heldBack.has(path));
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
  return { steps: [...removals, ...puts], conflicts: met, leftOut, heldBack: [...heldBack] };
}

/** Conflicts that stand in the way: nobody chose a side for them. */
export function undecided(
  { conflicts }: ApplyPlan,
  { conflicts: choice, ours = [], theirs = [] }: ApplyChoices,
): readonly string[] {
  return choice === 'refuse' ? conflicts.filter((path) => !isAtOrBelow(path, [...ours, ...theirs])) : [];
}
