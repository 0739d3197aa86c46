/**
 * The person's own edits. What changed in the origin since it was last looked at becomes a layer below the fork's delta,
 * so that the next command sees it. Where the fork changed the same path, the fork's version stays on top and the path is
 * a clash: reported, never resolved silently, and refused by apply.
 */
import { readdirSync, renameSync } from 'node:fs';
import { layersBeforeReimport } from '../base/limits.js';
import { clashing } from './clashing.js';
import { forkChanges } from './fork.js';
import { throwAway } from './trash.js';
import type { Problem } from './tree.js';
import { layersFromTop, lookAtOrigin, type OpenVault } from './vault.js';
import { type VaultMeta, writeVaultMeta } from './vault-meta.js';

export interface Synced {
  readonly vault: OpenVault;
  /** Paths of the origin that entered. */
  readonly entered: readonly string[];
  /** Those of them that the fork had changed too. */
  readonly clashes: readonly string[];
  readonly problems: readonly Problem[];
}

/** Many small layers make every lookup slower; with nothing in the fork a fresh import is the simplest way to one. */
async function importAfresh(vault: OpenVault): Promise<Synced> {
  const { paths, meta, tree, owner, store } = vault;
  const layer = String(meta.nextLayer);
  throwAway(store, paths.layer(layer));
  const problems = await tree.copy({
    root: meta.origin,
    destination: paths.layer(layer),
    signatures: paths.scan,
    shift: owner.shift,
    skip: [{ device: store.device, inode: store.inode }],
  });
  const after: VaultMeta = { ...meta, layers: [layer], nextLayer: meta.nextLayer + 1, clashes: [] };
  writeVaultMeta(paths.meta, after);
  for (const old of meta.layers) throwAway(store, paths.layer(old));
  return { vault: { ...vault, meta: after, drift: undefined }, entered: [], clashes: [], problems };
}

async function differing(
  vault: OpenVault,
  layers: readonly string[],
  paths: readonly string[],
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const compared = await vault.tree.compare({ layers, root: vault.meta.origin, shift: vault.owner.shift, paths });
  return paths.filter((path) => compared.get(path) !== 'same');
}

/** `suspects` are paths to compare even where the scan sees no edit: apply may have written them otherwise than the fork. */
export async function syncOrigin(vault: OpenVault, suspects: readonly string[] = []): Promise<Synced> {
  const { paths, meta, tree, owner, store } = vault;
  if (vault.imported && suspects.length === 0) return { vault, entered: [], clashes: [], problems: [] };
  const scanned = vault.drift ?? (await lookAtOrigin({ ...vault, origin: meta.origin }));
  const layers = layersFromTop(vault);
  const looked = [...new Set([...scanned.map(({ path }) => path), ...suspects])];
  const entered = await differing(vault, layers, looked);
  if (entered.length === 0) {
    renameSync(paths.scanned, paths.scan);
    return { vault: { ...vault, drift: undefined }, entered, clashes: meta.clashes, problems: [] };
  }
  const clean = readdirSync(paths.fork.upper).length === 0;
  if (clean && meta.layers.length >= layersBeforeReimport) return importAfresh(vault);

  const layer = String(meta.nextLayer);
  throwAway(store, paths.layer(layer));
  const problems = await tree.mirror({
    root: meta.origin,
    into: paths.layer(layer),
    layers,
    shift: owner.shift,
    paths: entered,
  });
  const clashes = clean ? [] : clashing(entered, await forkChanges(vault));
  const after: VaultMeta = {
    ...meta,
    layers: [...meta.layers, layer],
    nextLayer: meta.nextLayer + 1,
    clashes: [...new Set([...meta.clashes, ...clashes])].sort(),
  };
  writeVaultMeta(paths.meta, after);
  renameSync(paths.scanned, paths.scan);
  return { vault: { ...vault, meta: after, drift: undefined }, entered, clashes: after.clashes, problems };
}
