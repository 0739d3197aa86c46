/**
 * Durable points: one `syncfs` of the store, then the states that name what it has put on the disk. Never once a command: at a
 * checkpoint by name, an apply and its undo, the end of a kept jail and its pauses, an import, and before layers are deleted.
 */

import type { ForkMeta } from '../store/fork-meta.js';
import { withVaultLock } from '../store/locks.js';
import { readNewest } from '../store/state-file.js';
import { isSuspectVault, readVaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { type OpenFork, withMeta } from '../vault.js';
import { frozen } from './checkpoint.js';

const isSynced = (directory: string) => readNewest(directory)?.boot === undefined;

/**
 * The trunk too. Nothing is written where all of it is synced. The vault's lock is held. The state becomes `next` when everything is on
 * the disk, and not before: a verb that could not be made durable has failed, and finds what it had begun when it is repeated.
 */
export async function syncLocked(fork: OpenFork, next: ForkMeta = fork.meta): Promise<OpenFork> {
  // What is written into the live layer from here on is not synced: it must not be part of what is.
  const meta = frozen({ ...fork, meta: next });
  const vault = readVaultMeta(fork.paths.meta) ?? fork.vault;
  if (meta === fork.meta && vault.boot === undefined && isSynced(fork.place.directory)) return fork;
  await fork.tree.sync(fork.store.directory);
  const { boot, ...synced } = vault;
  // One of before the machine stopped is not made true by a sync.
  if (boot !== undefined && !isSuspectVault(vault)) writeVaultMeta(fork.paths.meta, synced);
  return withMeta({ ...fork, vault: isSuspectVault(vault) ? vault : synced }, meta, { durable: true });
}

/** The fork's lock is held, and nothing of it is mounted. */
export function syncedFork(fork: OpenFork): Promise<OpenFork> {
  return withVaultLock(fork.tree, fork.paths.lock, 'syncing', () => syncLocked(fork));
}
