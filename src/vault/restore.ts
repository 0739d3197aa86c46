/** Rolling back single paths: a layer on top that shows them as they were. Everything else stays. */

import { ErrnoError } from '../base/errno.js';
import { saveCheckpoint } from './checkpoint.js';
import type { Checkpoint } from './fork-meta.js';
import { makeLayer, treesOf } from './layer-pool.js';
import { makePathLayer } from './path-layer.js';
import { rootOf } from './root-paths.js';
import { type OpenFork, withMeta } from './vault.js';

/** The paths as the fork's changes name them. What stands now is kept as a checkpoint. */
export async function restorePaths(fork: OpenFork, to: Checkpoint, shown: readonly string[]): Promise<OpenFork> {
  const { paths } = fork;
  const saved = saveCheckpoint(fork, {
    automatic: true,
    reason: `rollback of ${shown.join(' ')} to ${to.name ?? to.id}`,
  });
  const { meta, vault } = saved.fork;
  const byRoot = new Map<string, string[]>();
  for (const path of shown) {
    const found = rootOf(vault.roots, path);
    if (found === undefined) {
      throw new ErrnoError('ENOENT', {
        operation: 'roll back',
        path,
        reason: 'expected a path of the workspace or of a root of the fork',
      });
    }
    byRoot.set(found[0], [...(byRoot.get(found[0]) ?? []), found[1]]);
  }
  const layer = makeLayer(paths, { fork: fork.name });
  for (const [key, list] of byRoot) {
    // Under the deltas of then the person's directory of now: what they edited since is theirs.
    const from = treesOf(paths, [...meta.base, ...to.deltas], key);
    const over = treesOf(paths, [...meta.base, ...meta.deltas], key);
    await makePathLayer(fork, { from, over, into: paths.tree(layer, key), paths: list });
  }
  return withMeta(saved.fork, { ...meta, deltas: [...meta.deltas, layer] }, { durable: false });
}
