/**
 * Forks by name, of the trunk, of other forks and of their checkpoints, to any depth. A fork is a name and a stack: its layers
 * are its parent's, shared, so making one costs the same whatever it holds. The parent may be in use meanwhile.
 */
import { closeSync, existsSync, readdirSync } from 'node:fs';
import { ErrnoError, hasCode, isFull } from '../../base/errno.js';
import { lockFoundFork, lockQuietFork } from '../store/fork-lock.js';
import { type ForkMeta, readableForkMeta, readForkMeta, type Stack, writeForkMeta } from '../store/fork-meta.js';
import { makeLayer, rootsOf, treesOf } from '../store/layer-pool.js';
import { mainFork } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { readVersions } from '../store/state-file.js';
import { discard, emptyTrash, throwAway, throwAwayContents } from '../store/trash.js';
import { isForkName, readVaultMeta, type VaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import type { Problem } from '../tree/tree.js';
import { newForkMeta, type OpenFork, type VaultAccess, writeFork } from '../vault.js';
import { findCheckpoint, frozen } from './checkpoint.js';

export interface ForkSummary {
  readonly name: string;
  readonly current: boolean;
  readonly created: string;
  readonly from?: string | undefined;
  readonly layers: number;
  readonly checkpoints: number;
}

/** Also those whose state cannot be read. */
export function forkDirectories({ paths }: VaultAccess): readonly string[] {
  return existsSync(paths.forks) ? readdirSync(paths.forks).filter(isForkName).sort() : [];
}

export function forkNames(access: VaultAccess): readonly string[] {
  return forkDirectories(access).filter((name) => readableForkMeta(access.paths.fork(name).directory) !== undefined);
}

export function existingVault({ paths }: VaultAccess): VaultMeta {
  const vault = readVaultMeta(paths.meta);
  if (vault !== undefined) return vault;
  throw new ErrnoError('ENOENT', {
    operation: 'open the vault',
    path: paths.directory,
    reason: 'this directory has no vault yet',
    remedy: 'ctx exec -- COMMAND or ctx vault create makes one',
  });
}

/** With the lock of a vault that is there: one that is deleted meanwhile is not made again by its lock. */
function inVault<T>(access: VaultAccess, purpose: string, act: (vault: VaultMeta) => Promise<T> | T): Promise<T> {
  existingVault(access);
  const { tree, paths } = access;
  return withVaultLock(tree, paths.lock, purpose, () => act(existingVault(access)), { again: true });
}

const noSuchFork = (name: string) =>
  new ErrnoError('ENOENT', {
    operation: 'find the fork',
    reason: `there is no fork '${name}' here`,
    remedy: 'ctx fork list shows them',
  });

function existingFork({ paths }: VaultAccess, name: string): ForkMeta {
  const meta = isForkName(name) ? readForkMeta(paths.fork(name).directory) : undefined;
  if (meta === undefined) throw noSuchFork(name);
  return meta;
}

export function listForks(access: VaultAccess): readonly ForkSummary[] {
  const { current } = existingVault(access);
  return forkNames(access).map((name) => {
    const { created, from, base, deltas, checkpoints } = existingFork(access, name);
    const layers = base.length + deltas.length;
    return { name, current: name === current, created, from, layers, checkpoints: checkpoints.length };
  });
}

/** What stands for the person's directory where a fork is named to start from. */
export const originName = 'origin';

/** Where a new fork starts: `trunk` is the person's directory as it is known. */
export type ForkSource = 'trunk' | { readonly fork: string; readonly checkpoint?: string | undefined };

interface Origin extends Stack {
  readonly clashes: readonly string[];
  readonly from?: string | undefined;
  readonly problems: readonly Problem[];
}

/** A fork that somebody is using right now: its live layer is copied as it is, since a mount is writing to it. */
async function copyOfLive(access: VaultAccess, meta: ForkMeta, child: string): Promise<[Stack, readonly Problem[]]> {
  const { paths, tree } = access;
  const { position, base, deltas } = meta;
  const roots = rootsOf(paths, meta.live);
  // Nobody has mounted it yet: a layer without a tree would count as one that has lost it.
  if (roots.length === 0) return [{ position, base, deltas }, []];
  const layer = makeLayer(paths, { fork: child });
  const problems: Problem[] = [];
  for (const key of roots) {
    const layers = treesOf(paths, [meta.live], key);
    for (const each of await tree.merge({ layers, into: paths.tree(layer, key), copies: true })) problems.push(each);
  }
  return [{ position, base, deltas: [...deltas, layer] }, problems];
}

/** What a fork stands for right now. Its live layer is frozen where its lock says that nothing is mounted. */
async function originOf(
  access: VaultAccess,
  vault: VaultMeta,
  source: Exclude<ForkSource, 'trunk'>,
  child: string,
): Promise<Origin> {
  const { paths, tree } = access;
  const { fork: name, checkpoint } = source;
  const place = paths.fork(name);
  if (checkpoint !== undefined) {
    const found = findCheckpoint({ meta: existingFork(access, name), name }, checkpoint);
    return { ...found, from: `${name}@${found.name ?? found.id}`, problems: [] };
  }
  if (!isForkName(name) || !existsSync(place.directory)) existingFork(access, name);
  try {
    const options = { wait: false, purpose: `ctx fork create ${child}`, what: name };
    const { descriptor } = await lockQuietFork(tree, place, options);
    try {
      const parent: OpenFork = {
        ...access,
        name,
        place,
        lockDescriptor: descriptor,
        others: [],
        dead: [],
        unlock: () => closeSync(descriptor),
        vault,
        meta: existingFork(access, name),
        imported: false,
        problems: [],
      };
      const meta = frozen(parent);
      if (meta !== parent.meta) writeForkMeta(place.directory, meta, { durable: false });
      return { ...meta, from: name, problems: [] };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (!hasCode(error, 'EBUSY')) throw error;
    const meta = existingFork(access, name);
    const [stack, problems] = await copyOfLive(access, meta, child);
    return { ...stack, clashes: meta.clashes, from: name, problems };
  }
}

export interface MadeFork {
  readonly name: string;
  readonly meta: ForkMeta;
  readonly problems: readonly Problem[];
}

function freeName(access: VaultAccess): string {
  const taken = new Set(forkDirectories(access));
  for (let number = 1; ; number += 1) if (!taken.has(`fork-${number}`)) return `fork-${number}`;
}

export async function createFork(
  access: VaultAccess,
  wanted: string | undefined,
  source: ForkSource,
): Promise<MadeFork> {
  const { paths } = access;
  return inVault(access, 'ctx fork create', async (vault) => {
    const name = wanted ?? freeName(access);
    if (!isForkName(name) || name === originName) {
      const expected =
        name === originName ? 'another name than that of your directory' : 'a name that begins with a letter or digit';
      throw new ErrnoError('EINVAL', {
        operation: 'make a fork',
        reason: `expected ${expected}, got '${name}'`,
        remedy: 'letters, digits and . _ + - are fine, up to 64 of them',
      });
    }
    const { whole, damaged } = readVersions(paths.fork(name).directory);
    if (whole.length + damaged.length > 0) {
      const isLost = readableForkMeta(paths.fork(name).directory) === undefined;
      throw new ErrnoError('EEXIST', {
        operation: 'make a fork',
        reason: `there is a fork '${name}' already${isLost ? ', whose state is damaged' : ''}`,
        remedy: `ctx fork use ${name} works on it, ctx fork delete ${name} deletes it`,
      });
    }
    const origin: Origin =
      source === 'trunk'
        ? { position: vault.position, base: vault.trunk, deltas: [], clashes: [], problems: [] }
        : await originOf(access, vault, source, name);
    const { from, clashes } = origin;
    const meta = newForkMeta(access, name, origin, { ...(from === undefined ? {} : { from }), clashes });
    writeFork(access, name, meta, false);
    return { name, meta, problems: origin.problems };
  });
}

/** The fork of commands that name none. */
export async function useFork(access: VaultAccess, name: string): Promise<void> {
  return inVault(access, 'ctx fork use', (vault) => {
    existingFork(access, name);
    writeVaultMeta(access.paths.meta, { ...vault, current: name }, { durable: true });
  });
}

/** The name goes at once; its layers go with the next `collectGarbage`, unless other forks are on them. */
export async function deleteFork(access: VaultAccess, name: string): Promise<void> {
  const { paths, tree, store } = access;
  if (name === mainFork) {
    throw new ErrnoError('EINVAL', {
      operation: 'delete the fork',
      reason: `'${mainFork}' is the fork that is always there`,
      remedy: 'ctx drop discards its changes',
    });
  }
  if (!isForkName(name) || !existsSync(paths.fork(name).directory)) existingFork(access, name);
  const purpose = `ctx fork delete ${name}`;
  const found = await lockFoundFork(tree, paths.fork(name), { wait: true, purpose, what: name });
  if (found === undefined) throw noSuchFork(name);
  try {
    await withVaultLock(tree, paths.lock, purpose, () => {
      const vault = existingVault(access);
      if (vault.current === name) writeVaultMeta(paths.meta, { ...vault, current: mainFork }, { durable: true });
      throwAway(store, paths.fork(name).directory);
    });
  } finally {
    closeSync(found.descriptor);
  }
}

function dropped(fork: OpenFork): OpenFork {
  const { place, vault } = fork;
  const stack = { position: vault.position, base: vault.trunk, deltas: [] };
  const { created, from } = fork.meta;
  const meta = { ...newForkMeta(fork, fork.name, stack, { from }), created };
  // Synced, since what was there goes now: nothing of it may be gone back to.
  writeForkMeta(place.directory, meta, { durable: true });
  return { ...fork, meta };
}

/** As if no command had run in it: no changes, no checkpoints, an empty home and `/tmp`, no caches. On a full disk room is made first. */
export async function dropFork(fork: OpenFork): Promise<OpenFork> {
  const { store, place, paths, meta, tree } = fork;
  let after: OpenFork;
  try {
    after = dropped(fork);
  } catch (error) {
    if (!isFull(error)) throw error;
    const written = rootsOf(paths, meta.live).map((key) => paths.tree(meta.live, key));
    await discard(store, tree, [place.home, place.temporary, place.caches, ...written]);
    await emptyTrash(store, tree);
    after = dropped(fork);
  }
  for (const directory of [place.caches, place.runs]) throwAway(store, directory);
  for (const directory of [place.home, place.temporary]) throwAwayContents(store, directory);
  return after;
}
