/**
 * The changes of a fork's workspace, written onto another directory: another clone, a copy, a release. A path is free to be
 * written where that directory has what the trunk had there; anything else is a conflict, and with one that nobody chose a
 * side for nothing is written. What was looked at is kept until the end, so that a file that somebody saves meanwhile stays theirs.
 * The fork stays as it is, and so does its own directory. What is replaced is not kept for an undo.
 */
import { uniqueName } from '../../base/unique-name.js';
import { forkChangesByRoot, type RootChanges, shownChanges } from '../forks/changes.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { shownPath } from '../store/root-paths.js';
import { throwAwayOrLeave } from '../store/trash.js';
import { refuseUnlisted } from '../tree/too-deep.js';
import type { Change, Interference, Problem } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import type { ApplyRequest } from './apply.js';
import { type ApplyChoices, type ApplyPlan, isAtOrBelow, planApply, unmatchedOf } from './apply-plan.js';
import type { ApplyReport } from './apply-report.js';
import { timedPlan } from './apply-times.js';
import { fitSteps, type Held, obstacles } from './apply-to-plan.js';
import { appliedChangesNow } from './change-room.js';
import { holdUnits, isComplete } from './held-units.js';
import { type Judgement, judgeChanges, judgeElsewhere } from './sensitive-changes.js';
import { lostList, stepsDone } from './write-origin.js';

async function heldBy(fork: OpenFork, directory: string): Promise<Held> {
  const entries = await fork.tree.diff({ uppers: [directory], lowers: [], pastClosed: true });
  return new Map(entries.map(({ path, type }) => [path, type]));
}

/** Of these paths those at which the directory has what the layers show. */
async function agreeing(fork: OpenFork, layers: readonly string[], directory: string, paths: readonly string[]) {
  if (paths.length === 0) return new Set<string>();
  const { tree, owner, paths: places } = fork;
  const trees = treesOf(places, layers, workspaceRoot);
  const compared = await tree.compare({ layers: trees, root: directory, shift: owner.shift, paths });
  return new Set(paths.filter((path) => compared.get(path) === 'same'));
}

/** Of what was asked for. */
function inOtherRoots(fork: OpenFork, changes: RootChanges, { only }: ApplyRequest): readonly Problem[] {
  const reason = 'it belongs to another directory than the workspace';
  return [...changes]
    .flatMap(([key, list]) =>
      key === workspaceRoot ? [] : list.map(({ path }) => shownPath(fork.vault.roots, key, path)),
    )
    .filter((path) => only === undefined || isAtOrBelow(path, only))
    .map((path) => ({ path, code: 'ENOTSUP', reason }));
}

/** The fork's lock is held. `directory` is canonical, and neither the fork's own nor the store's. */
export async function applyForkTo(given: OpenFork, directory: string, request: ApplyRequest): Promise<ApplyReport> {
  const { deltas, live } = given.meta;
  // What is made ready for it lies on top of all that the fork has; a layer that nobody made is empty.
  const whole: OpenFork = { ...given, meta: { ...given.meta, deltas: [...deltas, live], live: uniqueName() } };
  const found = await forkChangesByRoot(whole, undefined, { entries: appliedChangesNow() });
  const changes = shownChanges(whole, found);
  refuseUnlisted('ctx apply', changes);
  const judged = await judgeChanges(whole, changes, request);
  try {
    const own = changes.filter(({ path }) => !path.startsWith('/'));
    const known = new Set(judged.sensitive.map(({ path }) => path));
    const there = (await judgeElsewhere(whole, directory, own)).filter(({ path }) => !known.has(path));
    const both = { ...judged, sensitive: [...judged.sensitive, ...there] };
    return await applyJudgedTo(both, found, directory, request);
  } finally {
    judged.forget();
  }
}

/** What stands at these paths, as a layer of ours that nobody names. */
async function withStanding<T>(
  fork: OpenFork,
  directory: string,
  paths: readonly string[],
  act: (expected: readonly string[]) => Promise<T>,
): Promise<T> {
  const layer = makeLayer(fork.paths, { fork: fork.name });
  const into = fork.paths.tree(layer, workspaceRoot);
  try {
    await fork.tree.mirror({ root: directory, into, layers: [], shift: fork.owner.shift, paths });
    return await act([into]);
  } finally {
    throwAwayOrLeave(fork.store, fork.paths.layer(layer));
  }
}

async function applyJudgedTo(
  judged: Judgement,
  found: RootChanges,
  directory: string,
  request: ApplyRequest,
): Promise<ApplyReport> {
  const { fork, dropped } = judged;
  const made = (await forkChangesByRoot(fork)).get(workspaceRoot) ?? [];
  const changes = made.filter(({ path }) => !dropped.has(path));
  const paths = changes.map(({ path }) => path);
  // Before it is compared: what somebody saves from here on is not what was kept, and is not replaced.
  return withStanding(fork, directory, paths, (expected) =>
    applyOver(judged, { found, changes, directory, expected }, request),
  );
}

interface Onto {
  readonly found: RootChanges;
  readonly changes: readonly Change[];
  readonly directory: string;
  readonly expected: readonly string[];
}

async function applyOver(
  { fork, sensitive: verdicts, problems }: Judgement,
  { found, changes, directory, expected }: Onto,
  request: ApplyRequest,
): Promise<ApplyReport> {
  const { base, deltas, live } = fork.meta;
  const whole = [...base, ...deltas, live];
  const paths = changes.map(({ path }) => path);
  const held = await heldBy(fork, directory);
  const untouched = await agreeing(fork, base, directory, paths);
  const differing = paths.filter((path) => !untouched.has(path));
  const agreed = await agreeing(fork, whole, directory, differing);
  const ofWorkspace = verdicts.filter(({ path }) => !path.startsWith('/'));
  const { sensitive, withheld, units } = holdUnits(changes, ofWorkspace, request);
  // A directory that holds files of ctx itself is none to be written.
  const choices: ApplyChoices = { ...request, withheld, own: [] };
  const plan: ApplyPlan = planApply(changes, [...differing, ...obstacles(changes, held)], agreed, choices);
  const open = plan.undecided;
  const { steps, leftOut } = fitSteps(plan.steps, changes, held);
  const writes = open.length === 0 && request.dryRun !== true;
  let met: Interference = { clashes: [], aside: [], narrowed: [] };
  if (writes && steps.length > 0) {
    // Directories above a change may be the trunk's: the whole stack can be put.
    const uppers = treesOf(fork.paths, whole, workspaceRoot);
    const lock = { descriptor: fork.lockDescriptor, wait: false };
    const forward = 'now';
    const written = new Set(steps.map(({ path }) => path));
    const left = paths.filter((path) => !written.has(path) && !agreed.has(path));
    const writing = { root: directory, uppers, lowers: [], steps, touched: [], held: [], left };
    const timed = await timedPlan(fork.tree, writing);
    const onDone = stepsDone(fork.vault.roots, workspaceRoot, steps, request.onStep);
    request.onPlan?.(steps);
    const onto = { uppers, root: directory, shift: fork.owner.shift, expected, durable: true };
    met = await fork.tree.apply({ ...onto, ...timed, lock, forward, onDone, signal: request.signal });
  }
  const isClash = new Set(met.clashes);
  const notWritten = [...problems, ...plan.leftOut, ...leftOut, ...inOtherRoots(fork, found, request)];
  const own = found.get(workspaceRoot) ?? [];
  return {
    changes: own,
    steps,
    conflicts: plan.conflicts,
    undecided: [...open, ...met.clashes],
    sensitive,
    heldBack: plan.heldBack,
    withheld: [...withheld],
    heldUnits: units,
    complete: isComplete(changes, { withheld }, notWritten),
    unmatched: unmatchedOf(request.only, own),
    done: writes && isClash.size === 0,
    written: isClash.size === 0 ? [] : steps.filter(({ path }) => !isClash.has(path)),
    aside: met.aside,
    problems: [...notWritten, ...met.narrowed.map(lostList)],
  };
}
