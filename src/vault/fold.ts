/**
 * Folding: the fork's delta becomes a frozen layer, in one rename. `meta.json` says so before and after, so that a crash at
 * any point is either undone or finished by the next one who opens the vault.
 */
import { existsSync } from 'node:fs';
import type { VaultPaths } from './layout.js';
import type { Store } from './store.js';
import { moveTree, throwAway } from './trash.js';
import { type VaultMeta, writeVaultMeta } from './vault-meta.js';

function folded(meta: VaultMeta, layer: string): VaultMeta {
  return { ...meta, layers: [...meta.layers, layer], nextLayer: meta.nextLayer + 1, clashes: [], folding: undefined };
}

/** The fork must not be mounted. The caller makes a new empty delta afterwards. */
export function fold(store: Store, paths: VaultPaths, meta: VaultMeta): VaultMeta {
  const layer = String(meta.nextLayer);
  // What a crashed sync left there would be taken for the delta.
  throwAway(store, paths.layer(layer));
  writeVaultMeta(paths.meta, { ...meta, folding: layer });
  moveTree(paths.fork.upper, paths.layer(layer));
  const after = folded(meta, layer);
  writeVaultMeta(paths.meta, after);
  return after;
}

/**
 * A delta made beside the fork becomes a layer below it. A crash between the two steps leaves an unnamed directory, which
 * the next use of that name throws away.
 */
export function addLayer(store: Store, paths: VaultPaths, meta: VaultMeta, delta: string): VaultMeta {
  const layer = String(meta.nextLayer);
  throwAway(store, paths.layer(layer));
  moveTree(delta, paths.layer(layer));
  const after: VaultMeta = { ...meta, layers: [...meta.layers, layer], nextLayer: meta.nextLayer + 1 };
  writeVaultMeta(paths.meta, after);
  return after;
}

/** After a crash: the rename tells how far it came. */
export function settleFold(paths: VaultPaths, meta: VaultMeta): VaultMeta {
  if (meta.folding === undefined) return meta;
  const after = existsSync(paths.layer(meta.folding)) ? folded(meta, meta.folding) : { ...meta, folding: undefined };
  writeVaultMeta(paths.meta, after);
  return after;
}
