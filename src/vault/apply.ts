/**
 * Apply: the fork's delta is written back to the person's directory. The person's latest edits enter first, so that a clash
 * is seen before the first write; with a clash nothing at all is written unless the person chose a side. Each file is
 * replaced whole. A crash in the middle loses nothing: what was written agrees with the fork, and the next apply goes on.
 */

import { type ApplyPlan, type ConflictChoice, planApply } from './apply-plan.js';
import { fold } from './fold.js';
import { forkChanges, rememberChanges } from './fork.js';
import { syncOrigin } from './sync.js';
import { throwAway } from './trash.js';
import type { Change, Problem } from './tree.js';
import { layersFromTop, makeEmptyFork, type OpenVault } from './vault.js';
import { type VaultMeta, writeVaultMeta } from './vault-meta.js';

export interface Applied {
  readonly vault: OpenVault;
  readonly changes: readonly Change[];
  readonly plan: ApplyPlan;
  /** False when conflicts stood in the way and nothing was written. */
  readonly done: boolean;
  readonly problems: readonly Problem[];
}

async function agreedPaths(vault: OpenVault, paths: readonly string[]): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const layers = [vault.paths.fork.upper, ...layersFromTop(vault)];
  const compared = await vault.tree.compare({ layers, root: vault.meta.origin, shift: vault.owner.shift, paths });
  return new Set(paths.filter((path) => compared.get(path) === 'same'));
}

/**
 * The delta changes nothing any more, since the directory has come to be the same. It goes all the same, and its clashes
 * with it: they would refuse whatever the fork does to these paths later.
 */
function forget({ store, paths, meta }: OpenVault): VaultMeta {
  const after: VaultMeta = { ...meta, clashes: [] };
  if (meta.clashes.length > 0) writeVaultMeta(paths.meta, after);
  throwAway(store, paths.fork.upper);
  return after;
}

export async function applyFork(vault: OpenVault, choice: ConflictChoice): Promise<Applied> {
  const synced = await syncOrigin(vault);
  const current = synced.vault;
  const changes = await forkChanges(current);
  const plan = planApply(changes, current.meta.clashes, await agreedPaths(current, current.meta.clashes), choice);
  if (plan.conflicts.length > 0 && choice === 'refuse') {
    return { vault: current, changes, plan, done: false, problems: synced.problems };
  }
  const { paths, tree, owner, meta } = current;
  await tree.apply({
    uppers: [paths.fork.upper],
    root: meta.origin,
    shift: owner.shift,
    plan: plan.steps,
    lock: { descriptor: current.lockDescriptor, wait: false },
  });
  const folded = { ...current, meta: changes.length === 0 ? forget(current) : fold(current.store, paths, meta) };
  makeEmptyFork(paths.fork, meta.origin, owner);
  rememberChanges(folded, []);
  // What apply left out on purpose (setuid bits, paths of the person's choice) is taken back from the origin.
  const after = await syncOrigin(
    folded,
    changes.map(({ path }) => path),
  );
  const problems = [...synced.problems, ...plan.leftOut, ...after.problems];
  return { vault: after.vault, changes, plan, done: true, problems };
}
