/**
 * Garbage: layers that no fork and no checkpoint names. A layer that is being made is named by nobody yet; so one goes only
 * where the lock of its maker is held, which says that nobody is making anything there.
 */
import { closeSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { hasCode } from '../base/errno.js';
import { layersNamedBy, readForkMeta } from './fork-meta.js';
import { existingVault, forkNames } from './forks.js';
import { makerOf } from './layer-pool.js';
import { takeLock, withVaultLock } from './locks.js';
import { emptyTrash, throwAway } from './trash.js';
import type { VaultAccess } from './vault.js';

export interface Collected {
  /** Layers that went. */
  readonly layers: readonly string[];
  /** Forks that were in use: what they made stays for another time. */
  readonly busy: readonly string[];
}

async function locksOf(
  access: VaultAccess,
  held: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number | undefined>> {
  const locks = new Map<string, number | undefined>();
  for (const name of forkNames(access)) {
    const own = held.get(name);
    const options = { wait: false, purpose: 'ctx gc', what: name };
    const taken =
      own ??
      (await takeLock(access.tree, access.paths.fork(name).lock, options).catch((error: unknown) => {
        if (hasCode(error, 'EBUSY')) return undefined;
        throw error;
      }));
    locks.set(name, taken);
  }
  return locks;
}

function unnamedLayers(access: VaultAccess): readonly string[] {
  const { paths } = access;
  const named = new Set(existingVault(access).trunk);
  for (const name of forkNames(access)) {
    const meta = readForkMeta(paths.fork(name).directory);
    for (const layer of meta === undefined ? [] : layersNamedBy(meta)) named.add(layer);
  }
  return readdirSync(paths.layers).filter((name) => !named.has(name));
}

/** Records of the trunk's steps that every fork and every checkpoint has seen. */
function dropSeenSteps(access: VaultAccess): void {
  const { paths } = access;
  const positions = forkNames(access).flatMap((name) => {
    const meta = readForkMeta(paths.fork(name).directory);
    return meta === undefined ? [] : [meta.position, ...meta.checkpoints.map(({ position }) => position)];
  });
  const oldest = Math.min(existingVault(access).position, ...positions);
  if (!existsSync(paths.allEdits)) return;
  for (const name of readdirSync(paths.allEdits)) {
    if (Number.parseInt(name, 10) <= oldest) rmSync(paths.edits(Number.parseInt(name, 10)), { force: true });
  }
}

/** `held` are locks of forks that the caller holds already. */
export async function collectGarbage(
  access: VaultAccess,
  held: ReadonlyMap<string, number> = new Map(),
): Promise<Collected> {
  const { paths, tree, store } = access;
  const collected = await withVaultLock(tree, paths.lock, 'ctx gc', async () => {
    const locks = await locksOf(access, held);
    try {
      const gone = unnamedLayers(access).filter((name) => {
        const maker = makerOf(paths, name);
        // Where every lock is held, nobody is making anything.
        if (maker === undefined) return [...locks.values()].every((lock) => lock !== undefined);
        // A fork that is no more makes nothing, and its name cannot come back while the vault is locked.
        return 'trunk' in maker || !locks.has(maker.fork) || locks.get(maker.fork) !== undefined;
      });
      for (const name of gone) throwAway(store, paths.layer(name));
      for (const [name, lock] of locks) {
        // Output of runs: only where nobody runs anything, and never as a side of another verb.
        if (lock !== undefined && !held.has(name)) throwAway(store, paths.fork(name).runs);
      }
      dropSeenSteps(access);
      return { layers: gone, busy: [...locks].filter(([, lock]) => lock === undefined).map(([name]) => name) };
    } finally {
      for (const [name, lock] of locks) if (lock !== undefined && !held.has(name)) closeSync(lock);
    }
  });
  await emptyTrash(store, tree);
  return collected;
}
