/**
 * Vaults, forks, checkpoints. The map of this layer:
 *
 *   layout       where things stand          store        the directory that holds all vaults
 *   vault-meta   what a vault knows          fork-meta    what a fork knows: its stack of layers, its checkpoints
 *   layer-pool   layers and their trees      locks        one a fork, and a vault's for short whiles
 *   vault        open, import                tree         the native walker: scan, copy, diff, compare, merge, apply, delete
 *   trunk        the person's directory as layers, and their edits to it; roots: further directories
 *   sync, adopt  a fork moves onto a newer trunk; where both changed a path, that is a clash
 *   checkpoint   save, roll back             forks        make, list, delete
 *   changes      what a fork changes         sensitive    which of it programs outside would run or obey
 *   apply        write it back               undo-apply   take that back
 *   state-digest what a fork holds, as one digest
 *   flatten, gc, fsck    few layers of many; those that nobody names; whether all is whole
 *
 * A fork is used by one process at a time: it is locked from open to close, and the jail that runs in it holds the same
 * lock. Layers are frozen: once named among a stack's layers a layer never changes. Imports only `base`.
 */
import { closeSync, existsSync, mkdirSync } from 'node:fs';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { type ForkMeta, readForkMeta, writeForkMeta } from './fork-meta.js';
import { importLayer } from './import-layer.js';
import { give, isTouched, makeDirectoryWhole, makeLayer, makeLiveTree, type Owner, treesOf } from './layer-pool.js';
import { type ForkPaths, mainFork, vaultId, vaultPaths, workspaceRoot } from './layout.js';
import { lockWith, takeLock, withVaultLock } from './locks.js';
import type { Store } from './store.js';
import { discard, emptyTrash } from './trash.js';
import type { Drift, Problem, Progress, Tree } from './tree.js';
import { lookAtRoot } from './trunk-look.js';
import { linkOrigin } from './uncopied.js';
import type { VaultAccess } from './vault-access.js';
import { readVaultMeta, storeFormat, type VaultLimits, type VaultMeta, writeVaultMeta } from './vault-meta.js';

export type { Owner } from './layer-pool.js';
export type { VaultAccess } from './vault-access.js';

export interface VaultRequest {
  readonly store: Store;
  readonly tree: Tree;
  readonly origin: string;
  readonly owner: Owner;
  /** The fork; without one, the one in use. */
  readonly fork?: string | undefined;
  /** Wait for another user of the fork to finish instead of refusing. */
  readonly wait?: boolean;
  /** Look at the origin on the way, for `syncFork`: cheaper than looking later. */
  readonly look?: boolean;
  /** Who is asking: shown to the next one who finds the fork in use. */
  readonly purpose: string;
  /** Takes the lock with a descriptor that others share and goes on holding, instead of one that closes with the fork. */
  readonly sharedLock?: SharedLock | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Of a vault that is made by this. */
  readonly vaultName?: string | undefined;
  readonly limits?: VaultLimits | undefined;
  /** Such a vault keeps no copy of the directory. */
  readonly uncopied?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A lock by an open file that a kept jail shares: while either holds it, nobody else does. */
export interface SharedLock {
  readonly descriptor: number;
  /** Throws EBUSY where somebody else holds it. */
  take(purpose: string): void;
  release(): void;
}

export interface OpenFork extends VaultAccess {
  readonly name: string;
  readonly place: ForkPaths;
  readonly lockDescriptor: number;
  unlock(): void;
  readonly vault: VaultMeta;
  readonly meta: ForkMeta;
  /** True when the directory was imported just now: there is nothing to sync. */
  readonly imported: boolean;
  /** What the workspace changed since it was last looked at, where the request wanted to know. */
  readonly drift?: readonly Drift[] | undefined;
  /** Entries that could not be imported: sockets, devices, what may not be read. */
  readonly problems: readonly Problem[];
}

export function vaultAccess({ store, tree, origin, owner }: VaultRequest): VaultAccess {
  const id = vaultId(origin);
  return { id, paths: vaultPaths(store.directory, id), store, tree, owner };
}

async function importOrigin(request: VaultRequest, access: VaultAccess): Promise<[VaultMeta, readonly Problem[]]> {
  const { tree, origin, store } = request;
  const { paths } = access;
  // What an import left that did not reach its end.
  await discard(store, tree, [paths.layers, paths.forks, paths.scans, paths.allEdits]);
  for (const directory of [paths.layers, paths.forks, paths.scans, paths.allEdits])
    mkdirSync(directory, { mode: 0o700 });
  try {
    const uncopied = request.uncopied === true;
    const { layer, problems } = uncopied
      ? { layer: await linkOrigin(access, origin, request.signal), problems: [] }
      : await importLayer(access, workspaceRoot, origin, request);
    const meta: VaultMeta = {
      format: storeFormat,
      origin,
      created: new Date().toISOString(),
      roots: { [workspaceRoot]: origin },
      trunk: [layer],
      position: 0,
      current: mainFork,
      ...(request.vaultName === undefined ? {} : { name: request.vaultName }),
      ...(request.limits === undefined ? {} : { limits: request.limits }),
      ...(uncopied ? { uncopied } : {}),
    };
    writeFork(access, mainFork, newForkMeta(access, mainFork, { position: 0, base: [layer], deltas: [] }), true);
    writeVaultMeta(paths.meta, meta);
    await emptyTrash(store, tree);
    return [meta, problems];
  } catch (error) {
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

export function writeFork({ paths }: VaultAccess, name: string, meta: ForkMeta, durable: boolean): void {
  const { directory } = paths.fork(name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeForkMeta(directory, meta, { durable });
}

/** The fork's new state, on disk and in hand. */
export function withMeta(fork: OpenFork, meta: ForkMeta, options: { readonly durable: boolean }): OpenFork {
  writeForkMeta(fork.place.directory, meta, options);
  return { ...fork, meta };
}

function checkedMeta(access: VaultAccess, origin: string): VaultMeta | undefined {
  const found = readVaultMeta(access.paths.meta);
  if (found === undefined || found.origin === origin) return found;
  throw new ErrnoError('EIO', {
    operation: 'open the vault',
    path: access.paths.meta,
    reason: `expected ${origin}, found ${found.origin}`,
  });
}

function noSuchFork(name: string, origin: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'open the fork',
    path: origin,
    reason: `there is no fork '${name}' of this directory`,
    remedy: 'ctx fork list shows them, ctx fork create makes one',
  });
}

async function lockFork(request: VaultRequest, access: VaultAccess, name: string) {
  const { tree, origin, signal } = request;
  const place = access.paths.fork(name);
  if (!existsSync(place.directory)) throw noSuchFork(name, origin);
  const options = { wait: request.wait ?? false, purpose: request.purpose, what: origin, signal };
  const look = { access, key: workspaceRoot, path: origin, into: place.scanned(workspaceRoot), signal };
  const { sharedLock } = request;
  if (sharedLock !== undefined) {
    sharedLock.take(request.purpose);
    const unlock = () => sharedLock.release();
    return lookedAt({ place, descriptor: sharedLock.descriptor, unlock }, request.look === true, () =>
      lookAtRoot(look),
    );
  }
  if (request.look !== true) {
    const descriptor = await takeLock(tree, place.lock, options);
    return { place, descriptor, unlock: () => closeSync(descriptor), drift: undefined };
  }
  const { descriptor, taken } = await lockWith(place.lock, options, (lock) => lookAtRoot({ ...look, lock }));
  return { place, descriptor, unlock: () => closeSync(descriptor), drift: taken };
}

async function lookedAt<Locked extends { unlock(): void }>(
  locked: Locked,
  wanted: boolean,
  look: () => Promise<readonly Drift[]>,
): Promise<Locked & { drift: readonly Drift[] | undefined }> {
  try {
    return { ...locked, drift: wanted ? await look() : undefined };
  } catch (error) {
    locked.unlock();
    throw error;
  }
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
  if (found !== undefined) return { vault: found, problems: undefined };
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
  const { vault, problems } = await importVault(request);
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
  const { place, descriptor, unlock, drift } = await lockFork({ ...request, look: look && !imported }, access, name);
  try {
    // Read after the scan, so that the trunk is at least as new as the signatures the scan was held against.
    const vault = checkedMeta(access, origin);
    const meta = readForkMeta(place.directory);
    if (vault === undefined || meta === undefined) throw noSuchFork(name, origin);
    return { ...access, name, place, lockDescriptor: descriptor, unlock, vault, meta, imported, drift, problems };
  } catch (error) {
    unlock();
    throw fromSystemError(error, 'open the fork', origin);
  }
}

/** As openFork, but never imports: undefined where the directory has no vault yet. */
export async function openExistingFork(request: VaultRequest): Promise<OpenFork | undefined> {
  const access = vaultAccess(request);
  const found = checkedMeta(access, request.origin);
  return found === undefined ? undefined : openIn(access, request, found.current, {});
}

export function closeFork(fork: OpenFork): void {
  fork.unlock();
}

/** Directories of the frozen layers of one root, topmost first: what lies below the live layer. */
export function frozenTrees({ paths, meta }: Pick<OpenFork, 'paths' | 'meta'>, root: string): string[] {
  return treesOf(paths, [...meta.base, ...meta.deltas], root);
}

/** What a command needs to write one root: made when it is missing. */
export function prepareRoot(fork: OpenFork, root: string): void {
  makeLiveTree(fork.paths, fork.meta.live, root, frozenTrees(fork, root), fork.owner);
}

/** Everything a fork's commands have written, for whoever counts it. */
export function writtenTrees(fork: OpenFork): string[] {
  const layers = [...fork.meta.deltas, fork.meta.live];
  return [...Object.keys(fork.vault.roots).flatMap((root) => treesOf(fork.paths, layers, root)), prepareHome(fork)];
}

/** As much of a fork as says what is in its live layer. */
export type LiveLayer = Pick<OpenFork, 'paths' | 'meta' | 'vault'>;

/** Whether anything was written into the live layer. */
export function isLiveTouched(fork: LiveLayer): boolean {
  const { paths, meta } = fork;
  return Object.keys(fork.vault.roots).some((root) => isTouched(paths.tree(meta.live, root), frozenTrees(fork, root)));
}

/** The private home of the fork's commands. */
export function prepareHome({ place, owner }: OpenFork): string {
  makeDirectoryWhole(place.home, (draft) => give(draft, owner));
  return place.home;
}
