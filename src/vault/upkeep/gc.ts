/**
 * Garbage: layers that no fork and no checkpoint names. A layer that is being made is named by no one yet; so one goes
 * only where the lock of its maker is held, which says that no one is making anything there.
 */
import { closeSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { hasCode } from '../../base/errno.js';
import { syncLocked } from '../forks/durable.js';
import { existingVault, forkDirectories, forkNames } from '../forks/forks.js';
import { lockQuietFork } from '../store/fork-lock.js';
import { forkVersions, isSuspect, layersOfVersions, readableForkMeta } from '../store/fork-meta.js';
import { type LayerMaker, makerOf } from '../store/layer-pool.js';
import { withVaultLock } from '../store/locks.js';
import { emptyTrash, emptyTrashLater, throwAway } from '../store/trash.js';
import { isSuspectVault, trunkLayers } from '../store/vault-meta.js';
import type { VaultAccess } from '../vault.js';

export interface Collected {
  /** Layers that went. */
  readonly layers: readonly string[];
  /** Forks that were in use: what they made stays for another time. */
  readonly busy: readonly string[];
}

/** Of all forks, also of one whose state cannot be read: somebody may be at work in it, or just repair it. */
async function locksOf(
  access: VaultAccess,
  held: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number | undefined>> {
  const locks = new Map<string, number | undefined>();
  for (const name of forkDirectories(access)) {
    const own = held.get(name);
    const options = { wait: false, purpose: 'ctx gc', what: name };
    const taken =
      own ??
      (await lockQuietFork(access.tree, access.paths.fork(name), options).then(
        ({ descriptor }) => descriptor,
        (error: unknown) => {
          if (hasCode(error, 'EBUSY')) return undefined;
          throw error;
        },
      ));
    locks.set(name, taken);
  }
  return locks;
}

/** Undefined where it is gone by now: whoever has the lock of a fork throws layers of that fork away, without the vault's. */
function markOf({ paths }: VaultAccess, layer: string): { readonly maker: LayerMaker | undefined } | undefined {
  try {
    return { maker: makerOf(paths, layer) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Of a fork whose state cannot be read: what it named is not known, so what it made stays until it is repaired or dropped. */
function isOfLostFork(access: VaultAccess, layer: string): boolean {
  const { paths } = access;
  const maker = markOf(access, layer)?.maker;
  if (maker === undefined || 'trunk' in maker) return false;
  const { directory } = paths.fork(maker.fork);
  return existsSync(directory) && readableForkMeta(directory) === undefined;
}

function unnamedLayers(access: VaultAccess): readonly string[] {
  const { paths } = access;
  existingVault(access);
  const named = new Set(trunkLayers(paths.meta));
  for (const name of forkNames(access)) {
    for (const layer of layersOfVersions(paths.fork(name).directory)) named.add(layer);
  }
  return readdirSync(paths.layers).filter((name) => !named.has(name) && !isOfLostFork(access, name));
}

/**
 * Records of the trunk's steps that every fork and every checkpoint has seen. Should a power cut lead back to an older state of a fork, layers
 * are compared (`recoverVault` leaves a step that is not known); to keep its records would be to keep those of all edits since the last sync.
 */
function dropSeenSteps(access: VaultAccess): void {
  const { paths } = access;
  const positions = forkNames(access).flatMap((name) => {
    const [newest] = forkVersions(paths.fork(name).directory);
    return newest === undefined ? [] : [newest.value, ...newest.value.checkpoints].map(({ position }) => position);
  });
  const oldest = positions.reduce((least, each) => Math.min(least, each), existingVault(access).position);
  if (!existsSync(paths.allEdits)) return;
  for (const name of readdirSync(paths.allEdits)) {
    if (Number.parseInt(name, 10) <= oldest) rmSync(paths.edits(Number.parseInt(name, 10)), { force: true });
  }
}

/** So that layers which only states before the last sync name can go. What a power cut has touched is not ours to say. */
async function syncForks(access: VaultAccess, locks: ReadonlyMap<string, number | undefined>): Promise<void> {
  const vault = existingVault(access);
  if (isSuspectVault(vault)) return;
  for (const [name, lock] of locks) {
    const place = access.paths.fork(name);
    const meta = readableForkMeta(place.directory);
    if (lock === undefined || meta === undefined || isSuspect(place.directory)) continue;
    const unlock = () => undefined;
    await syncLocked({
      ...access,
      name,
      place,
      lockDescriptor: lock,
      others: [],
      dead: [],
      unlock,
      vault,
      meta,
      imported: false,
      problems: [],
    });
  }
}

export interface Collecting {
  /** States are synced first, so that what only older ones name can go, too. */
  readonly sync?: boolean;
  /** Return before what goes is deleted. */
  readonly later?: boolean;
  /** Output of runs goes, too: never as a side of another verb. */
  readonly outputs?: boolean;
}

/** `held` are locks of forks that the caller holds already. */
export async function collectGarbage(
  access: VaultAccess,
  held: ReadonlyMap<string, number> = new Map(),
  { sync = false, later = false, outputs = false }: Collecting = {},
): Promise<Collected> {
  const { paths, tree, store } = access;
  const collected = await withVaultLock(tree, paths.lock, 'ctx gc', async () => {
    const locks = await locksOf(access, held);
    try {
      if (sync) await syncForks(access, locks);
      const gone = unnamedLayers(access).filter((name) => {
        const mark = markOf(access, name);
        if (mark === undefined) return false;
        const { maker } = mark;
        // Where every lock is held, no one is making anything.
        if (maker === undefined) return [...locks.values()].every((lock) => lock !== undefined);
        // A fork that is no more makes nothing, and its name cannot come back while the vault is locked.
        return 'trunk' in maker || !locks.has(maker.fork) || locks.get(maker.fork) !== undefined;
      });
      for (const name of gone) throwAway(store, paths.layer(name));
      for (const [name, lock] of locks) {
        // Only where no command runs.
        if (outputs && lock !== undefined) throwAway(store, paths.fork(name).runs);
      }
      dropSeenSteps(access);
      return { layers: gone, busy: [...locks].filter(([, lock]) => lock === undefined).map(([name]) => name) };
    } finally {
      for (const [name, lock] of locks) if (lock !== undefined && !held.has(name)) closeSync(lock);
    }
  });
  await (later ? emptyTrashLater : emptyTrash)(store, tree);
  return collected;
}
