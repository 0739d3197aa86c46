/** What an apply or undo that was killed left beside the person's files: removed by the next one, or with the fork. */
import { renameSync } from 'node:fs';
import { readSteps, writtenTrees } from '../store/applied-steps.js';
import { treesOf } from '../store/layer-pool.js';
import { withVaultLock } from '../store/locks.js';
import { cutMarkOf, isBeingWritten, markOf } from '../store/writing-marks.js';
import type { TreeStep } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { walkerPath } from './whole-trees.js';

/** Nothing to do where the last writing came to its end. The vault's lock is held. */
export async function sweepLast(fork: OpenFork): Promise<void> {
  const layer = fork.meta.applied?.at(-1);
  if (layer === undefined || !isBeingWritten(fork, layer)) return;
  const about = readSteps(fork, layer);
  if (about === undefined) return;
  const before = fork.meta.checkpoints.find(({ id }) => id === about.checkpoint);
  const stack = before === undefined ? [] : [...before.base, ...before.deltas];
  for (const [key, steps] of Object.entries(about.roots)) {
    const root = fork.vault.roots[key];
    const expected = treesOf(fork.paths, [layer], key);
    const uppers = writtenTrees(fork.paths, layer, stack, key);
    if (root === undefined || expected.length === 0 || uppers.length === 0) continue;
    const plan = steps.map((step): TreeStep => ({ action: 'sweep', path: walkerPath(step) }));
    await fork.tree.apply({ uppers, root, shift: fork.owner.shift, plan, expected });
  }
  renameSync(markOf(fork, layer), cutMarkOf(fork, layer));
}

/** Before the fork goes; its lock is held. */
export async function sweepBeforeDrop(fork: OpenFork): Promise<void> {
  const layer = fork.meta.applied?.at(-1);
  if (layer === undefined || !isBeingWritten(fork, layer)) return;
  await withVaultLock(fork.tree, fork.paths.lock, 'ctx drop', () => sweepLast(fork));
}
