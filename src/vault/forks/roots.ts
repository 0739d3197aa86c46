/** Further directories of a fork beside the workspace: imported when they are first used, and part of the trunk from then on. */
import { importLayer } from '../store/import-layer.js';
import { knowRoot } from '../store/known-roots.js';
import { rootKey } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { readVaultMeta, type VaultMeta } from '../store/vault-meta.js';
import type { Problem, Progress } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { extendTrunk } from './trunk.js';

export interface RootRequest {
  /** Canonical directories. */
  readonly paths: readonly string[];
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Rooted {
  readonly fork: OpenFork;
  /** The roots' keys, in the order of the paths. */
  readonly keys: readonly string[];
  /** Those that were imported just now. */
  readonly imported: readonly string[];
  readonly problems: readonly Problem[];
}

async function importRoot(fork: OpenFork, vault: VaultMeta, key: string, path: string, request: RootRequest) {
  const known = { ...vault.known, [key]: knowRoot(fork.tree, path) };
  const { layer, problems } = await importLayer(fork, key, path, { ...request, limits: vault.limits });
  const roots = { ...vault.roots, [key]: path };
  return { vault: extendTrunk(fork, vault, [layer], new Map(), { roots, known }), problems };
}

/** The fork moves onto the trunk that holds them with its next `syncFork`. */
export async function addRoots(fork: OpenFork, request: RootRequest): Promise<Rooted> {
  const keys = request.paths.map(rootKey);
  if (keys.every((key) => fork.vault.roots[key] !== undefined)) return { fork, keys, imported: [], problems: [] };
  return withVaultLock(fork.tree, fork.paths.lock, 'importing a further directory', async () => {
    let vault = readVaultMeta(fork.paths.meta) ?? fork.vault;
    const problems: Problem[] = [];
    const imported: string[] = [];
    for (const path of request.paths) {
      const key = rootKey(path);
      if (vault.roots[key] !== undefined) continue;
      const done = await importRoot(fork, vault, key, path, request);
      vault = done.vault;
      imported.push(key);
      for (const each of done.problems) problems.push({ ...each, path: `${path}/${each.path}` });
    }
    return { fork: { ...fork, vault }, keys, imported, problems };
  });
}
