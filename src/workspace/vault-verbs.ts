/** What an operator does with a vault as a whole: list, look, check, merge, collect, export, delete. */
import { closeSync, existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { canonicalAncestor } from '../base/canonical-path.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { liveOutputMilliseconds } from '../base/limits/commands.js';
import { pathFrom } from '../base/path-from.js';
import { refuseForeignLinks } from '../proxy/canonical-paths.js';
import { type Host, placeOf } from '../proxy/host.js';
import { dropOldOutputs } from '../proxy/report/output-file.js';
import type { Undone, UndoRequest } from '../vault/apply/undo-apply.js';
import * as vaultApply from '../vault/apply/undo-apply.js';
import { forkChanges } from '../vault/forks/changes.js';
import { flattenDeltas, flattenTrunk } from '../vault/forks/flatten.js';
import { forkDirectories, forkNames } from '../vault/forks/forks.js';
import * as vaultForks from '../vault/forks/sync.js';
import { lockFoundFork } from '../vault/store/fork-lock.js';
import { storeFormat, storePaths, vaultId, vaultPaths } from '../vault/store/layout.js';
import { withVaultLock } from '../vault/store/locks.js';
import { emptyTrash, emptyTrashLater, throwAway, trashCount } from '../vault/store/trash.js';
import { readVaultMeta, type VaultMeta } from '../vault/store/vault-meta.js';
import { countChanges } from '../vault/tree/too-deep.js';
import type { Problem } from '../vault/tree/tree.js';
import { collectInPassing } from '../vault/upkeep/collect-in-passing.js';
import * as vaultExport from '../vault/upkeep/export.js';
import { inspectVault, type VaultFault } from '../vault/upkeep/fsck.js';
import { type Collected, collectGarbage } from '../vault/upkeep/gc.js';
import type { VaultAccess } from '../vault/vault.js';
import { type ForkRequest, objectOf, tidy, withFork } from './fork-verbs.js';
import { both, recordedVerb, toldSteps } from './recorded-verb.js';
import { accessAt } from './vault-at.js';

export interface VaultSummary {
  readonly id: string;
  readonly name: string | null;
  readonly origin: string;
  readonly created: string;
  readonly roots: readonly string[];
  readonly forks: readonly string[];
  readonly layers: number;
  /** False where the forks stand on the directory itself. */
  readonly copied: boolean;
}

export function accessTo(host: Host, id: string): VaultAccess {
  const { store, tree, uid, gid } = host;
  return { id, paths: vaultPaths(store.directory, id), store, tree, owner: { uid, gid, shift: 0 } };
}

export function summaryOf(access: VaultAccess, meta: VaultMeta): VaultSummary {
  const { origin, created, name = null, roots } = meta;
  const layers = existsSync(access.paths.layers) ? readdirSync(access.paths.layers).length : 0;
  const copied = meta.uncopied !== true;
  return {
    id: access.id,
    name,
    origin,
    created,
    roots: Object.values(roots),
    forks: forkNames(access),
    layers,
    copied,
  };
}

function vaultIds(host: Host): readonly string[] {
  return readdirSync(storePaths(host.store.directory).vaults).filter((id) => /^[0-9a-f]{16}$/.test(id));
}

export interface FoundFault extends VaultFault {
  readonly vault: string;
}

/** An error of one vault alone: the others are not to wait for its repair. */
function faultOf(access: VaultAccess, error: unknown): FoundFault {
  const { reason, path = access.paths.directory } = fromSystemError(error, 'open the vault', access.paths.directory);
  return { vault: access.id, what: reason, where: path };
}

/** Those that can be read, and of the others why not. */
export function readVaults(host: Host): {
  readonly vaults: readonly VaultSummary[];
  readonly faults: readonly FoundFault[];
} {
  const vaults: VaultSummary[] = [];
  const faults: FoundFault[] = [];
  for (const id of vaultIds(host)) {
    const access = accessTo(host, id);
    try {
      const meta = readVaultMeta(access.paths.meta);
      if (meta !== undefined) vaults.push(summaryOf(access, meta));
    } catch (error) {
      faults.push(faultOf(access, error));
    }
  }
  return { vaults, faults };
}

/** By the name a person gave it, by its number, or by its directory; without any, the one of this directory. */
export function vaultNamed(host: Host, cwd: string, wanted: string | undefined): VaultSummary {
  const { vaults, faults } = readVaults(host);
  const origin = wanted === undefined ? placeOf(host, cwd).origin : canonicalAncestor(pathFrom(cwd, wanted));
  const found =
    vaults.find((each) => each.name === wanted || each.id === wanted) ?? vaults.find((each) => each.origin === origin);
  if (found !== undefined) return found;
  const fault = faults.find(({ vault }) => vault === wanted || vault === vaultId(origin));
  if (fault !== undefined) {
    const remedy = 'move the vault away to start afresh; its layers are plain directories';
    throw new ErrnoError('EIO', { operation: 'find the vault', path: fault.where, reason: fault.what, remedy });
  }
  throw new ErrnoError('ENOENT', {
    operation: 'find the vault',
    reason: wanted === undefined ? 'this directory has no vault yet' : `there is no vault '${wanted}'`,
    remedy: 'ctx vault list shows them, ctx vault create makes one',
  });
}

/** Takes over what the person edited, as a command would first. */
export function syncFork(host: Host, request: ForkRequest) {
  return withFork(host, request, 'ctx vault sync', async (fork) => {
    const { entered, clashes, problems } = await vaultForks.syncFork(fork, Object.keys(fork.vault.roots));
    return { entered, clashes, problems };
  });
}

/** Every fork has to be free: a jail would lose the layers it works on. */
export async function deleteVault(host: Host, id: string): Promise<void> {
  const access = accessTo(host, id);
  const { paths, tree, store } = access;
  const verb = { type: 'vault delete', object: `vault/${id}`, makesRoom: true, facts: {} };
  await recordedVerb(host, verb, async () => {
    const purpose = 'ctx vault delete';
    const held = new Map<string, number>();
    const unheld = () => forkDirectories(access).filter((name) => !held.has(name));
    try {
      // A fork that is made meanwhile is waited for, too, and not with the vault's lock held.
      for (let isGone = false; !isGone; ) {
        for (const name of unheld()) {
          const fork = await lockFoundFork(tree, paths.fork(name), { wait: true, purpose, what: name });
          if (fork !== undefined) held.set(name, fork.descriptor);
        }
        isGone = await withVaultLock(tree, paths.lock, purpose, () => {
          if (unheld().length > 0) return false;
          throwAway(store, paths.directory);
          return true;
        });
      }
    } finally {
      for (const descriptor of held.values()) closeSync(descriptor);
    }
  });
  await emptyTrashLater(store, tree);
}

/** What a fork shows, written out: a directory that is made for it, or a tar file. */
export function exportFork(
  host: Host,
  request: ForkRequest,
  to: string,
): Promise<{ readonly problems: readonly Problem[] }> {
  refuseForeignLinks(dirname(to), host.uid);
  return withFork(host, request, 'ctx vault export', async (fork) => ({
    problems: await vaultExport.exportFork(fork, to),
  }));
}

export interface Inspected {
  /** Of the store. */
  readonly format: number;
  readonly vaults: number;
  readonly faults: readonly FoundFault[];
  /** What a repair did, and what it found gone. */
  readonly repaired: readonly { readonly vault: string; readonly what: string }[];
  /** Directories that were thrown away and are not deleted yet. */
  readonly freeing: number;
}

/** Reads every vault of the store; with `repair`, brings back what can be first, and says what was done. */
export async function inspectStore(host: Host, { repair = false } = {}): Promise<Inspected> {
  const ids = vaultIds(host);
  const repaired: { readonly vault: string; readonly what: string }[] = [];
  const faults: FoundFault[] = [];
  for (const id of ids) {
    const access = accessTo(host, id);
    const before = await inspectVault(access);
    if (repair && before.length > 0) {
      const verb = { type: 'repair', object: `vault/${id}`, facts: { faults: before.length } };
      const { repairVault } = await import('../vault/upkeep/repair.js');
      const all = await recordedVerb(
        host,
        verb,
        () => repairVault(access),
        (did) => ({ status: 'ok', facts: { repaired: did } }),
      );
      repaired.push(...all.map((what) => ({ vault: id, what })));
    }
    const left = repair && before.length > 0 ? await inspectVault(access) : before;
    faults.push(...left.map((fault) => ({ ...fault, vault: id })));
  }
  return { format: storeFormat, vaults: ids.length, faults, repaired, freeing: trashCount(host.store) };
}

export interface CollectedVault extends Collected {
  readonly vault: string;
  /** Why nothing was collected in it. */
  readonly fault?: VaultFault | undefined;
}

async function collectVault(access: VaultAccess): Promise<CollectedVault | undefined> {
  const vault = access.id;
  const isThere = () => existsSync(access.paths.meta);
  try {
    if (readVaultMeta(access.paths.meta) === undefined) return undefined;
    return { vault, ...(await collectGarbage(access, new Map(), { sync: true, outputs: true })) };
  } catch (error) {
    // Deleted meanwhile.
    if (hasCode(error, 'ENOENT') && !isThere()) return undefined;
    const { what, where } = faultOf(access, error);
    return { vault, layers: [], busy: [], fault: { what, where } };
  }
}

/** Also where one vault cannot be read: the others are collected, and it is named. */
export async function collectStore(host: Host): Promise<readonly CollectedVault[]> {
  if (host.store.migrated !== undefined)
    (await import('../vault/migration/migrate-store.js')).settleMigration(host.store);
  const found: CollectedVault[] = [];
  for (const id of vaultIds(host)) {
    const collected = await collectVault(accessTo(host, id));
    if (collected !== undefined) found.push(collected);
  }
  dropOldOutputs(storePaths(host.store.directory).runs, host.now().getTime() - liveOutputMilliseconds);
  await emptyTrash(host.store, host.tree);
  return found;
}

export interface StoreFormat {
  readonly store: string;
  readonly format: number;
  /** The format that it was migrated from, as long as that can be taken back. */
  readonly migrated: number | null;
}

/** Whoever opened the store has migrated it already. */
export function formatOf({ store }: Host): StoreFormat {
  return { store: store.directory, format: storeFormat, migrated: store.migrated ?? null };
}

/** The store is one of the older format afterwards, which this program opens only to migrate it again. */
export async function undoMigration({ store }: Host): Promise<StoreFormat> {
  const { undoMigration: undo } = await import('../vault/migration/migrate-store.js');
  return { store: store.directory, format: undo(store.directory), migrated: null };
}

export function flattenFork(
  host: Host,
  request: ForkRequest,
): Promise<{ readonly before: number; readonly after: number }> {
  return withFork(host, request, 'ctx flatten', async (fork) => {
    const before = fork.meta.base.length + fork.meta.deltas.length;
    await flattenTrunk(accessAt(host, request.cwd), true);
    const flat = await flattenDeltas(fork, true);
    await tidy(flat);
    return { before, after: (readVaultMeta(flat.paths.meta)?.trunk.length ?? 0) + flat.meta.deltas.length };
  });
}

export function undoApply(
  host: Host,
  request: ForkRequest,
  asked: UndoRequest = {},
): Promise<Omit<Undone, 'fork'> & { readonly pending: number }> {
  return withFork(host, request, 'ctx apply --undo', async (fork) => {
    const object = objectOf(fork);
    const facts = { origin: fork.vault.origin };
    const verb = { type: 'apply undo', object, durable: true, facts };
    const { fork: after, ...undone } = await recordedVerb(
      host,
      verb,
      (progress) =>
        vaultApply.undoApply(fork, { leaves: asked.leaves, signal: asked.signal, ...both(progress, asked) }),
      // What it left is no step of its.
      (result) => toldSteps({ ...result, steps: result.written }, { left: result.left }),
    );
    await collectInPassing(fork, after);
    return { ...undone, pending: countChanges(await forkChanges(after)) };
  });
}
