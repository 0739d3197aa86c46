/**
 * Where things stand in the store. Pure functions of names: nothing else in the code joins store paths.
 *
 *   STORE/meta.json                     format and overlay profile; another one is refused
 *   STORE/record/                       the record's chains (src/audit/layout.ts)
 *   STORE/vault/ID/meta.json            origin, layers, what is pending
 *   STORE/vault/ID/lock                 held (flock) by whoever uses the vault
 *   STORE/vault/ID/origin.scan          signatures of the origin when it was last looked at
 *   STORE/vault/ID/layer/N/             frozen trees, layer 0 the import
 *   STORE/vault/ID/fork/NAME/upper/     the fork's delta; work/ beside it is the kernel's, home/ the private home
 *   STORE/vault/ID/fork/git-index/      as a fork, while the imported git index is refreshed
 *   STORE/session/KEY/FORK.socket       of a live session, with FORK.json: who keeps it
 *   STORE/trash/                        renamed here, then deleted
 */
import { join } from 'node:path';
import { sha256 } from '../base/sha256.js';

/** A directory's vault is found by its path alone, so that no index has to be kept true. */
export function vaultId(origin: string): string {
  return sha256(origin).slice(0, 16);
}

export interface ForkPaths {
  readonly directory: string;
  readonly upper: string;
  readonly work: string;
  readonly home: string;
  /** The change list as of the last command's end. */
  readonly changes: string;
}

export interface VaultPaths {
  readonly directory: string;
  readonly meta: string;
  readonly lock: string;
  readonly scan: string;
  /** A newer scan that has not been acted on yet. */
  readonly scanned: string;
  readonly layers: string;
  layer(name: string): string;
  readonly fork: ForkPaths;
  /** A delta that will become a layer, made by refreshing the git index. */
  readonly gitIndex: ForkPaths;
}

export const forkName = 'main';

export function storePaths(store: string) {
  return {
    meta: join(store, 'meta.json'),
    record: join(store, 'record'),
    vaults: join(store, 'vault'),
    sessions: join(store, 'session'),
    trash: join(store, 'trash'),
  } as const;
}

function forkPaths(directory: string): ForkPaths {
  return {
    directory,
    upper: join(directory, 'upper'),
    work: join(directory, 'work'),
    home: join(directory, 'home'),
    changes: join(directory, 'changes.json'),
  };
}

export function vaultPaths(store: string, id: string): VaultPaths {
  const directory = join(store, 'vault', id);
  return {
    directory,
    meta: join(directory, 'meta.json'),
    lock: join(directory, 'lock'),
    scan: join(directory, 'origin.scan'),
    scanned: join(directory, 'origin.scan.next'),
    layers: join(directory, 'layer'),
    layer: (name) => join(directory, 'layer', name),
    fork: forkPaths(join(directory, 'fork', forkName)),
    gitIndex: forkPaths(join(directory, 'fork', 'git-index')),
  };
}
