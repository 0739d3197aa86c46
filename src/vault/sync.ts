/**
 * The person's own edits. What changed in the origin since it was last looked at becomes a layer below the fork's delta,
 * so that the next command sees it. Where the fork changed the same path, the fork's version stays on top and the path is
 * a clash: reported, never resolved silently, and refused by apply.
 */
import { readdirSync, renameSync } from 'node:fs';
import { hasCode } from '../base/errno.js';
import { layersBeforeReimport } from '../base/limits.js';
import { addParents, clashing } from './clashing.js';
import { forkChanges } from './fork.js';
import { throwAway } from './trash.js';
import type { Problem, Step } from './tree.js';
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
async function importAfresh(vault: OpenVault, entered: readonly string[]): Promise<Synced> {
  const { paths, meta, tree, owner, store } = vault;
  const layer = String(meta.nextLayer);
  throwAway(store, paths.layer(layer));
  const problems = await tree.copy({
    root: meta.origin,
    destination: paths.layer(layer),
    // Adopted once the layer is named: signatures that are newer than the layers would hide the edits for good.
    signatures: paths.scanned,
    shift: owner.shift,
    skip: [{ device: store.device, inode: store.inode }],
  });
  const after: VaultMeta = { ...meta, layers: [layer], nextLayer: meta.nextLayer + 1, clashes: [] };
  writeVaultMeta(paths.meta, after);
  renameSync(paths.scanned, paths.scan);
  for (const old of meta.layers) throwAway(store, paths.layer(old));
  return { vault: { ...vault, meta: after, drift: undefined }, entered, clashes: [], problems };
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

/**
 * The delta may hold a path without changing it: a file that was touched, or written again as it was. Such a copy would
 * hide the person's edit and, taken for a change, undo it. It goes; what is below it is the same.
 */
async function uncover(vault: OpenVault, entered: readonly string[]): Promise<void> {
  const { tree, paths } = vault;
  const { upper } = paths.fork;
  const wanted = new Set(entered);
  const changes = await forkChanges(vault);
  const kept = new Set<string>();
  const keep = (path: string) => {
    addParents(path, kept);
    kept.add(path);
  };
  for (const { path } of changes) keep(path);
  const plan: Step[] = [];
  // From the deepest up: a directory goes only where everything it holds does.
  for (const { path } of (await tree.diff({ uppers: [upper], lowers: [] })).reverse()) {
    if (wanted.has(path) && !kept.has(path)) plan.push({ action: 'remove', path });
    else addParents(path, kept);
  }
  await tree.apply({ uppers: [upper], root: upper, plan }).catch((error: unknown) => {
    // A mark of a deletion that both sides made. What stays covered by it is a clash.
    if (!hasCode(error, 'ENOTEMPTY')) throw error;
  });
}

/** `suspects` are paths to compare even where the scan sees no edit: apply may have written them otherwise than the fork. */
export async function syncOrigin(vault: OpenVault, suspects: readonly string[] = []): Promise<Synced> {
  const { paths, meta, tree, owner, store } = vault;
  if (vault.imported && suspects.length === 0) return { vault, entered: [], clashes: [], problems: [] };
  const scanned = vault.drift ?? (await lookAtOrigin({ ...vault, origin: meta.origin }));
  const layers = layersFromTop(vault);
  const looked = [...new Set([...scanned.map(({ path }) => path), ...suspects])];
  const entered = await differing(vault, layers, looked);
  const clean = readdirSync(paths.fork.upper).length === 0;
  if (clean && meta.layers.length >= layersBeforeReimport) return importAfresh(vault, entered);
  if (entered.length === 0) {
    renameSync(paths.scanned, paths.scan);
    return { vault: { ...vault, drift: undefined }, entered, clashes: meta.clashes, problems: [] };
  }

  const layer = String(meta.nextLayer);
  throwAway(store, paths.layer(layer));
  const problems = await tree.mirror({
    root: meta.origin,
    into: paths.layer(layer),
    layers,
    shift: owner.shift,
    paths: entered,
  });
  if (!clean) await uncover(vault, entered);
  const layered: VaultMeta = { ...meta, layers: [...meta.layers, layer], nextLayer: meta.nextLayer + 1 };
  // Asked with the person's edits in place: whatever the fork shows otherwise there is a clash, however it came about.
  const clashes = clean ? [] : clashing(entered, await forkChanges({ ...vault, meta: layered }));
  const after: VaultMeta = { ...layered, clashes: [...new Set([...meta.clashes, ...clashes])].sort() };
  writeVaultMeta(paths.meta, after);
  renameSync(paths.scanned, paths.scan);
  return { vault: { ...vault, meta: after, drift: undefined }, entered, clashes: after.clashes, problems };
}
