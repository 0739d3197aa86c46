/**
 * A vault of a tree that is too large to copy: a link to the person's own directory is where the copy would. Weaker, by
 * choice: an edit shows in every fork at once, also in the middle of a command, and a checkpoint does not hold what the
 * person had. So the directory is looked at before and after each command, and what changed is reported
 * (`proxy/report/drift-warnings`).
 */
import { symlinkSync } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';
import { makeLayer } from './layer-pool.js';
import { workspaceRoot } from './layout.js';
import type { VaultAccess } from './vault-access.js';

function refuseWhereItCannotBe({ owner, store }: VaultAccess, origin: string): void {
  const operation = 'make a vault without a copy';
  if (owner.shift > 0) {
    const reason = 'root cannot use --no-copy: its commands run with shifted owners, which only a copy can have so far';
    const remedy =
      owner.uid > 0
        ? `run ctx as its owner: setpriv --reuid ${owner.uid} --regid ${owner.gid} --init-groups ctx ..., or leave out --no-copy`
        : 'leave out --no-copy, or give the directory to a user of its own and run ctx as that one';
    throw new ErrnoError('ENOTSUP', { operation, path: origin, reason, remedy });
  }
  if (store.directory.startsWith(origin === '/' ? '/' : `${origin}/`)) {
    const reason = `expected a directory that does not hold the store (${store.directory})`;
    throw new ErrnoError('EINVAL', { operation, path: origin, reason, remedy: 'CTX_DATA names another place for it' });
  }
}

/** The layer that shows the directory itself; its signatures are those of now. */
export async function linkOrigin(access: VaultAccess, origin: string, signal?: AbortSignal): Promise<string> {
  refuseWhereItCannotBe(access, origin);
  const { paths, tree, store } = access;
  const layer = makeLayer(paths, { trunk: true });
  symlinkSync(origin, paths.tree(layer, workspaceRoot));
  const skip = [{ device: store.device, inode: store.inode }];
  await tree.scan({ root: origin, signatures: paths.scan(workspaceRoot), skip, signal });
  return layer;
}
