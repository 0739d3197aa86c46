/** A directory of the person's as a new layer of the trunk. */

import type { CopyOptions, Problem, Progress, Tree } from '../tree/tree.js';
import { watchUsage } from '../tree/usage.js';
import { makeLayer } from './layer-pool.js';
import type { VaultAccess } from './vault-access.js';
import { refuseImport } from './vault-limits.js';
import type { VaultLimits } from './vault-meta.js';

export interface Imports {
  readonly limits?: VaultLimits | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function importLayer(
  access: VaultAccess,
  key: string,
  path: string,
  { limits, onProgress, signal }: Imports,
): Promise<{ readonly layer: string; readonly problems: readonly Problem[] }> {
  const { paths, tree, owner, store } = access;
  await refuseImport(access, limits, path);
  const layer = makeLayer(paths, { trunk: true });
  const problems = await copyWithTotals(tree, onProgress, {
    root: path,
    destination: paths.tree(layer, key),
    signatures: paths.scan(key),
    shift: owner.shift,
    skip: [{ device: store.device, inode: store.inode }],
    signal,
  });
  return { layer, problems };
}

/** Says how far it is of how much: somebody else counts while the copy goes on, so that it starts at once. */
async function copyWithTotals(
  tree: Tree,
  onProgress: ((progress: Progress) => void) | undefined,
  options: Omit<CopyOptions, 'onProgress'>,
): Promise<readonly Problem[]> {
  if (onProgress === undefined) return tree.copy(options);
  let total: Progress['of'];
  const count = watchUsage({
    program: tree.program,
    roots: [options.root],
    onUsage: ({ files, content }) => {
      total = { files, bytes: content };
      void count.stop();
    },
    // A total that is not to be had is no reason to stop.
    onLost: () => undefined,
  });
  try {
    return await tree.copy({ ...options, onProgress: (progress) => onProgress({ ...progress, of: total }) });
  } finally {
    await count.stop();
  }
}
