/**
 * Undoing an apply: what it replaced comes back to the person's directories, and the fork stands where it stood before. Where
 * the person has changed such a path since, nothing at all is written: their work is not ours to undo.
 */
import { readJsonFile } from '../base/atomic-file.js';
import { ErrnoError } from '../base/errno.js';
import { type AppliedSteps, stepsFile } from './apply.js';
import { findCheckpoint, rollBack, saveCheckpoint } from './checkpoint.js';
import type { Checkpoint } from './fork-meta.js';
import { treesOf } from './layer-pool.js';
import { withVaultLock } from './locks.js';
import { shownPath, topPath } from './root-paths.js';
import { moveOnto } from './sync.js';
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

/** Written paths at which the directory is not what the apply left there. */
async function changedSince(
  fork: OpenFork,
  key: string,
  before: Checkpoint,
  steps: readonly Step[],
): Promise<string[]> {
  const root = fork.vault.roots[key];
  if (root === undefined) return [];
  const layers = treesOf(fork.paths, [...before.base, ...before.deltas], key);
  const paths = steps.map(({ path }) => path);
  const compared = await fork.tree.compare({ layers, root, shift: fork.owner.shift, paths });
  return paths.filter((path) => compared.get(path) !== 'same');
}

/** What brings the kept entries back: what was not there goes, from the deepest up; the rest is put from the top down. */
async function planOf(fork: OpenFork, key: string, layer: string, steps: readonly Step[]): Promise<readonly Step[]> {
  const layers = treesOf(fork.paths, [layer], key);
  const paths = steps.map(({ path }) => path).filter((path) => path !== topPath);
  const kept = paths.length === 0 ? [] : await fork.tree.read({ layers, paths });
  const inOrder = (left: string, right: string) => (left.split('/').join('\0') < right.split('/').join('\0') ? -1 : 1);
  const gone = paths.filter((_path, index) => kept[index]?.type === 'missing').sort(inOrder);
  const back = paths.filter((_path, index) => kept[index]?.type !== 'missing').sort(inOrder);
  const top = steps.filter(({ path }) => path === topPath);
  return [
    ...gone.reverse().map((path): Step => ({ action: 'remove', path })),
    ...back.map((path): Step => ({ action: 'put', path })),
    ...top,
  ];
}

async function undoLocked(given: OpenFork, lock: number): Promise<Undone> {
  const [layer, about] = lastApply(given);
  const before = findCheckpoint(given, String(about.checkpoint));
  const saved = saveCheckpoint(given, { automatic: true, reason: 'ctx apply --undo' });
  const keys = Object.keys(about.roots);
  const { fork } = saved;
  const conflicts: string[] = [];
  const plans = new Map<string, readonly Step[]>();
  for (const [key, steps] of Object.entries(about.roots)) {
    const changed = await changedSince(fork, key, before, steps);
    conflicts.push(...changed.map((path) => shownPath(fork.vault.roots, key, path)));
    plans.set(key, await planOf(fork, key, layer, steps));
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
  const advance = await takeEdits(fork, suspects, fork.name);
  adoptScans(fork, looked);
  const moved = await moveOnto(fork, advance);
  const back = await rollBack(moved.fork, before);
  const applied = (back.meta.applied ?? []).filter((name) => name !== layer);
  const checkpoints = back.meta.checkpoints.map((each) =>
    each.id <= before.id ? { ...each, undone: undefined } : each,
  );
  const after = withMeta(back, { ...back.meta, applied, checkpoints }, { durable: true });
  return { fork: after, steps, conflicts, done: true };
}

/** The fork's lock is held. A crash in the middle: the same call goes on, since what is back already is back. */
export function undoApply(fork: OpenFork): Promise<Undone> {
  return withVaultLock(fork.tree, fork.paths.lock, 'ctx apply --undo', (lock) =>
    undoLocked({ ...fork, vault: readVaultMeta(fork.paths.meta) ?? fork.vault }, lock),
  );
}
