/**
 * Apply: the fork's changes are written back to the person's directories. The person's latest edits enter first, so that a
 * clash is seen before the first write; with one that nobody chose a side for nothing at all is written. What is about to be
 * replaced is kept (`undo`), and on the disk before the first file is touched. Each file is replaced whole, and only where it
 * still is what was kept: a file that the person saves meanwhile stays theirs. A crash in the middle loses nothing: what was
 * written agrees with the fork, and the next apply goes on.
 */
import { ErrnoError } from '../../base/errno.js';
import { appliesKept } from '../../base/limits/store.js';
import { type FoldedChanges, shownChanges, type TimedChanges, timedForkChanges } from '../forks/changes.js';
import { saveCheckpoint } from '../forks/checkpoint.js';
import { syncLocked } from '../forks/durable.js';
import { makePathLayer } from '../forks/path-layer.js';
import { moveOnto, type Synced } from '../forks/sync.js';
import { takeWritten } from '../forks/take-written.js';
import { adoptScans, lookAtRoots, takeEdits } from '../forks/trunk.js';
import { refreshedIndexes } from '../git/refreshed-indexes.js';
import { type AppliedSteps, originTree, readSteps, writeSteps } from '../store/applied-steps.js';
import type { ForkMeta } from '../store/fork-meta.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { shownPath, topPath } from '../store/root-paths.js';
import { discard } from '../store/trash.js';
import { endWriting, isCutOff } from '../store/writing-marks.js';
import { refuseUnlisted } from '../tree/too-deep.js';
import type { Change, FoldedChange, Problem, Step } from '../tree/tree.js';
import { type OpenFork, withMeta } from '../vault.js';
import { type FoldingRequest, foldingOf } from './apply-folding.js';
import { type ApplyChoices, type ApplyPlan, unmatchedOf } from './apply-plan.js';
import type { ApplyReport } from './apply-report.js';
import { timedPlan } from './apply-times.js';
import { holdUnits, isComplete } from './held-units.js';
import { forkTrees, type Plans, planRoots } from './plan-roots.js';
import { type Bench, benchOf, type Judgement, judgeChanges } from './sensitive-changes.js';
import { sweepLast } from './sweep-origin.js';
import { inTrees, reportedSteps, treesOfSteps, walkerPath } from './whole-trees.js';
import { writeOrigin } from './write-origin.js';

export interface ApplyRequest extends Omit<ApplyChoices, 'withheld' | 'own'>, Pick<FoldingRequest, 'treesFrom'> {
  /** Absolute paths of what ctx keeps for itself. */
  readonly own?: readonly string[] | undefined;
  /** Write sensitive changes too. */
  readonly allowSensitive: boolean;
  /** Decide and say, but write nothing. */
  readonly dryRun?: boolean | undefined;
  /** Stops it, also between two files: ECANCELED. What is written stays; the next apply goes on, an undo takes it back. */
  readonly signal?: AbortSignal | undefined;
  /** Told what will be written, before anything is; and of each step when it is done, in whatever way the whole ends. */
  readonly onPlan?: ((steps: readonly Step[]) => void) | undefined;
  readonly onStep?: ((step: Step) => void) | undefined;
}

export interface Applied extends ApplyReport {
  /** As it is afterwards. */
  readonly fork: OpenFork;
}

function refuseCancelled({ signal }: Pick<ApplyRequest, 'signal'>): void {
  if (signal?.aborted === true) {
    throw new ErrnoError('ECANCELED', { operation: 'apply', reason: 'it was cancelled', cause: signal.reason });
  }
}

/** Moments before commands that an apply writes out. */
const hiddenBy = ({ checkpoints }: ForkMeta, checkpoint: number) =>
  checkpoints.filter(({ automatic, id, undone }) => automatic && id <= checkpoint && undone !== true);

interface Kept {
  readonly fork: OpenFork;
  readonly layer: string;
  readonly about: AppliedSteps;
}

/** Paths that the person has changed since their directory was looked at: what is kept of them is not what the trunk has. */
async function savedSince(fork: OpenFork, key: string, kept: string, steps: readonly Step[]): Promise<string[]> {
  // A directory that is not copied is its own trunk.
  if (fork.vault.uncopied === true && key === workspaceRoot) return [];
  const lowers = treesOf(fork.paths, fork.vault.trunk, key);
  const changes = await fork.tree.diff({ uppers: [kept], lowers });
  if (changes.length === 0) return [];
  const paths = new Set(steps.map(({ path }) => path));
  // Where a whole tree was to come there is something by now: what is in it is for the next look.
  const treeOf = inTrees(steps);
  const isSaved = ({ path, type }: Change) => treeOf(path) !== undefined || (type !== 'directory' && paths.has(path));
  const found = changes.filter(isSaved).map(({ path }) => path);
  // The trunk has git's index as it was refreshed for forks.
  const refreshed = await refreshedIndexes(fork, lowers, [kept], found);
  return found.filter((path) => !refreshed.has(path));
}

/** The last apply, where it was cut off and nothing has taken it back. */
function cutOff(fork: OpenFork): string | undefined {
  const layer = fork.meta.applied?.at(-1);
  const isCut = layer !== undefined && isCutOff(fork, layer) && readSteps(fork, layer)?.undoing !== true;
  return isCut ? layer : undefined;
}

/** What is about to be replaced, as a layer of the fork's: on the disk and named before the first write. */
async function keepReplaced(
  fork: OpenFork,
  plans: Plans,
  checkpoint: number,
  ofRepositories: string | undefined,
): Promise<Kept | { readonly saved: readonly string[] }> {
  const { paths, tree, owner, vault, meta } = fork;
  const layer = makeLayer(paths, { fork: fork.name });
  const roots: Record<string, readonly Step[]> = {};
  const touched: Record<string, readonly string[]> = {};
  const sameContent: Record<string, readonly string[]> = {};
  const saved: string[] = [];
  for (const [key, plan] of plans.byRoot) {
    const root = vault.roots[key];
    if (root === undefined || (plan.steps.length === 0 && plan.touched.length === 0)) continue;
    roots[key] = plan.steps;
    touched[key] = plan.touched;
    const isSame = ({ path }: Step) => plan.sameContent.has(path);
    sameContent[key] = plan.sameContent.size === 0 ? [] : plan.steps.filter(isSame).map(({ path }) => path);
    const into = paths.tree(layer, key);
    const home = ofRepositories === undefined ? [] : treesOf(paths, [ofRepositories], key);
    if (home.length > 0) await tree.merge({ layers: home, into: originTree(paths.layer(layer), key) });
    // What the fork added is not missing from what is kept: nothing is to be hidden there.
    const layers = treesOf(paths, meta.base, key);
    // Of a tree that comes nothing is there; of one that goes, all that the trunk has.
    const standing = plan.steps.map((step) => (step.action === 'put' ? step.path : walkerPath(step)));
    const replaced = [...standing, ...plan.touched];
    // The trunk has most of it already. A directory that is not copied is its own trunk: a link would be to the person's file.
    const links = !(vault.uncopied === true && key === workspaceRoot);
    await tree.mirror({ root, into, layers, shift: owner.shift, paths: replaced, shown: layers, links });
    for (const path of await savedSince(fork, key, into, plan.steps)) saved.push(shownPath(vault.roots, key, path));
  }
  if (saved.length > 0) {
    await discard(fork.store, tree, [paths.layer(layer)]);
    return { saved };
  }
  const hidden = hiddenBy(meta, checkpoint).map(({ id }) => id);
  const after = cutOff(fork);
  const made = new Date().toISOString();
  const about: AppliedSteps = { made, checkpoint, hidden, roots, touched, sameContent, after, clashes: meta.clashes };
  writeSteps(paths.layer(layer), about, { durable: false });
  const applied = [...(meta.applied ?? []), layer].slice(-appliesKept);
  return { fork: await syncLocked(withMeta(fork, { ...meta, applied }, { durable: false })), layer, about };
}

/** By root, what the later times of its entries came after. */
type Times = ReadonlyMap<string, bigint>;

interface Settling {
  readonly checkpoint: number;
  readonly times: Times;
  /** The layer of what was replaced, where anything was. */
  readonly kept?: string | undefined;
  /** The fork whose entries were put. */
  readonly put: OpenFork;
}

/** What stays in the fork, as its one delta on the trunk that has the rest by now. */
async function remainder(fork: OpenFork, before: ForkMeta, plans: Plans, given: Times): Promise<readonly string[]> {
  const { paths, meta } = fork;
  let layer: string | undefined;
  for (const [key, plan] of plans.byRoot) {
    const held = new Set(plan.heldBack);
    held.delete(topPath);
    if (held.size === 0) continue;
    layer ??= makeLayer(paths, { fork: fork.name });
    const after = given.get(key);
    const among = [...plan.steps.map(walkerPath), ...plan.touched];
    await makePathLayer(fork, {
      from: treesOf(paths, [...before.base, ...before.deltas], key),
      over: treesOf(paths, meta.base, key),
      into: paths.tree(layer, key),
      isWanted: (path) => held.has(path),
      forward: after === undefined ? undefined : { after, among },
    });
  }
  return layer === undefined ? [] : [layer];
}

/** The trunk takes over what was written, and the fork stands on it with what was held back. */
async function settle(
  fork: OpenFork,
  plans: Plans,
  { checkpoint, times, kept, put }: Settling,
): Promise<[OpenFork, readonly Problem[]]> {
  const written: ReadonlyMap<string, readonly string[]> = new Map(
    [...plans.byRoot].map(([key, { steps }]) => [key, steps.map(walkerPath)]),
  );
  const keptIn = (key: string) => (kept === undefined ? [] : treesOf(fork.paths, [kept], key));
  const shown = (key: string) => forkTrees(put, key);
  const looked = await lookAtRoots(fork, [...plans.byRoot.keys()], undefined, (key) => {
    const trees = treesOfSteps(plans.byRoot.get(key)?.steps ?? []);
    return trees.length === 0 ? undefined : { trees, written: shown(key), kept: keptIn(key) };
  });
  // What was put differs in content from the trunk: that is why it was. Another mode may be one that is never written.
  const isKnown = (key: string, path: string) => plans.byRoot.get(key)?.sameContent.has(path) === false;
  const advance = await takeWritten(fork, looked, written, { isKnown, shown });
  adoptScans(fork, looked);
  const { position, trunk } = advance.vault;
  const onTrunk: OpenFork = { ...fork, vault: advance.vault, meta: { ...fork.meta, position, base: trunk } };
  const held = new Set(
    [...plans.byRoot].flatMap(([key, plan]) => plan.heldBack.map((path) => shownPath(fork.vault.roots, key, path))),
  );
  const hidden = new Set(hiddenBy(fork.meta, checkpoint));
  const after: ForkMeta = {
    ...onTrunk.meta,
    deltas: await remainder(onTrunk, fork.meta, plans, times),
    live: makeLayer(fork.paths, { fork: fork.name }),
    clashes: fork.meta.clashes.filter((path) => held.has(path)),
    checkpoints: fork.meta.checkpoints.map((each) => (hidden.has(each) ? { ...each, undone: true } : each)),
  };
  return [withMeta(onTrunk, after, { durable: false }), advance.problems];
}

async function applyLocked(given: OpenFork, request: ApplyRequest, lock: number, attempt = 1): Promise<Applied> {
  await sweepLast(given);
  const saved = saveCheckpoint(given, { automatic: true, reason: 'ctx apply' });
  const keys = Object.keys(given.vault.roots);
  const looked = await lookAtRoots(saved.fork, keys);
  const advance = await takeEdits(saved.fork, looked);
  adoptScans(saved.fork, looked);
  const synced = await moveOnto(saved.fork, advance);
  const bench = synced.fork.meta.deltas.length === 0 ? undefined : await benchOf(synced.fork);
  const { changes: byRoot, times } = await timedForkChanges(synced.fork, foldingOf(synced.fork, bench, request));
  const changes = shownChanges(synced.fork, byRoot);
  refuseUnlisted('ctx apply', changes);
  const judged = await judgeChanges(synced.fork, changes, request, bench);
  const checkpoint = saved.checkpoint.id;
  const found = { changes, byRoot, times, bench };
  const applied = await applyJudged({ ...synced, ...found, request, judged, checkpoint, lock, attempt });
  // What was made ready was not needed. After a failure it may be named already: what is not is for gc.
  if (applied.fork === synced.fork) judged.forget();
  return applied;
}

interface JudgedApply extends Synced {
  readonly request: ApplyRequest;
  readonly judged: Judgement;
  readonly changes: readonly FoldedChange[];
  /** The same, of the fork before anything was made of its repositories. */
  readonly byRoot: FoldedChanges;
  readonly times: TimedChanges['times'];
  readonly bench: Bench | undefined;
  readonly checkpoint: number;
  readonly lock: number;
  readonly attempt: number;
}

async function applyJudged(apply: JudgedApply): Promise<Applied> {
  const { request, judged, changes, checkpoint, lock } = apply;
  const { fork, dropped } = judged;
  const { roots } = fork.vault;
  const again = () => timedForkChanges(fork, foldingOf(fork, apply.bench, request));
  const { changes: found, times } =
    judged.layer === undefined ? { changes: apply.byRoot, times: apply.times } : await again();
  const isDropped = (key: string, path: string) => dropped.has(shownPath(roots, key, path));
  const byRoot =
    dropped.size === 0
      ? found
      : new Map([...found].map(([key, list]) => [key, list.filter(({ path }) => !isDropped(key, path))]));
  // What was made of a repository is held back with it.
  const listed = shownChanges(fork, byRoot);
  const { sensitive, withheld, units } = holdUnits(listed, judged.sensitive, request);
  if (listed.some(({ path, tree }) => tree !== undefined && withheld.has(path))) {
    // A unit stays behind as a whole, path by path.
    judged.forget();
    return applyLocked(apply.fork, { ...request, treesFrom: Number.POSITIVE_INFINITY }, lock, apply.attempt);
  }
  const plans = await planRoots(fork, byRoot, { ...request, withheld }, times);
  // Those of the workspace are shown as they are: most lists are of that alone, and long.
  const shown = <T extends { readonly path: string }>(pick: (plan: ApplyPlan) => readonly T[]) =>
    [...plans.byRoot].flatMap(([key, plan]) =>
      key === workspaceRoot
        ? pick(plan)
        : pick(plan).map((each) => ({ ...each, path: shownPath(roots, key, each.path) })),
    );
  const paths = (pick: (plan: ApplyPlan) => readonly string[]) =>
    [...plans.byRoot].flatMap(([key, plan]) => pick(plan).map((path) => shownPath(roots, key, path)));
  const steps = shown(({ steps }) => steps);
  const answer = {
    changes: changes.map(({ tree, ...change }) =>
      tree === undefined ? change : { ...change, unlisted: tree.entries },
    ),
    steps: await toldSteps(fork, plans),
    conflicts: paths(({ conflicts }) => conflicts),
    undecided: plans.undecided,
    sensitive,
    heldBack: paths(({ heldBack }) => heldBack),
    withheld: [...withheld],
    heldUnits: units,
    complete: isComplete(changes, { withheld }, [...judged.problems, ...shown(({ leftOut }) => leftOut)]),
    unmatched: unmatchedOf(request.only, changes),
    written: [],
    aside: [],
  };
  const leftOut = [...apply.problems, ...judged.problems, ...shown((plan) => plan.leftOut)];
  if (plans.undecided.length > 0 || request.dryRun === true) {
    return { fork: apply.fork, ...answer, done: false, problems: leftOut };
  }
  const touches = [...plans.byRoot.values()].some(({ touched }) => touched.length > 0);
  // Nothing was asked for of what there is: the fork stays, with its checkpoints.
  const isAllHeld = [...found].every(([key, list]) => list.length === (plans.byRoot.get(key)?.heldBack.length ?? 0));
  if (isAllHeld && (answer.heldBack.length > 0 || !touches)) {
    return { fork: apply.fork, ...answer, done: true, problems: apply.problems };
  }
  if (steps.length === 0 && !touches) {
    return settled(fork, plans, { checkpoint, times: new Map(), put: fork }, answer, leftOut);
  }
  const kept = await keepReplaced(fork, plans, checkpoint, judged.layer);
  if ('saved' in kept) {
    if (apply.attempt < attempts) return applyLocked(apply.fork, request, lock, apply.attempt + 1);
    return { fork: apply.fork, ...answer, undecided: kept.saved, done: false, problems: apply.problems };
  }
  // Nothing was written: it is none for an undo to take back.
  if (request.signal?.aborted === true)
    withMeta(kept.fork, { ...kept.fork.meta, applied: fork.meta.applied }, { durable: false });
  refuseCancelled(request);
  request.onPlan?.(answer.steps);
  const home = await writeOrigin(kept.fork, {
    layer: kept.layer,
    standing: (key) => treesOf(fork.paths, [kept.layer], key),
    roots: kept.about.roots,
    uppers: (key) => forkTrees(fork, key),
    planOf: (key, root, steps) => {
      const { touched = [], heldBack: held = [], listed, sameContent } = plans.byRoot.get(key) ?? {};
      const [uppers, lowers] = [forkTrees(fork, key), treesOf(fork.paths, fork.meta.base, key)];
      const ofRoot = byRoot.get(key) ?? [];
      const left = leftOf(ofRoot, steps);
      return timedPlan(fork.tree, { root, uppers, lowers, steps, touched, sameContent, listed, held, left });
    },
    lock,
    onStep: request.onStep,
    signal: request.signal,
  });
  if (home.clashes.length > 0) {
    // The rest can be undone on its own, and what the person saved is a clash that the next apply asks about.
    const about: AppliedSteps = { ...kept.about, roots: home.written };
    writeSteps(fork.paths.layer(kept.layer), about, { durable: true });
    endWriting(fork, kept.layer);
    const done = Object.entries(home.written).map(([key, list]) => [key, { steps: list }] as const);
    const written = await toldSteps(fork, { byRoot: new Map(done) });
    const undecided = home.clashes;
    return {
      ...answer,
      fork: kept.fork,
      written,
      aside: home.aside,
      undecided,
      done: false,
      problems: [...apply.problems, ...home.narrowed],
    };
  }
  const problems = [...leftOut, ...home.narrowed];
  const settling = { checkpoint, times: home.times, kept: kept.layer, put: fork };
  return settled(kept.fork, plans, settling, answer, problems);
}

/** For the report, as people name them. */
async function toldSteps(
  fork: OpenFork,
  { byRoot }: { readonly byRoot: ReadonlyMap<string, Pick<ApplyPlan, 'steps'>> },
) {
  const { roots } = fork.vault;
  const told: Step[] = [];
  for (const [key, { steps }] of byRoot) {
    const layers = { put: forkTrees(fork, key), remove: treesOf(fork.paths, fork.meta.base, key) };
    for (const step of await reportedSteps(fork.tree, layers, steps))
      told.push(key === workspaceRoot ? step : { ...step, path: shownPath(roots, key, step.path) });
  }
  return told;
}

/** Paths of changes that are not written. Steps are of changes, each of one. */
function leftOf(changes: readonly Change[], steps: readonly Step[]): readonly string[] {
  if (steps.length === changes.length) return [];
  const written = new Set(steps.map(({ path }) => path));
  return changes.filter(({ path }) => !written.has(path)).map(({ path }) => path);
}

/** The person may save faster than one can look. */
const attempts = 3;

async function settled(
  fork: OpenFork,
  plans: Plans,
  settling: Settling,
  answer: Omit<ApplyReport, 'done' | 'problems'>,
  problems: readonly Problem[],
): Promise<Applied> {
  const [written, met] = await settle(fork, plans, settling);
  const after = await syncLocked(written);
  // Also of one that was cut off, where nothing was left to write.
  const last = after.meta.applied?.at(-1);
  if (last !== undefined) endWriting(after, last);
  return { ...answer, fork: after, done: true, problems: [...problems, ...met] };
}

/** The fork's lock is held; the vault's is taken, and held by the writing process too: a killed caller does not free it. */
export function applyFork(fork: OpenFork, request: ApplyRequest): Promise<Applied> {
  return withVaultLock(fork.tree, fork.paths.lock, 'ctx apply', (lock) => applyLocked(fork, request, lock));
}
