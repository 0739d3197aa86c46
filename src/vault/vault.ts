/**
 * Vaults and their fork. The map of this layer:
 *
 *   layout       where things stand          store       the directory that holds all vaults
 *   vault-meta   what a vault knows          tree        the native walker: scan, copy, diff, compare, apply, delete
 *   vault        open and lock, import       sync        the person's own edits enter below the fork's delta
 *   apply        write the delta back        drop        forget the delta
 *
 * A vault is used by one process at a time: it is locked from open to close, and the jail that runs in its fork holds the
 * same lock. Layers are frozen: once named in `meta.json` a layer never changes. Imports only `base`.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { settleFold } from './fold.js';
import { type ForkPaths, type VaultPaths, vaultId, vaultPaths } from './layout.js';
import type { Store } from './store.js';
import { discard, emptyTrash } from './trash.js';
import type { Drift, LockRequest, Problem, Progress, Tree } from './tree.js';
import { readVaultMeta, type VaultMeta, writeVaultMeta } from './vault-meta.js';

/** Whose files these are. `shift` is added to every owner in the store, because root's jails run shifted. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
  readonly shift: number;
}

export interface VaultRequest {
  readonly store: Store;
  readonly tree: Tree;
  readonly origin: string;
  readonly owner: Owner;
  /** Wait for another user of the vault to finish instead of refusing. */
  readonly wait?: boolean;
  /** Look at the origin on the way, for `syncOrigin`: cheaper than looking later. */
  readonly look?: boolean;
  /** Who is asking: shown to the next one who finds the vault in use. */
  readonly purpose: string;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenVault {
  readonly id: string;
  readonly paths: VaultPaths;
  readonly store: Store;
  readonly tree: Tree;
  readonly owner: Owner;
  readonly lockDescriptor: number;
  readonly meta: VaultMeta;
  /** True when the directory was imported just now: there is nothing to sync. */
  readonly imported: boolean;
  /** What the origin changed since it was last looked at, where the request wanted to know. */
  readonly drift?: readonly Drift[] | undefined;
  /** Entries that could not be imported: sockets, devices, what may not be read. */
  readonly problems: readonly Problem[];
}

interface Locked {
  readonly descriptor: number;
  readonly drift: readonly Drift[] | undefined;
}

/** What changed in the origin since `paths.scan`; the new signatures are beside it until `syncOrigin` adopts them. */
export function lookAtOrigin(request: Looking, lock?: LockRequest): Promise<readonly Drift[]> {
  const { tree, store, origin, paths } = request;
  return tree.scan({
    root: origin,
    signatures: paths.scanned,
    against: paths.scan,
    skip: [{ device: store.device, inode: store.inode }],
    lock,
    signal: request.signal,
  });
}

interface Looking {
  readonly tree: Tree;
  readonly store: Store;
  readonly origin: string;
  readonly paths: VaultPaths;
  readonly signal?: AbortSignal | undefined;
}

async function lock(request: VaultRequest, paths: VaultPaths): Promise<Locked> {
  mkdirSync(paths.directory, { recursive: true, mode: 0o700 });
  const descriptor = openSync(paths.lock, 'a+', 0o600);
  try {
    const wanted = { descriptor, wait: request.wait ?? false };
    const look = request.look === true && existsSync(paths.meta);
    const drift = look ? await lookAtOrigin({ ...request, paths }, wanted) : undefined;
    if (!look) await request.tree.lock(wanted, { signal: request.signal });
    ftruncateSync(descriptor);
    writeSync(descriptor, `${process.pid} ${request.purpose}`);
    return { descriptor, drift };
  } catch (error) {
    closeSync(descriptor);
    if (!hasCode(error, 'EBUSY')) throw error;
    const [pid = '?', ...purpose] = readFileSync(paths.lock, 'utf8').split(' ');
    throw new ErrnoError('EBUSY', {
      operation: 'open the fork',
      path: request.origin,
      reason: `process ${pid} is using it: ${purpose.join(' ')}`,
      remedy: 'wait for it to end, or pass --wait',
    });
  }
}

/** Makes what is missing of a fork. The delta's own mode and owner are what the workspace's top directory shows. */
export function makeEmptyFork(fork: ForkPaths, origin: string, owner: Owner): void {
  for (const directory of [fork.upper, fork.work, fork.home]) {
    if (mkdirSync(directory, { recursive: true, mode: 0o700 }) === undefined) continue;
    if (directory === fork.upper) chmodSync(directory, statSync(origin).mode & 0o1777);
    if (owner.shift > 0) chownSync(directory, owner.uid + owner.shift, owner.gid + owner.shift);
  }
}

async function importOrigin(request: VaultRequest, paths: VaultPaths): Promise<readonly Problem[]> {
  const { tree, origin, owner, store } = request;
  // What an import left that did not reach its end.
  await discard(store, tree, [paths.layers, paths.fork.directory]);
  mkdirSync(paths.layers, { mode: 0o700 });
  try {
    const problems = await tree.copy({
      root: origin,
      destination: paths.layer('0'),
      signatures: paths.scan,
      shift: owner.shift,
      skip: [{ device: store.device, inode: store.inode }],
      onProgress: request.onProgress,
      signal: request.signal,
    });
    makeEmptyFork(paths.fork, origin, owner);
    return problems;
  } catch (error) {
    await discard(store, tree, [paths.layers]);
    throw error;
  }
}

/** Locks the vault of `origin`; imports the directory when it is seen for the first time. */
export async function openVault(request: VaultRequest): Promise<OpenVault> {
  const { store, tree, origin, owner } = request;
  const id = vaultId(origin);
  const paths = vaultPaths(store.directory, id);
  const { descriptor: lockDescriptor, drift } = await lock(request, paths);
  try {
    const opened = { id, paths, store, tree, owner, lockDescriptor };
    const found = readVaultMeta(paths.meta);
    if (found !== undefined) {
      if (found.origin !== origin) {
        throw new ErrnoError('EIO', {
          operation: 'open the vault',
          path: paths.meta,
          reason: `expected ${origin}, found ${found.origin}`,
        });
      }
      const meta = settleFold(paths, found);
      makeEmptyFork(paths.fork, origin, owner);
      return { ...opened, meta, imported: false, drift, problems: [] };
    }
    const problems = await importOrigin(request, paths);
    const meta: VaultMeta = {
      format: 1,
      origin,
      created: new Date().toISOString(),
      layers: ['0'],
      nextLayer: 1,
      clashes: [],
    };
    writeVaultMeta(paths.meta, meta);
    await emptyTrash(store, tree);
    return { ...opened, meta, imported: true, problems };
  } catch (error) {
    closeSync(lockDescriptor);
    throw fromSystemError(error, 'open the vault', origin);
  }
}

/** As openVault, but never imports: undefined where the directory has no vault yet. */
export async function openExistingVault(request: VaultRequest): Promise<OpenVault | undefined> {
  const paths = vaultPaths(request.store.directory, vaultId(request.origin));
  return readVaultMeta(paths.meta) === undefined ? undefined : openVault(request);
}

export function closeVault(vault: OpenVault): void {
  closeSync(vault.lockDescriptor);
}

/** Directories of the frozen layers, topmost first, as the walker and the overlay want them. */
export function layersFromTop(vault: OpenVault): string[] {
  return vault.meta.layers.map((name) => vault.paths.layer(name)).reverse();
}
