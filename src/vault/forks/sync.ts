/** Before a fork is used: what the person edited enters the trunk, and the fork moves onto it. */

import { frozenTrees, isLiveTouched } from '../fork-trees.js';
import { restacked } from '../store/fork-meta.js';
import { copyTop, isTouched, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { hasHalfApplied } from '../store/writing-marks.js';
import type { Problem } from '../tree/tree.js';
import { type OpenFork, withMeta } from '../vault.js';
import { adoptTrunk } from './adopt.js';
import { standingClashes } from './changes.js';
import { frozen } from './checkpoint.js';
import { type Advance, advanceTrunk, lookAtRoots, type RootPaths } from './trunk.js';

export interface Synced {
  readonly fork: OpenFork;
  /** Paths of the person's that entered. */
  readonly entered: readonly string[];
  /** Those that the fork had changed too, these and earlier ones. */
  readonly clashes: readonly string[];
  readonly problems: readonly Problem[];
}

/** An untouched top directory of the live layer follows the person's. */
function followTops(fork: OpenFork, before: OpenFork): void {
  const { paths, meta, vault } = fork;
  for (const key of Object.keys(vault.roots)) {
    const live = paths.tree(meta.live, key);
    const [tree] = treesOf(paths, [meta.live], key);
    if (tree !== undefined && !isTouched(live, frozenTrees(before, key))) copyTop(frozenTrees(fork, key)[0], live);
  }
}

/** The fork on top of a trunk that may have moved, without the clashes that are none any more. */
export async function moveOnto(fork: OpenFork, advance: Advance): Promise<Synced> {
  const moved = await movedOnto(fork, advance);
  const clashes = await standingClashes(moved.fork);
  if (clashes.length === moved.clashes.length) return moved;
  const meta = { ...moved.fork.meta, clashes };
  return { ...moved, fork: withMeta(moved.fork, meta, { durable: false }), clashes };
}

async function movedOnto(fork: OpenFork, { vault, problems }: Advance): Promise<Synced> {
  const current = { ...fork, vault, drift: undefined };
  if (vault.position === fork.meta.position) {
    // The trunk may have been merged: the same in fewer layers.
    const meta = restacked(fork.meta, { ...fork.meta, base: vault.trunk });
    const same = vault.trunk.join() === fork.meta.base.join();
    return {
      fork: same ? current : withMeta(current, meta, { durable: false }),
      entered: [],
      clashes: meta.clashes,
      problems,
    };
  }
  // What is adopted is frozen: a live layer that was written to becomes a delta first.
  const meta = isLiveTouched(fork) ? frozen(fork) : fork.meta;
  const { stack, entered, clashes } = await adoptTrunk(current, vault, meta);
  const all = [...new Set([...meta.clashes, ...clashes])].sort();
  // A trunk with half of what the fork applied is not the state before that: the checkpoint that an undo goes back to needs its own layers.
  const next = hasHalfApplied(fork) ? { ...meta, ...stack, clashes: all } : restacked(meta, stack, all);
  const after = { ...current, meta: next };
  followTops(after, { ...current, meta });
  return { fork: withMeta(after, after.meta, { durable: false }), entered, clashes: all, problems };
}

/** `roots` are those in use; those of `fresh` were imported just now, and need no look. */
export async function syncFork(
  fork: OpenFork,
  roots: readonly string[] = [workspaceRoot],
  fresh: readonly string[] = [],
): Promise<Synced> {
  const known: RootPaths | undefined =
    fork.drift === undefined ? undefined : new Map([[workspaceRoot, fork.drift.map(({ path }) => path)]]);
  const seen = new Set([...fresh, ...(fork.imported ? [workspaceRoot] : [])]);
  const looked = await lookAtRoots(
    fork,
    roots.filter((root) => !seen.has(root)),
    known,
  );
  return moveOnto(fork, await advanceTrunk(fork, looked));
}
