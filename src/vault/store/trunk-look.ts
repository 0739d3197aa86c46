/** A look at a directory of the person: what changed since the trunk last took it over. Native, and once a command. */
import type { Drift, KnownTrees, WalkerLock } from '../tree/tree.js';
import type { VaultAccess } from './vault-access.js';

export interface RootLook {
  readonly access: VaultAccess;
  /** The root's key and its directory. */
  readonly key: string;
  readonly path: string;
  /** Where the new signatures are put, until the trunk takes the edits over; nowhere, where it only matters whether there are any. */
  readonly into?: string | undefined;
  readonly lock?: WalkerLock | undefined;
  /** What was written there just now, and is no news. */
  readonly known?: KnownTrees | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function lookAtRoot({ access, key, path, into, lock, known, signal }: RootLook): Promise<readonly Drift[]> {
  const { tree, store, paths } = access;
  return tree.scan({
    root: path,
    signatures: into,
    against: paths.scan(key),
    skip: [{ device: store.device, inode: store.inode }],
    lock,
    known,
    signal,
  });
}
