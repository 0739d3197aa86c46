/**
 * Apply: the fork's changes are written back to the person's directories. The person's latest edits enter first, so that a
 * clash is seen before the first write; with one that nobody chose a side for nothing at all is written. What is about to be
 * replaced is kept (`undo`). Each file is replaced whole. A crash in the middle loses nothing: what was written agrees with
 * the fork, and the next apply goes on.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appliesKept } from '../base/limits.js';
import { type ApplyChoices, type ApplyPlan, planApply } from './apply-plan.js';
import { forkChangesByRoot, type RootChanges, shownChanges } from './changes.js';
import { saveCheckpoint } from './checkpoint.js';
import type { ForkMeta } from './fork-meta.js';
import { makeLayer, treesOf } from './layer-pool.js';
import { withVaultLock } from './locks.js';
import { makePathLayer } from './path-layer.js';
import { pathWithin, type Roots, shownPath, topPath } from './root-paths.js';
import { type Sensitive, sensitiveChanges } from './sensitive-changes.js';
import { moveOnto } from './sync.js';
import type { Change, Problem, Step } from './tree.js';
import { adoptScans, lookAtRoots, takeEdits } from './trunk.js';
import { type OpenFork, withMeta } from './vault.js';

export interface ApplyRequest extends Omit<ApplyChoices, 'withheld' | 'own'> {
  /** Absolute paths of what ctx keeps for itself. */
  readonly own?: readonly string[] | undefined;
  /** Write sensitive changes too. */
  readonly allowSensitive: boolean;
  /** Decide and say, but write nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface Applied {
  readonly fork: OpenFork;
  readonly changes: readonly Change[];
  readonly steps: readonly Step[];
  readonly conflicts: readonly string[];
  /** Conflicts that stood in the way. */
  readonly undecided: readonly string[];
  /** Changes by which the fork could act outside later; written only when allowed. */
  readonly sensitive: readonly Sensitive[];
  readonly heldBack: readonly string[];
  /** Paths that were asked for and have no change. */
  readonly unmatched: readonly string[];
  /** False when conflicts stood in the way, or it was a dry run, and nothing was written. */
  readonly done: boolean;
  readonly problems: readonly Problem[];
}

/** Kept beside the layer that holds what an apply replaced. */
export interface AppliedSteps {
  readonly made: string;
  /** The checkpoint of the fork as it was before. */
  readonly checkpoint: number;
  /** Checkpoints that it hid, since their commands can no longer be undone in the fork alone. */
  readonly hidden?: readonly number[] | undefined;
  readonly roots: Readonly<Record<string, readonly Step[]>>;
}

export const stepsFile = (layerDirectory: string) => join(layerDirectory, 'applied.json');

async function agreedPaths(fork: OpenFork, key: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const { meta, tree, owner, vault } = fork;
  const root = vault.roots[key];
  if (paths.length === 0 || root === undefined) return new Set();
  const layers = treesOf(fork.paths, [...meta.base, ...meta.deltas, meta.live], key);
  const compared = await tree.compare({ layers, root, shift: owner.shift, paths });
  return new Set(paths.filter((path) => compared.get(path) === 'same'));
}

const within = (roots: Roots, key: string, shown: readonly string[] | undefined) =>
  shown?.flatMap((path) => pathWithin(roots, key, path) ?? []);

export function unmatchedOf(only: readonly string[] = [], changes: readonly Change[]): readonly string[] {
  return only.filter(
    (top) => top !== topPath && !changes.some(({ path }) => path === top || path.startsWith(`${top}/`)),
  );
}

/** Of an absolute path that lies in the root. */
function relativeIn(root: string, path: string): readonly string[] {
  return path.startsWith(`${root}/`) ? [path.slice(root.length + 1)] : [];
}

interface Plans {
  readonly byRoot: ReadonlyMap<string, ApplyPlan>;
  readonly undecided: readonly string[];
}

async function planRoots(fork: OpenFork, changes: RootChanges, choices: ApplyChoices): Promise<Plans> {
  const { roots } = fork.vault;
  const byRoot = new Map<string, ApplyPlan>();
  const open: string[] = [];
  for (const [key, list] of changes) {
    const clashes = within(roots, key, fork.meta.clashes) ?? [];
    const own: ApplyChoices = {
      conflicts: choices.conflicts,
      ours: within(roots, key, choices.ours),
      theirs: within(roots, key, choices.theirs),
      only: within(roots, key, choices.only),
      withheld: new Set(within(roots, key, [...(choices.withheld ?? [])])),
      own: choices.own?.flatMap((path) => relativeIn(roots[key] ?? '', path)),
    };
    const plan = planApply(list, clashes, await agreedPaths(fork, key, clashes), own);
    byRoot.set(key, plan);
    open.push(...plan.undecided.map((path) => shownPath(roots, key, path)));
  }
  return { byRoot, undecided: open };
}

/** Moments before commands that an apply writes out. */
const hiddenBy = ({ checkpoints }: ForkMeta, checkpoint: number) =>
  checkpoints.filter(({ automatic, id, undone }) => automatic && id <= checkpoint && undone !== true);

/** What is about to be replaced, as a layer of the fork's; named before the first write. */
async function keepReplaced(fork: OpenFork, plans: Plans, checkpoint: number): Promise<OpenFork> {
  const { paths, tree, owner, vault, meta } = fork;
  const layer = makeLayer(paths, { fork: fork.name });
  const roots: Record<string, readonly Step[]> = {};
  for (const [key, { steps }] of plans.byRoot) {
    const root = vault.roots[key];
    if (root === undefined || steps.length === 0) continue;
    roots[key] = steps;
    const into = paths.tree(layer, key);
    const layers = treesOf(paths, [...meta.base, ...meta.deltas], key);
    await tree.mirror({ root, into, layers, shift: owner.shift, paths: steps.map(({ path }) => path) });
  }
  const hidden = hiddenBy(meta, checkpoint).map(({ id }) => id);
  const about: AppliedSteps = { made: new Date().toISOString(), checkpoint, hidden, roots };
  writeFileSync(stepsFile(paths.layer(layer)), JSON.stringify(about), { mode: 0o600 });
  const applied = [...(meta.applied ?? []), layer].slice(-appliesKept);
  return withMeta(fork, { ...meta, applied }, { durable: true });
}

/** What stays in the fork, as its one delta on the trunk that has the rest by now. */
async function remainder(fork: OpenFork, before: ForkMeta, plans: Plans): Promise<readonly string[]> {
  const { paths, meta } = fork;
  let layer: string | undefined;
  for (const [key, plan] of plans.byRoot) {
    const held = new Set(plan.heldBack);
    held.delete(topPath);
    if (held.size === 0) continue;
    layer ??= makeLayer(paths, { fork: fork.name });
    await makePathLayer(fork, {
      from: treesOf(paths, [...before.base, ...before.deltas], key),
      over: treesOf(paths, meta.base, key),
      into: paths.tree(layer, key),
      isWanted: (path) => held.has(path),
    });
  }
  return layer === undefined ? [] : [layer];
}

/** The trunk takes over what was written, and the fork stands on it with what was held back. */
async function settle(fork: OpenFork, plans: Plans, checkpoint: number): Promise<[OpenFork, readonly Problem[]]> {
  const written: ReadonlyMap<string, readonly string[]> = new Map(
    [...plans.byRoot].map(([key, { steps }]) => [key, steps.map(({ path }) => path)]),
  );
  const looked = await lookAtRoots(fork, [...plans.byRoot.keys()]);
  const suspects = new Map(
    [...looked].map(([key, list]) => [key, [...new Set([...list, ...(written.get(key) ?? [])])]]),
  );
  const advance = await takeEdits(fork, suspects, fork.name);
  adoptScans(fork, looked);
  const { position, trunk } = advance.vault;
  const onTrunk: OpenFork = { ...fork, vault: advance.vault, meta: { ...fork.meta, position, base: trunk } };
  const held = new Set(
    [...plans.byRoot].flatMap(([key, plan]) => plan.heldBack.map((path) => shownPath(fork.vault.roots, key, path))),
  );
  const hidden = new Set(hiddenBy(fork.meta, checkpoint));
  const after: ForkMeta = {
    ...onTrunk.meta,
    deltas: await remainder(onTrunk, fork.meta, plans),
    live: makeLayer(fork.paths, { fork: fork.name }),
    clashes: fork.meta.clashes.filter((path) => held.has(path)),
    checkpoints: fork.meta.checkpoints.map((each) => (hidden.has(each) ? { ...each, undone: true } : each)),
  };
  return [withMeta(onTrunk, after, { durable: true }), advance.problems];
}

async function applyLocked(given: OpenFork, request: ApplyRequest, lock: number): Promise<Applied> {
  const saved = saveCheckpoint(given, { automatic: true, reason: 'ctx apply' });
  const keys = Object.keys(given.vault.roots);
  const looked = await lookAtRoots(saved.fork, keys);
  const advance = await takeEdits(saved.fork, looked);
  adoptScans(saved.fork, looked);
  const synced = await moveOnto(saved.fork, advance);
  const { fork } = synced;
  const { roots } = fork.vault;
  const byRoot = await forkChangesByRoot(fork);
  const changes = shownChanges(fork, byRoot);
  const sensitive = await sensitiveChanges(fork, changes);
  const withheld = new Set(request.allowSensitive ? [] : sensitive.map(({ path }) => path));
  const plans = await planRoots(fork, byRoot, { ...request, withheld });
  const shown = <T extends { readonly path: string }>(pick: (plan: ApplyPlan) => readonly T[]) =>
    [...plans.byRoot].flatMap(([key, plan]) =>
      pick(plan).map((each) => ({ ...each, path: shownPath(roots, key, each.path) })),
    );
  const paths = (pick: (plan: ApplyPlan) => readonly string[]) =>
    [...plans.byRoot].flatMap(([key, plan]) => pick(plan).map((path) => shownPath(roots, key, path)));
  const answer = {
    changes,
    steps: shown(({ steps }) => steps),
    conflicts: paths(({ conflicts }) => conflicts),
    undecided: plans.undecided,
    sensitive,
    heldBack: paths(({ heldBack }) => heldBack),
    unmatched: unmatchedOf(request.only, changes),
  };
  if (plans.undecided.length > 0 || request.dryRun === true) {
    return { fork, ...answer, done: false, problems: [...synced.problems, ...shown(({ leftOut }) => leftOut)] };
  }
  // Nothing was asked for of what there is: the fork stays, with its checkpoints.
  if ([...byRoot].every(([key, list]) => list.length === (plans.byRoot.get(key)?.heldBack.length ?? 0))) {
    return { fork, ...answer, done: true, problems: synced.problems };
  }
  const kept = answer.steps.length === 0 ? fork : await keepReplaced(fork, plans, saved.checkpoint.id);
  for (const [key, { steps }] of plans.byRoot) {
    const root = roots[key];
    const uppers = treesOf(fork.paths, [...fork.meta.deltas, fork.meta.live], key);
    if (root === undefined || steps.length === 0) continue;
    const held = { descriptor: lock, wait: false };
    await fork.tree.apply({ uppers, root, shift: fork.owner.shift, plan: steps, lock: held });
  }
  const [after, problems] = await settle(kept, plans, saved.checkpoint.id);
  return {
    fork: after,
    ...answer,
    done: true,
    problems: [...synced.problems, ...shown(({ leftOut }) => leftOut), ...problems],
  };
}

/** The fork's lock is held; the vault's is taken, and held by the writing process too: a killed caller does not free it. */
export function applyFork(fork: OpenFork, request: ApplyRequest): Promise<Applied> {
  return withVaultLock(fork.tree, fork.paths.lock, 'ctx apply', (lock) => applyLocked(fork, request, lock));
}
