/**
 * Vaults, forks, checkpoints. The map of this layer, lowest room first:
 *
 *   tree/     the native walker: scan, copy, diff, compare, merge, apply, delete; which changes meet (clashing)
 *   store/    layout       where things are            store        the directory that holds all vaults
 *             vault-meta   what a vault knows          fork-meta    what a fork knows: its stack of layers, its checkpoints
 *             layer-pool   layers and their trees      locks        one a fork (fork-lock), and a vault's, for short whiles
 *             group        who is at work on a fork    recover      after the machine stopped
 *   migration/  a store of an older format becomes one of this
 *   vault     open, import                              fork-trees   a fork's directories on the disk
 *   git/      what of a repository comes home, and how
 *   forks/    trunk        the person's directory as layers, and their edits to it; roots: further directories
 *             sync, adopt  a fork moves onto a newer trunk; where both changed a path, that is a clash
 *             checkpoint   save, roll back             forks        make, list, delete
 *             changes      what a fork changes         state-digest what a fork holds, as one digest
 *             flatten      few layers of many
 *   apply/    apply        write it back               undo-apply   take that back
 *             sensitive    which of it programs outside would run or obey
 *   upkeep/   gc, fsck     layers that no one names; whether all is whole
 *
 * A fork's state is changed by one process at a time, which has it locked; who is at work on it is in its group, and shares one
 * live layer. Layers are frozen: once named among a stack's layers a layer never changes. Imports only `base`.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { syncDirectory } from '../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { unaskedBytes, unaskedFiles } from '../base/limits/store.js';
import { makeDurableDirectory } from '../base/make-directory.js';
import { type ForkLock, lockInTurn } from './store/fork-lock.js';
import { type ForkMeta, isSuspect, readForkMeta, writeForkMeta } from './store/fork-meta.js';
import { importLayer, type UnaskedImport } from './store/import-layer.js';
import { knowRoot, knowRoots } from './store/known-roots.js';
import { makeLayer, type Owner } from './store/layer-pool.js';
import { type ForkPaths, mainFork, storeFormat, vaultId, vaultPaths, workspaceRoot } from './store/layout.js';
import { lockWith, takeFreeLock, takeLock, withVaultLock } from './store/locks.js';
import { LookAhead } from './store/look-ahead.js';
import { noSuchFork, refuseLostLayers } from './store/lost-fork.js';
import type { Store } from './store/store.js';
import { discard, resumeEmptying, throwAway } from './store/trash.js';
import { lookAtRoot } from './store/trunk-look.js';
import { linkOrigin } from './store/uncopied.js';
import type { VaultAccess } from './store/vault-access.js';
import {
  isForkName,
  isSuspectVault,
  readVaultMeta,
  type VaultLimits,
  type VaultMeta,
  writeVaultMeta,
} from './store/vault-meta.js';
import type { Worker } from './store/worker-file.js';
import type { Drift, Problem, Progress, Tree } from './tree/tree.js';

export type { Owner } from './store/layer-pool.js';
export type { VaultAccess } from './store/vault-access.js';

export interface VaultRequest {
  readonly store: Store;
  readonly tree: Tree;
  readonly origin: string;
  readonly owner: Owner;
  /** The fork; without one, the one in use. */
  readonly fork?: string | undefined;
  /** Wait until no one is at work on the fork, instead of refusing. */
  readonly wait?: boolean;
  /** Told for whom it waits, where that takes a while. */
  readonly onWait?: ((what: string) => void) | undefined;
  /** Or go on beside the commands at work: `others` says who. */
  readonly beside?: boolean | undefined;
  /** Refuse where another process has the fork's lock briefly, instead of waiting. */
  readonly atOnce?: boolean | undefined;
  /** Look at the origin on the way, for `syncFork`: cheaper than looking later. */
  readonly look?: boolean;
  /** Such a look that began before. */
  readonly ahead?: LookAhead | undefined;
  /** Who is asking: shown to the next one who finds the fork in use. */
  readonly purpose: string;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Of a vault that is made by this. */
  readonly vaultName?: string | undefined;
  readonly limits?: VaultLimits | undefined;
  /** Such a vault keeps no copy of the directory. */
  readonly uncopied?: boolean | undefined;
  /** Nobody asked for the import of a directory that is seen for the first time. */
  readonly unasked?: UnaskedImport | undefined;
  /** A fork whose state cannot be read starts afresh: for the process that is about to forget it anyway. */
  readonly afresh?: boolean | undefined;
  /** Nothing of the fork is changed: a migration of the store can still be taken back. */
  readonly onlyLooks?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenFork extends VaultAccess {
  readonly name: string;
  readonly place: ForkPaths;
  readonly lockDescriptor: number;
  /** To be let go while a command runs; missing where the fork is only read. */
  readonly lock?: ForkLock | undefined;
  /** Who is at work on it; no one, unless it was opened beside them. */
  readonly others: readonly Worker[];
  readonly dead: readonly Worker[];
  unlock(): void;
  readonly vault: VaultMeta;
  readonly meta: ForkMeta;
  /** True when the directory was imported just now: there is nothing to sync. */
  readonly imported: boolean;
  /** What the workspace changed since it was last looked at, where the request wanted to know. */
  readonly drift?: readonly Drift[] | undefined;
  /** Entries that could not be imported: sockets, devices, what may not be read. */
  readonly problems: readonly Problem[];
  /** What opening it found lost, and what is left. */
  readonly warnings?: readonly string[] | undefined;
}

export function vaultAccess({
  store,
  tree,
  origin,
  owner,
}: Pick<VaultRequest, 'store' | 'tree' | 'origin' | 'owner'>): VaultAccess {
  const id = vaultId(origin);
  return { id, paths: vaultPaths(store.directory, id), store, tree, owner };
}

async function importOrigin(request: VaultRequest, access: VaultAccess): Promise<[VaultMeta, readonly Problem[]]> {
  const { tree, origin, store } = request;
  const { paths } = access;
  for (const directory of [paths.layers, paths.forks, paths.scans, paths.allEdits]) {
    throwAway(store, directory); // of an import that did not reach its end
    mkdirSync(directory, { mode: 0o700 });
  }
  try {
    const uncopied = request.uncopied === true;
    const known = { [workspaceRoot]: knowRoot(tree, origin) };
    const { layer, problems } = uncopied
      ? { layer: await linkOrigin(access, origin, request.signal), problems: [] }
      : await importLayer(access, workspaceRoot, origin, request);
    const meta: VaultMeta = {
      format: storeFormat,
      origin,
      created: new Date().toISOString(),
      roots: { [workspaceRoot]: origin },
      known,
      trunk: [layer],
      position: 0,
      current: mainFork,
      ...(request.vaultName === undefined ? {} : { name: request.vaultName }),
      ...(request.limits === undefined ? {} : { limits: request.limits }),
      ...(uncopied ? { uncopied } : {}),
    };
    // Before anything names it: a vault that is there is whole.
    await tree.sync(store.directory);
    writeFork(access, mainFork, newForkMeta(access, mainFork, { position: 0, base: [layer], deltas: [] }), true);
    writeVaultMeta(paths.meta, meta);
    // What is in the trash is of others: where it cannot be emptied, the vault is there all the same.
    await resumeEmptying(store, tree);
    return [meta, problems];
  } catch (error) {
    // First, since it names what goes: it may be there although its write has failed.
    rmSync(paths.meta, { force: true });
    await discard(store, tree, [paths.layers, paths.forks]);
    throw error;
  }
}

export function newForkMeta(
  { paths }: VaultAccess,
  name: string,
  stack: Pick<ForkMeta, 'position' | 'base' | 'deltas'>,
  more: Partial<Pick<ForkMeta, 'from' | 'clashes'>> = {},
): ForkMeta {
  return {
    format: storeFormat,
    created: new Date().toISOString(),
    clashes: [],
    ...more,
    position: stack.position,
    base: stack.base,
    deltas: stack.deltas,
    live: makeLayer(paths, { fork: name }),
    checkpoints: [],
    nextCheckpoint: 1,
  };
}

/** A fork that is new: by its name and its own layer it is there after a power cut, also where what it stands on is not `durable` yet. */
export function writeFork({ paths }: VaultAccess, name: string, meta: ForkMeta, durable: boolean): void {
  const { directory } = paths.fork(name);
  syncDirectory(paths.layer(meta.live));
  syncDirectory(paths.layers);
  makeDurableDirectory(directory);
  writeForkMeta(directory, meta, { durable, isKept: true });
}

/** The fork's new state, on disk and in hand. */
export function withMeta(fork: OpenFork, meta: ForkMeta, options: { readonly durable: boolean }): OpenFork {
  writeForkMeta(fork.place.directory, meta, options);
  return { ...fork, meta };
}

function checkedMeta(access: VaultAccess, origin: string): VaultMeta | undefined {
  const found = readVaultMeta(access.paths.meta);
  if (found === undefined) return found;
  if (found.origin === origin) {
    knowRoots(access.tree, found.roots, found.known);
    return found;
  }
  throw new ErrnoError('EIO', {
    operation: 'open the vault',
    path: access.paths.meta,
    reason: `expected ${origin}, found ${found.origin}`,
  });
}

function lockFork(request: VaultRequest, access: VaultAccess, name: string, isInUse: boolean) {
  const { tree, origin, signal, purpose } = request;
  const place = access.paths.fork(name);
  if (!existsSync(place.directory)) throw noSuchFork(name, origin, isInUse);
  const options = {
    wait: request.atOnce !== true,
    beside: request.beside === true,
    waitForCommands: request.wait === true,
    onWait: request.onWait,
    purpose,
    what: origin,
    signal,
    // One that is deleted meanwhile is not made again by its lock.
    again: true,
  };
  const locked = lockInTurn(tree, place, options, async () => {
    if (request.look !== true) return { descriptor: await takeLock(tree, place.lock, options), taken: undefined };
    if ((await request.ahead?.foundNothing()) === true) {
      const descriptor = await takeFreeLock(tree, place.lock, options);
      if (descriptor !== undefined) return { descriptor, taken: [] };
    }
    const look = { access, key: workspaceRoot, path: origin, into: place.scanned(workspaceRoot), signal };
    return lockWith(place.lock, options, (lock) => lookAtRoot({ ...look, lock }));
  });
  return locked.catch((error: unknown) => {
    throw hasCode(error, 'ENOENT') && !existsSync(place.directory) ? noSuchFork(name, origin) : error;
  });
}

/**
 * Begins the look that opening a fork of `origin` makes on the way; undefined where there is nothing to look at, or something is wrong,
 * which opening it says.
 */
export function lookAhead(request: Pick<VaultRequest, 'store' | 'tree' | 'origin' | 'owner'>): LookAhead | undefined {
  const access = vaultAccess(request);
  try {
    return checkedMeta(access, request.origin) === undefined ? undefined : new LookAhead(access, request.origin);
  } catch (error) {
    if (error instanceof ErrnoError) return undefined;
    throw error;
  }
}

/** A store of an earlier version, or of an earlier start of the machine, learns which directories its roots are. */
async function recordRoots({ tree, paths, store }: VaultAccess, { roots, known }: VaultMeta): Promise<void> {
  // While a migration can be taken back nothing is written but by the command that settles it.
  if (store.migrated !== undefined || knowRoots(tree, roots, known) === undefined) return;
  await withVaultLock(tree, paths.lock, 'recording which directories its roots are', () => {
    const meta = readVaultMeta(paths.meta);
    const news = meta === undefined ? undefined : knowRoots(tree, meta.roots, meta.known);
    if (meta !== undefined && news !== undefined) writeVaultMeta(paths.meta, { ...meta, known: news });
  });
}

export interface Imported {
  readonly vault: VaultMeta;
  /** What the import could not take; undefined where the directory had a vault already, or somebody else was quicker. */
  readonly problems: readonly Problem[] | undefined;
}

/** Imports a directory that is seen for the first time. No fork is locked: its commands may go on. */
export async function importVault(request: VaultRequest): Promise<Imported> {
  const access = vaultAccess(request);
  const found = checkedMeta(access, request.origin);
  if (found !== undefined) {
    await recordRoots(access, found);
    return { vault: found, problems: undefined };
  }
  try {
    return await withVaultLock(request.tree, access.paths.lock, request.purpose, async () => {
      const other = checkedMeta(access, request.origin);
      if (other !== undefined) return { vault: other, problems: undefined };
      const [vault, problems] = await importOrigin(request, access);
      return { vault, problems };
    });
  } catch (error) {
    throw fromSystemError(error, 'open the vault', request.origin);
  }
}

/** Locks a fork of `origin`; imports the directory when it is seen for the first time. */
export async function openFork(request: VaultRequest): Promise<OpenFork> {
  const { vault, problems } = await importVault({
    unasked: { mostBytes: unaskedBytes, mostFiles: unaskedFiles },
    ...request,
  });
  const more = problems === undefined ? {} : { imported: true, problems };
  return openIn(vaultAccess(request), request, vault.current, more);
}

async function openIn(
  access: VaultAccess,
  request: VaultRequest,
  current: string,
  { imported = false, problems = [] }: Partial<Pick<OpenFork, 'imported' | 'problems'>>,
): Promise<OpenFork> {
  const { origin, fork: name = current, look = false } = request;
  // It becomes a part of paths, and its lock would be made wherever they lead.
  if (!isForkName(name)) throw noSuchFork(name, origin);
  const isInUse = name === current;
  const locked = await lockFork({ ...request, look: look && !imported }, access, name, isInUse);
  const { descriptor: lockDescriptor, lock, others, dead, taken: drift } = locked;
  const place = access.paths.fork(name);
  const unlock = () => lock.letGo();
  try {
    // Read after the scan, so that the trunk is at least as new as the signatures the scan was held against.
    const found = checkedMeta(access, origin);
    if (found === undefined) throw noSuchFork(name, origin);
    // Seldom, and not cheap: the machine has stopped since.
    const isLost = isSuspectVault(found);
    const vault = isLost ? ((await (await import('./store/recover.js')).recoverVault(access)) ?? found) : found;
    const { meta, warnings } = await metaToUse(access, request, name, place, vault);
    if (meta === undefined) throw noSuchFork(name, origin, isInUse);
    // What forgets the fork does not need them.
    if (request.afresh !== true) refuseLostLayers(access, name, meta);
    const seen = isLost ? undefined : drift;
    const group = { lock, others, dead, unlock };
    if (access.store.migrated !== undefined && request.onlyLooks !== true)
      (await import('./migration/migrate-store.js')).settleMigration(access.store);
    await resumeEmptying(access.store, access.tree);
    const more = { lockDescriptor, vault, meta, imported, drift: seen, problems, warnings };
    return { ...access, ...group, name, place, ...more };
  } catch (error) {
    unlock();
    throw fromSystemError(error, 'open the fork', origin);
  }
}

/** What the fork goes on with; after the machine stopped, what is whole of it. */
async function metaToUse(
  access: VaultAccess,
  request: VaultRequest,
  name: string,
  place: ForkPaths,
  vault: VaultMeta,
): Promise<{ readonly meta: ForkMeta | undefined; readonly warnings: readonly string[] }> {
  try {
    if (isSuspect(place.directory)) return await (await import('./store/recover.js')).recoverFork(access, name, place);
    return { meta: readForkMeta(place.directory), warnings: [] };
  } catch (error) {
    if (request.afresh !== true || !hasCode(error, 'EIO')) throw error;
    const stack = { position: vault.position, base: vault.trunk, deltas: [] };
    const meta = newForkMeta(access, name, stack);
    writeFork(access, name, meta, true);
    return { meta, warnings: [`fork '${name}' could not be read: it starts afresh`] };
  }
}

/** As openFork, but never imports: undefined where the directory has no vault yet. */
export async function openExistingFork(request: VaultRequest): Promise<OpenFork | undefined> {
  const access = vaultAccess(request);
  const found = checkedMeta(access, request.origin);
  if (found === undefined) return undefined;
  await recordRoots(access, found);
  return openIn(access, request, found.current, {});
}

/**
 * A fork as its state is written now, without its lock: only to be read. Its live layer may be mounted and written
 * meanwhile, and a layer may go; anyone who reads looks whether the state is still the same afterwards. Undefined where
 * there is no vault.
 */
export function forkToRead(request: VaultRequest): OpenFork | undefined {
  const access = vaultAccess(request);
  const vault = checkedMeta(access, request.origin);
  if (vault === undefined) return undefined;
  const { origin, fork: name = vault.current } = request;
  if (!isForkName(name)) throw noSuchFork(name, origin);
  const place = access.paths.fork(name);
  const meta = readForkMeta(place.directory);
  if (meta === undefined) throw noSuchFork(name, origin);
  const group = { others: [], dead: [], unlock: () => undefined };
  return { ...access, ...group, name, place, lockDescriptor: -1, vault, meta, imported: false, problems: [] };
}

/** Throws what opening it would; where there is no vault yet, opening it makes one with a fork. */
export function assertFork(request: Omit<VaultRequest, 'purpose'> & { readonly fork: string }): void {
  const { fork, origin } = request;
  const found = forkToRead({ ...request, purpose: 'look at a fork' });
  if (found === undefined && fork !== mainFork) throw noSuchFork(fork, origin);
}

export function closeFork(fork: OpenFork): void {
  fork.unlock();
}
