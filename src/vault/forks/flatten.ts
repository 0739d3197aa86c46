/**
 * Many layers as few: every cold lookup asks each layer. Small layers are merged, large ones left alone until what lies
 * on them has grown to their size, so that the work stays in proportion to what was written. Checkpoints keep their own
 * layers.
 */

import { currentBoot } from '../../base/boot.js';
import { ErrnoError } from '../../base/errno.js';
import { layersBeforeMerge, layersWithoutMerge } from '../../base/limits/store.js';
import { restacked } from '../store/fork-meta.js';
import { type LayerMaker, makeLayer, rootsOf, treesOf } from '../store/layer-pool.js';
import { withVaultLock } from '../store/locks.js';
import { readVaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { countChanges } from '../tree/too-deep.js';
import { type OpenFork, type VaultAccess, withMeta } from '../vault.js';

/** How many of the topmost layers to merge, by their sizes, oldest first. Pure. */
export function mergedCount(sizes: readonly number[], most = layersBeforeMerge): number {
  if (sizes.length <= most) return 0;
  // At least so many that it is not due again with the next one.
  const least = Math.ceil(most / 2);
  let count = least;
  let sum = sizes.slice(-least).reduce((total, size) => total + size, 0);
  for (let at = sizes.length - least - 1; at >= 0 && (sizes[at] ?? 0) <= sum; at -= 1) {
    sum += sizes[at] ?? 0;
    count += 1;
  }
  return count;
}

/** One layer that shows what these show on top of `below`; both oldest first. */
export async function mergeLayers(
  access: VaultAccess,
  layers: readonly string[],
  below: readonly string[],
  maker: LayerMaker,
): Promise<string> {
  const { paths, tree } = access;
  const merged = makeLayer(paths, maker);
  for (const key of new Set(layers.flatMap((layer) => rootsOf(paths, layer)))) {
    const under = treesOf(paths, below, key);
    const into = paths.tree(merged, key);
    await tree.merge({ layers: treesOf(paths, layers, key), below: under, whole: under.length === 0, into });
  }
  return merged;
}

/** How many there are is asked, not which: the rest is counted without a list. */
const countedEntries = 1_000;

async function sizeOf({ paths, tree }: VaultAccess, layer: string): Promise<number> {
  let size = 0;
  for (const key of rootsOf(paths, layer)) {
    const uppers = treesOf(paths, [layer], key);
    size += countChanges(await tree.diff({ uppers, lowers: [], entries: countedEntries, tellsUnlisted: true }));
  }
  return size;
}

/** The deltas of a fork; nothing is done where there are few. */
export async function flattenDeltas(fork: OpenFork, all = false): Promise<OpenFork> {
  const { deltas } = fork.meta;
  const sizes =
    all || deltas.length <= layersBeforeMerge ? [] : await Promise.all(deltas.map((each) => sizeOf(fork, each)));
  const count = all ? deltas.length : mergedCount(sizes);
  if (count < 2) return fork;
  const kept = deltas.slice(0, deltas.length - count);
  try {
    const merged = await mergeLayers(fork, deltas.slice(-count), [...fork.meta.base, ...kept], { fork: fork.name });
    return withMeta(fork, restacked(fork.meta, { ...fork.meta, deltas: [...kept, merged] }), { durable: false });
  } catch (error) {
    // A merge that failed halfway (a full disk) left a layer that no one names: the fork goes on as it is, while that can be mounted.
    if (all || !(error instanceof ErrnoError) || deltas.length > layersWithoutMerge) throw error;
    return fork;
  }
}

/** The trunk. Forks move onto it with their next use. */
export async function flattenTrunk(access: VaultAccess, all = false): Promise<void> {
  const known = readVaultMeta(access.paths.meta);
  // A merge links files: those of a directory that is not a copy are the person's.
  if (known?.uncopied === true) return;
  if (known === undefined || known.trunk.length < (all ? 2 : layersBeforeMerge + 1)) return;
  await withVaultLock(access.tree, access.paths.lock, 'ctx flatten', async () => {
    const vault = readVaultMeta(access.paths.meta);
    if (vault === undefined) return;
    // The import is the largest by far, and stays; the process that asks for all of it gets one layer.
    const count = all ? vault.trunk.length : vault.trunk.length - 1;
    if (count < 2) return;
    const kept = vault.trunk.slice(0, vault.trunk.length - count);
    const merged = await mergeLayers(access, vault.trunk.slice(-count), kept, { trunk: true });
    writeVaultMeta(access.paths.meta, { ...vault, trunk: [...kept, merged], boot: currentBoot() });
  });
}
