/**
 * Undoing an apply: what it replaced comes back to the person's directories, and the fork stands where it stood before. Where
 * the person has changed such a path since, nothing at all is written: their work is not ours to undo.
 */
import { readJsonFile } from '../base/atomic-file.js';
import { ErrnoError } from '../base/errno.js';
import { type AppliedSteps, stepsFile } from './apply.js';
import { findCheckpoint, rollBack, saveCheckpoint } from './checkpoint.js';
import { belowAny } from './clashing.js';
import type { Checkpoint } from './fork-meta.js';
import { treesOf } from './layer-pool.js';
import { withVaultLock } from './locks.js';
import { refreshedIndexes } from './refreshed-indexes.js';
import { inWalkOrder, shownPath, topPath } from './root-paths.js';
import type { Step } from './tree.js';
import { adoptScans, lookAtRoots, takeEdits } from './trunk.js';
import { type OpenFork, withMeta } from './vault.js';
import { readVaultMeta } from './vault-meta.js';

export interface Undone {
  readonly fork: OpenFork;
  readonly steps: readonly Step[];
  /** Paths that the person changed after the apply: with any, nothing was written. */
  readonly conflicts: readonly string[];
  readonly done: boolean;
}

function lastApply({ meta, paths }: OpenFork): readonly [layer: string, about: AppliedSteps] {
  const layer = meta.applied?.at(-1);
  const about = layer === undefined ? undefined : readJsonFile(stepsFile(paths.layer(layer)));
  if (layer !== undefined && about !== undefined) return [layer, about as AppliedSteps];
  throw new ErrnoError('ENOENT', {
    operation: 'undo the apply',
    reason: 'this fork has applied nothing that could be undone',
  });
}

/** Written paths at which the directory is not what these layers show. */
async function differing(fork: OpenFork, key: string, layers: readonly string[], paths: readonly string[]) {
  const root = fork.vault.roots[key];
  if (root === undefined || paths.length === 0) return [];
  const trees = treesOf(fork.paths, layers, key);
  const compared = await fork.tree.compare({ layers: trees, root, shift: fork.owner.shift, paths });
  return paths.filter((path) => compared.get(path) !== 'same');
}

/** Written paths that are neither as the apply left them nor back already, by an undo that was cut off. */
async function changedSince(fork: OpenFork, key: string, before: Checkpoint, kept: string, steps: readonly Step[]) {
  const paths = steps.map(({ path }) => path);
  const applied = [...before.base, ...before.deltas];
  const changed = await differing(fork, key, applied, paths);
  const root = fork.vault.roots[key];
  const trees = treesOf(fork.paths, applied, key);
  const refreshed = await refreshedIndexes(fork, trees, root === undefined ? [] : [root], changed);
  return differing(
    fork,
    key,
    [kept],
    changed.filter((path) => !refreshed.has(path)),
  );
}

interface UndoPlan {
  /** What was not there goes, from the deepest up; the rest is put from the top down. */
  readonly plan: readonly Step[];
  /** Paths at which no directory is left by it. */
  readonly ends: readonly string[];
}

/** What brings the kept entries back. */
async function planOf(fork: OpenFork, key: string, layer: string, steps: readonly Step[]): Promise<UndoPlan> {
  const layers = treesOf(fork.paths, [layer], key);
  const paths = steps.map(({ path }) => path).filter((path) => path !== topPath);
  const entries = paths.length === 0 ? [] : await fork.tree.diff({ uppers: layers, lowers: [] });
  const kept = new Map(entries.map(({ path, type }) => [path, type]));
  const gone = paths.filter((path) => !kept.has(path)).sort(inWalkOrder);
  const back = paths.filter((path) => kept.has(path)).sort(inWalkOrder);
  const top = steps.filter(({ path }) => path === topPath);
  const plan = [
    ...gone.reverse().map((path): Step => ({ action: 'remove', path })),
    ...back.map((path): Step => ({ action: 'put', path })),
    ...top,
  ];
  return { plan, ends: paths.filter((path) => kept.get(path) !== 'directory') };
}

/** What the person has put where going back would end a directory, or taken away where it needs one. */
async function obstaclesOf(fork: OpenFork, key: string, steps: readonly Step[], { plan, ends }: UndoPlan) {
  const root = fork.vault.roots[key];
  if (root === undefined || plan.length === 0) return [];
  const entries = await fork.tree.diff({ uppers: [root], lowers: [], pastClosed: true });
  const directories = new Set(entries.filter(({ type }) => type === 'directory').map(({ path }) => path));
  const known = new Set(steps.map(({ path }) => path));
  const isInEnding = belowAny(new Set(ends));
  const strangers = entries.filter(({ path }) => !known.has(path) && isInEnding(path)).map(({ path }) => path);
  const lacking = plan.filter(({ action, path }) => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    return action === 'put' && parent !== '' && !known.has(parent) && !directories.has(parent);
  });
  return [...strangers, ...lacking.map(({ path }) => path)];
}

/** What the person edited enters first, and stays theirs: it is no part of what the fork takes back. */
async function takeLatest(fork: OpenFork, keys: readonly string[]): Promise<OpenFork> {
  const looked = await lookAtRoots(fork, keys);
  const { vault } = await takeEdits(fork, looked);
  adoptScans(fork, looked);
  return { ...fork, vault };
}

async function undoLocked(given: OpenFork, lock: number): Promise<Undone> {
  const [layer, about] = lastApply(given);
  const before = findCheckpoint(given, String(about.checkpoint));
  const saved = saveCheckpoint(given, { automatic: true, reason: 'ctx apply --undo' });
  const keys = Object.keys(about.roots);
  const fork = await takeLatest(saved.fork, keys);
  const conflicts: string[] = [];
  const plans = new Map<string, readonly Step[]>();
  for (const [key, steps] of Object.entries(about.roots)) {
    const undoing = await planOf(fork, key, layer, steps);
    const met = [
      ...(await changedSince(fork, key, before, layer, steps)),
      ...(await obstaclesOf(fork, key, steps, undoing)),
    ];
    conflicts.push(...[...new Set(met)].map((path) => shownPath(fork.vault.roots, key, path)));
    plans.set(key, undoing.plan);
  }
  const steps = [...plans].flatMap(([key, plan]) =>
    plan.map((step) => ({ ...step, path: shownPath(fork.vault.roots, key, step.path) })),
  );
  if (conflicts.length > 0) return { fork, steps, conflicts, done: false };
  for (const [key, plan] of plans) {
    const root = fork.vault.roots[key];
    if (root === undefined) continue;
    const uppers = treesOf(fork.paths, [layer], key);
    const held = { descriptor: lock, wait: false };
    await fork.tree.apply({ uppers, root, shift: fork.owner.shift, plan, lock: held });
  }
  const looked = await lookAtRoots(fork, keys);
  const suspects = new Map(
    [...looked].map(([key, list]) => [key, [...list, ...(about.roots[key] ?? []).map(({ path }) => path)]]),
  );
  const { vault } = await takeEdits(fork, suspects, fork.name);
  adoptScans(fork, looked);
  const back = await rollBack({ ...fork, vault }, before);
  const applied = (back.meta.applied ?? []).filter((name) => name !== layer);
  const shownAgain = new Set(about.hidden ?? [before.id]);
  const checkpoints = back.meta.checkpoints.map((each) =>
    shownAgain.has(each.id) ? { ...each, undone: undefined } : each,
  );
  // What an undo that was cut off had brought back already was seen as the person's: it is no clash, since all of it is back.
  const brought = new Set(steps.map(({ path }) => path));
  const clashes = back.meta.clashes.filter((path) => before.clashes.includes(path) || !brought.has(path));
  const after = withMeta(back, { ...back.meta, applied, checkpoints, clashes }, { durable: true });
  return { fork: after, steps, conflicts, done: true };
}

/** The fork's lock is held. A crash in the middle: the same call goes on, since what is back already is back. */
export function undoApply(fork: OpenFork): Promise<Undone> {
  return withVaultLock(fork.tree, fork.paths.lock, 'ctx apply --undo', (lock) =>
    undoLocked({ ...fork, vault: readVaultMeta(fork.paths.meta) ?? fork.vault }, lock),
  );
}
