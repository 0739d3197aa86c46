/** What a fork has to have to be opened: where it, or a layer of it, is not in the store, that is said. */
import { existsSync, readdirSync } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';
import type { ForkMeta } from './fork-meta.js';
import type { VaultAccess } from './vault-access.js';

export function noSuchFork(name: string, origin: string, isInUse = false): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'open the fork',
    path: origin,
    reason: isInUse
      ? `fork '${name}', the one in use, is missing from the store`
      : `there is no fork '${name}' of this directory`,
    remedy: isInUse
      ? 'ctx fsck --repair makes the vault usable again, without the changes of that fork'
      : 'ctx fork list shows them, ctx fork create makes one',
  });
}

/** Shown without it, the fork would be another one, and nothing would say so; a merge would leave no trace. */
export function refuseLostLayers({ paths }: VaultAccess, name: string, { base, deltas, live }: ForkMeta): void {
  const there = new Set(existsSync(paths.layers) ? readdirSync(paths.layers) : []);
  const lost = [...base, ...deltas, live].find((layer) => !there.has(layer));
  if (lost === undefined) return;
  throw new ErrnoError('EIO', {
    operation: 'open the fork',
    path: paths.layer(lost),
    reason: `a layer of fork '${name}' is missing from the store`,
    remedy: 'ctx fsck --repair goes on without it and says what is lost; ctx drop starts the fork afresh',
  });
}
