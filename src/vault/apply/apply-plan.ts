/** What apply will do, decided before anything is written. Pure. */
import { ErrnoError } from '../../base/errno.js';
import { topPath } from '../store/root-paths.js';
import { isTemporaryName } from '../tree/beside-names.js';
import { addParents, inConflict } from '../tree/clashing.js';
import { makesDirectory, stayingWith } from '../tree/staying.js';
import type { Change, FoldedChange, Problem, Step } from '../tree/tree.js';

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
  /** Those of them that stand in the way: nobody chose a side for them. */
  readonly undecided: readonly string[];
  /** What is never written to a person's directory, with the reason. */
  readonly leftOut: readonly Problem[];
  /** What stays in the fork for another time: not asked for, or sensitive and not allowed. */
  readonly heldBack: readonly string[];
}

export interface ApplyChoices {
  readonly conflicts: ConflictChoice;
  /** A side for single paths, and what is below them; the longest that holds a path decides, and no path is in both. */
  readonly ours?: readonly string[] | undefined;
  readonly theirs?: readonly string[] | undefined;
  /** Only these, and what is below them; all where it is undefined. */
  readonly only?: readonly string[] | undefined;
  /** Paths that are sensitive and were not allowed. */
  readonly withheld?: ReadonlySet<string> | undefined;
  /** Where ctx keeps its own files, among those of the person: never written. */
  readonly own?: readonly string[] | undefined;
}

/** Files of ctx in the project: no apply writes them, also not with `--allow-sensitive`. */
export const isControl = (path: string): boolean => path === '.ctx' || path.startsWith('.ctx/');

/** Undefined for what may be written. */
export function reasonToLeaveOut({ kind, type, path }: Change, own: readonly string[]): string | undefined {
  if (isControl(path)) {
    return '.ctx controls what commands here may see: only you may change it';
  }
  // What would end or replace a directory above them, too.
  const ends = kind === 'deleted' || type !== 'directory';
  if (own.length > 0 && ((ends && own.some((each) => isAtOrBelow(each, [path]))) || isAtOrBelow(path, own)))
    return 'ctx keeps its own files there, which say what commands may do';
  if (isTemporaryName(path)) return 'this is a name that apply itself uses';
  // They stand for a process or for hardware.
  if (kind !== 'deleted' && (type === 'socket' || type === 'device'))
    return `a ${type} is not written to your directory`;
  return undefined;
}

/** `.` holds all of them. */
export function isAtOrBelow(path: string, tops: readonly string[]): boolean {
  return tops.some((top) => top === '.' || path === top || path.startsWith(`${top}/`));
}

/** Whether a file that is the person's but for its time may be given another. */
export function mayTouch(path: string, { only, own = [] }: ApplyChoices): boolean {
  return (only === undefined || isAtOrBelow(path, only)) && !isAtOrBelow(path, own) && !isControl(path);
}

/** What was asked for, and nothing is pending at. */
export function unmatchedOf(only: readonly string[] = [], changes: readonly Change[]): readonly string[] {
  return only.filter(
    (top) => top !== topPath && !changes.some(({ path }) => path === top || path.startsWith(`${top}/`)),
  );
}

/** How much of a path the longest of these holds; -1 where none does. */
function reach(path: string, tops: readonly string[]): number {
  const holding = tops.filter((top) => isAtOrBelow(path, [top]));
  return holding.reduce((most, top) => Math.max(most, top === '.' ? 0 : top.length), -1);
}

/** The side that was chosen for a path; undefined where none was. */
function sideOf(path: string, { ours = [], theirs = [] }: ApplyChoices): 'ours' | 'theirs' | undefined {
  const [mine, other] = [reach(path, ours), reach(path, theirs)];
  if (mine > other) return 'ours';
  return other > mine ? 'theirs' : undefined;
}

/** A path that was named for both sides was named by mistake. */
export function refuseBothSides({ ours = [], theirs = [] }: Pick<ApplyChoices, 'ours' | 'theirs'>): void {
  const path = ours.find((each) => theirs.includes(each));
  if (path === undefined) return;
  const reason = 'this path was given with both --ours and --theirs';
  throw new ErrnoError('EINVAL', { operation: 'ctx apply', path, reason, remedy: 'give it with one of the two' });
}

/** What is not asked for, or may not be written, and what cannot be written without it. */
function heldBackOf(changes: readonly Change[], { only, withheld }: ApplyChoices): ReadonlySet<string> {
  if (only === undefined && (withheld?.size ?? 0) === 0) return new Set();
  const isWanted = ({ path }: Change) =>
    withheld?.has(path) !== true && (only === undefined || isAtOrBelow(path, only));
  // What is asked for needs the directories above it that are not there yet.
  const holding = new Set<string>();
  for (const change of changes) if (change.kind !== 'deleted' && isWanted(change)) addParents(change.path, holding);
  const isNeeded = (change: Change) => makesDirectory(change) && holding.has(change.path);
  const unwanted = changes.filter((change) => !isWanted(change) && !isNeeded(change));
  return stayingWith(new Set(unwanted.map(({ path }) => path)), changes);
}

/** Changes that are never written, and the directories that cannot go because of them. */
function leftOutOf(due: readonly Change[], own: readonly string[]): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const change of due) {
    const reason = reasonToLeaveOut(change, own);
    if (reason !== undefined) reasons.set(change.path, reason);
  }
  const belongs = 'it depends on a path that is not written to your directory';
  const staying = [...stayingWith(new Set(reasons.keys()), due)];
  return new Map(staying.map((path) => [path, reasons.get(path) ?? belongs]));
}

/**
 * `agreed` holds the clashing paths at which the origin already is what the fork wants: no conflict, and nothing to do.
 * A conflict about whether a directory is there holds for everything below it; one below a directory, for what would end it.
 * One about a directory's mode is its own.
 */
export function planApply(
  changes: readonly FoldedChange[],
  clashes: readonly string[],
  agreed: ReadonlySet<string>,
  choices: ApplyChoices,
): ApplyPlan {
  const { conflicts: choice } = choices;
  const heldBack = heldBackOf(changes, choices);
  const open = clashes.filter((path) => !agreed.has(path));
  const met = inConflict(changes, open)
    .map(({ path }) => path)
    .filter((path) => !heldBack.has(path));
  const isKept = (path: string) => (sideOf(path, choices) ?? choice) === 'ours';
  const kept = stayingWith(new Set(met.filter(isKept)), changes);
  const isOpen = (path: string) => !kept.has(path) && sideOf(path, choices) === undefined;
  const undecided = choice === 'refuse' ? met.filter(isOpen) : [];
  const left = stayingWith(new Set([...kept, ...undecided]), changes);
  const isDue = ({ path }: Change) => !left.has(path) && !agreed.has(path) && !heldBack.has(path);
  const due = left.size + agreed.size + heldBack.size === 0 ? changes : changes.filter(isDue);
  const leftOut = leftOutOf(due, choices.own ?? []);
  const removals: Step[] = [];
  const puts: Step[] = [];
  for (const { kind, path, tree } of due) {
    if (leftOut.has(path)) continue;
    const whole = tree === undefined ? {} : { tree };
    if (kind === 'deleted') removals.push({ action: 'remove', path, ...whole });
    else puts.push({ action: 'put', path, ...whole });
  }
  return {
    steps: removals.length === 0 ? puts : [...removals.reverse(), ...puts],
    conflicts: met,
    undecided,
    leftOut: [...leftOut].map(([path, reason]) => ({ path, code: 'ENOTSUP', reason })),
    heldBack: [...heldBack],
  };
}
