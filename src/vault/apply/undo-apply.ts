/**
 * Undoing an apply: what it replaced comes back to the person's directories, and the fork stands where it stood before. Where
 * the person has changed such a path since, nothing at all is written, unless they choose to keep it: their work is not ours to undo.
 * Once it has begun it goes on to its end: a path that the person saves meanwhile stays theirs, and is a clash of the fork.
 */
import { ErrnoError } from '../../base/errno.js';
import { findCheckpoint, saveCheckpoint } from '../forks/checkpoint.js';
import { syncLocked } from '../forks/durable.js';
import { takeWritten } from '../forks/take-written.js';
import { adoptScans, lookAtRoots, type RootPaths } from '../forks/trunk.js';
import { type AppliedSteps, readSteps, writeSteps, writtenTrees } from '../store/applied-steps.js';
import { type Checkpoint, hasSameDeltas } from '../store/fork-meta.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { shownPath } from '../store/root-paths.js';
import { throwAwayOrLeave } from '../store/trash.js';
import { readVaultMeta } from '../store/vault-meta.js';
import { endWriting, isCutOff } from '../store/writing-marks.js';
import { addParents } from '../tree/clashing.js';
import type { Problem, Step } from '../tree/tree.js';
import { type OpenFork, withMeta } from '../vault.js';
import type { ApplyRequest } from './apply.js';
import { timedPlan } from './apply-times.js';
import { sweepLast } from './sweep-origin.js';
import { type AppliedLayer, differing, type Obstructed, planUndo } from './undo-plan.js';
import { settle } from './undo-settle.js';
import { inTrees, reportedSteps, walkerPath } from './whole-trees.js';
import { writeOrigin } from './write-origin.js';

/** Told as of an apply. */
export interface UndoRequest extends Pick<ApplyRequest, 'onPlan' | 'onStep' | 'signal'> {
  /** Leave what the person has changed since, and undo the rest. */
  readonly leaves?: boolean | undefined;
}

export interface Undone {
  readonly fork: OpenFork;
  readonly steps: readonly Step[];
  /** Paths that the person changed after the apply, which stand in its way: nothing was written. */
  readonly conflicts: readonly string[];
  readonly done: boolean;
  /** Those of the steps that were done now: all but what was left, and what was back already; or none. */
  readonly written: readonly Step[];
  /** Paths that the person changed, before or meanwhile: they stay as they are, and are clashes of the fork. */
  readonly left: readonly string[];
  /** Files beside such paths that hold an earlier save of the person's. */
  readonly aside: readonly string[];
  /** Files whose list of rights could not be brought back. */
  readonly problems: readonly Problem[];
  /** The checkpoint that holds what commands changed in the fork after the apply, and that is not in it any more; null: nothing. */
  readonly later: number | null;
}

function lastApply(fork: OpenFork): readonly [layer: string, about: AppliedSteps] {
  const layer = fork.meta.applied?.at(-1);
  const about = layer === undefined ? undefined : readSteps(fork, layer);
  if (layer !== undefined && about !== undefined) return [layer, about];
  if (layer !== undefined) {
    throw new ErrnoError('EIO', {
      operation: 'undo the apply',
      path: fork.paths.layer(layer),
      reason: 'what the last apply wrote is not known any more: its list is damaged',
      remedy: 'what it replaced is in that directory, as plain files',
    });
  }
  throw new ErrnoError('ENOENT', {
    operation: 'undo the apply',
    reason: 'this fork has applied nothing that could be undone',
  });
}

/** Of what was found, what an undo that was cut off has brought back: it is the fork's doing, not the person's. */
async function backAlready(fork: OpenFork, layer: string, about: AppliedSteps, looked: RootPaths): Promise<RootPaths> {
  const back = new Map<string, readonly string[]>();
  if (about.undoing !== true) return back;
  for (const [key, paths] of looked) {
    const steps = about.roots[key] ?? [];
    const own = new Set(steps.map(({ path }) => path));
    const treeOf = inTrees(steps.filter(({ tree }) => tree !== undefined));
    const ours = paths.filter((path) => own.has(path) || treeOf(path) !== undefined);
    const others = new Set(await differing(fork, key, treesOf(fork.paths, [layer], key), ours));
    back.set(
      key,
      ours.filter((path) => !others.has(path)),
    );
  }
  return back;
}

/** What the person edited enters first, and stays theirs: it is no part of what the fork takes back. */
async function takeLatest(fork: OpenFork, layer: string, about: AppliedSteps): Promise<OpenFork> {
  const looked = await lookAtRoots(fork, Object.keys(about.roots));
  const { vault } = await takeWritten(fork, looked, await backAlready(fork, layer, about, looked));
  adoptScans(fork, looked);
  return { ...fork, vault };
}

/** What stays does not count again for the directories it is in. */
function innermost(paths: readonly string[]): readonly string[] {
  const above = new Set<string>();
  for (const path of paths) addParents(path, above);
  return [...new Set(paths)].filter((path) => !above.has(path));
}

/** The state before the undo, where it is not what the apply left: the first checkpoint after that has it. */
function laterWork({ meta }: OpenFork, about: AppliedSteps, now: Checkpoint): number | null {
  const left = meta.checkpoints.find(({ id, undone }) => id > about.checkpoint && undone !== true);
  return left === undefined || left.id === now.id || hasSameDeltas(left, now) ? null : now.id;
}

async function undoLocked(given: OpenFork, lock: number, request: UndoRequest): Promise<Undone> {
  await sweepLast(given);
  const [layer, about] = lastApply(given);
  const before = findCheckpoint(given, String(about.checkpoint));
  const saved = saveCheckpoint(given, { automatic: true, reason: 'ctx apply --undo' });
  const fork = await takeLatest(saved.fork, layer, about);
  // Nobody names it: it goes in the end.
  const standing = makeLayer(fork.paths, { fork: fork.name });
  try {
    const later = laterWork(fork, about, saved.checkpoint);
    return await undoOver({ fork, layer, about, before, standing, lock, request, later });
  } finally {
    throwAwayOrLeave(fork.store, fork.paths.layer(standing));
  }
}

interface Undoing extends AppliedLayer {
  readonly before: Checkpoint;
  readonly lock: number;
  readonly request: UndoRequest;
  readonly later: number | null;
}

async function undoOver(undoing: Undoing): Promise<Undone> {
  const { fork, layer, about, before, standing, lock, request } = undoing;
  const { roots } = fork.vault;
  const writtenIn = (key: string) => writtenTrees(fork.paths, layer, [...before.base, ...before.deltas], key);
  const plans = await planUndo(undoing, writtenIn);
  const shown = <T>(pick: (plan: Obstructed) => readonly T[], make: (key: string, each: T) => T) =>
    [...plans].flatMap(([key, plan]) => pick(plan).map((each) => make(key, each)));
  const shownStep = (key: string, step: Step) =>
    key === workspaceRoot ? step : { ...step, path: shownPath(roots, key, step.path) };
  const inTheWay = (pick: (plan: Obstructed) => readonly string[]) =>
    shown(pick, (key, path) => shownPath(roots, key, path));
  const keptIn = (key: string) => treesOf(fork.paths, [layer], key);
  // What the undo puts the apply had removed, and the other way round.
  const told = async (lists: Iterable<readonly [string, readonly Step[]]>): Promise<readonly Step[]> => {
    const found: Step[] = [];
    for (const [key, list] of lists) {
      const layers = { put: keptIn(key), remove: writtenIn(key) };
      for (const step of await reportedSteps(fork.tree, layers, list)) found.push(shownStep(key, step));
    }
    return found;
  };
  const steps = await told([...plans].map(([key, { plan }]) => [key, plan] as const));
  const conflicts = [...new Set(inTheWay(({ changed, obstacles }) => [...changed, ...obstacles]))];
  const nothing = { written: [], left: [], aside: [], problems: [], later: null };
  const goesOn = request.leaves === true || about.undoing === true;
  if (conflicts.length > 0 && !goesOn) return { fork, steps, conflicts, ...nothing, done: false };
  const wanted = [...plans].map(([key, { plan, changed }]) => {
    const leaving = new Set(changed);
    return [key, leaving.size === 0 ? plan : plan.filter(({ path }) => !leaving.has(path))] as const;
  });
  const isAll = wanted.every(([key, plan]) => plan === plans.get(key)?.plan);
  request.onPlan?.(isAll ? steps : await told(wanted));
  const synced = await syncLocked(fork);
  const begun: AppliedSteps = { ...about, undoing: true };
  writeSteps(fork.paths.layer(layer), begun, { durable: true });
  const uppers = keptIn;
  const home = await writeOrigin(fork, {
    layer,
    standing: (key) => [...treesOf(fork.paths, [standing], key), ...writtenIn(key)],
    roots: Object.fromEntries(wanted),
    uppers,
    undoes: true,
    planOf: async (key, root, list) => {
      const all = about.touched?.[key] ?? [];
      // What the person has written since has its time from them.
      const changed = new Set(await differing(fork, key, uppers(key), all));
      const touched = all.filter((path) => !changed.has(path));
      const order = { lowers: [], steps: list, touched, held: [], left: [] };
      return timedPlan(fork.tree, { root, uppers: uppers(key), ...order });
    },
    lock,
    onStep: request.onStep,
    signal: request.signal,
  });
  const isBack = (key: string, { path }: Step) => plans.get(key)?.back.has(path) === true;
  const hadNone = home.clashes.length === 0 && [...plans.values()].every(({ back }) => back.size === 0);
  const done = Object.entries(home.written).map(
    ([key, list]) => [key, list.filter((step) => !isBack(key, step))] as const,
  );
  const written = isAll && hadNone ? steps : await told(done);
  const left = innermost([...conflicts, ...home.clashes]);
  const { aside, narrowed: problems } = home;
  const undone = { fork, steps, conflicts: [], written, left, aside, problems, done: true, later: undoing.later };
  const taken = new Map([...plans].map(([key, each]) => [key, each.steps]));
  const settling = { left, steps: taken, home, writtenIn, keptIn };
  const settled = await settle(synced, layer, about, before, settling);
  endWriting(settled, layer);
  return { ...undone, fork: settled };
}

/** Of two applies of which the later went on with the earlier. What stands in the way of the earlier is left: the later is undone. */
const together = (later: Undone, earlier: Undone): Undone => ({
  ...earlier,
  steps: [...later.steps, ...earlier.steps],
  conflicts: [],
  done: true,
  later: later.later,
  written: [...later.written, ...earlier.written],
  left: [...later.left, ...earlier.left, ...earlier.conflicts],
  aside: [...later.aside, ...earlier.aside],
  problems: [...later.problems, ...earlier.problems],
});

/** Whether an apply was cut off before it had written anything: the directory is as it was kept before it. */
async function wroteNothing(fork: OpenFork, layer: string, about: AppliedSteps): Promise<boolean> {
  if (!isCutOff(fork, layer) || about.undoing === true) return false;
  for (const [key, steps] of Object.entries(about.roots)) {
    const paths = steps.map((step) => (step.action === 'put' ? step.path : walkerPath(step)));
    if ((await differing(fork, key, treesOf(fork.paths, [layer], key), paths)).length > 0) return false;
  }
  return true;
}

/** Without its last apply, which wrote nothing. */
const forgotten = (fork: OpenFork): OpenFork =>
  withMeta(fork, { ...fork.meta, applied: fork.meta.applied?.slice(0, -1) }, { durable: false });

/** The fork's lock is held. A crash in the middle: the same call goes on, since what is back already is back. */
export function undoApply(given: OpenFork, request: UndoRequest = {}): Promise<Undone> {
  const withVault = (fork: OpenFork) => ({ ...fork, vault: readVaultMeta(fork.paths.meta) ?? fork.vault });
  return withVaultLock(given.tree, given.paths.lock, 'ctx apply --undo', async (lock) => {
    let fork = withVault(given);
    await sweepLast(fork);
    while (await wroteNothing(fork, ...lastApply(fork))) fork = forgotten(fork);
    let after = lastApply(fork)[1].after;
    let undone = await undoLocked(fork, lock, request);
    while (undone.done && after !== undefined && undone.fork.meta.applied?.at(-1) === after) {
      const cutOff = withVault(undone.fork);
      const [layer, about] = lastApply(cutOff);
      after = about.after;
      if (await wroteNothing(cutOff, layer, about)) {
        undone = { ...undone, fork: forgotten(cutOff) };
        continue;
      }
      const earlier = await undoLocked(cutOff, lock, request);
      undone = together(undone, earlier);
      if (!earlier.done) break;
    }
    return undone;
  });
}
