/** Rolling back single paths: a layer on top that shows them as they were. Everything else stays. */

import type { Checkpoint } from '../store/fork-meta.js';
import { copyTop, makeLayer, treesOf } from '../store/layer-pool.js';
import { pathWithin, refuseForeign, rootOf, topPath } from '../store/root-paths.js';
import { type OpenFork, withMeta } from '../vault.js';
import { isBack, saveCheckpoint, stackOfCheckpoint } from './checkpoint.js';
import { atOrBelow, makePathLayer } from './path-layer.js';

/**
 * The paths as the fork's changes name them. What is now is kept as a checkpoint, unless nothing is to be changed: the next rollback would
 * take back nothing.
 */
export async function restorePaths(fork: OpenFork, to: Checkpoint, shown: readonly string[]): Promise<OpenFork> {
  const { paths } = fork;
  refuseForeign(fork.vault.roots, shown, 'roll back');
  if (await isBack(fork, to, shown)) return fork;
  const saved = saveCheckpoint(fork, {
    automatic: true,
    reason: `rollback of ${shown.join(' ')} to ${to.name ?? to.id}`,
  });
  const { meta, vault } = saved.fork;
  const byRoot = new Map<string, string[]>();
  for (const path of shown) {
    const found = rootOf(vault.roots, path);
    if (found === undefined) continue;
    byRoot.set(found[0], [...(byRoot.get(found[0]) ?? []), found[1]]);
  }
  // On the trunk that the fork is on: what the person edited since is theirs, and what they edit now waits.
  const [then, met] = await stackOfCheckpoint(saved.fork, to, { ...vault, trunk: meta.base, position: meta.position });
  const layer = makeLayer(paths, { fork: fork.name });
  const clashes = new Set(meta.clashes);
  for (const [key, list] of byRoot) {
    const from = treesOf(paths, [...then.base, ...then.deltas], key);
    const over = treesOf(paths, [...meta.base, ...meta.deltas], key);
    const into = paths.tree(layer, key);
    const whole = list.includes(topPath);
    const isWanted = whole ? () => true : atOrBelow(list);
    await makePathLayer(fork, { from, over, into, isWanted, forward: { after: 'now', among: [] } });
    if (whole) copyTop(from[0], into);
    for (const path of met) {
      const within = pathWithin(vault.roots, key, path);
      if (within !== undefined && isWanted(within)) clashes.add(path);
    }
  }
  const after = { ...meta, deltas: [...meta.deltas, layer], clashes: [...clashes].sort() };
  return withMeta(saved.fork, after, { durable: false });
}
