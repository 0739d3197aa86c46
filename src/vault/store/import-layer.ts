/** A directory of the person's as a new layer of the trunk. */

import { ErrnoError } from '../../base/errno.js';
import type { CopyOptions, Problem, Progress, Tree } from '../tree/tree.js';
import { type TreeUsage, watchUsage } from '../tree/usage.js';
import { makeLayer } from './layer-pool.js';
import type { VaultAccess } from './vault-access.js';
import { refuseImport } from './vault-limits.js';
import type { VaultLimits } from './vault-meta.js';

export interface Imports {
  readonly limits?: VaultLimits | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A command came first, and nobody asked for the copy: a directory that is much larger than projects are is refused. */
  readonly unasked?: UnaskedImport | undefined;
}

export interface UnaskedImport {
  readonly mostBytes: number;
  readonly mostFiles: number;
}

const gibibyte = 2 ** 30;

const refuseUnasked = (path: string, { mostBytes, mostFiles }: UnaskedImport, cause: unknown) =>
  new ErrnoError('E2BIG', {
    operation: 'import',
    path,
    reason: `it holds more than ${mostBytes / gibibyte} GiB or ${mostFiles} files, and the first command in it copies all of them`,
    remedy:
      'go to the project you want to work on; ctx vault create copies this directory all the same, ctx vault create --no-copy works on it without a copy',
    cause,
  });

export async function importLayer(
  access: VaultAccess,
  key: string,
  path: string,
  { limits, onProgress, signal, unasked }: Imports,
): Promise<{ readonly layer: string; readonly problems: readonly Problem[] }> {
  const { paths, tree, owner, store } = access;
  await refuseImport(access, limits, path);
  const layer = makeLayer(paths, { trunk: true });
  const tooLarge = new AbortController();
  const onTotal = ({ bytes, inodes }: TreeUsage) => {
    if (unasked !== undefined && (bytes > unasked.mostBytes || inodes > unasked.mostFiles)) tooLarge.abort();
  };
  try {
    const problems = await copyWithTotals(tree, onProgress, unasked === undefined ? undefined : onTotal, {
      root: path,
      destination: paths.tree(layer, key),
      signatures: paths.scan(key),
      shift: owner.shift,
      skip: [{ device: store.device, inode: store.inode }],
      signal: signal === undefined ? tooLarge.signal : AbortSignal.any([signal, tooLarge.signal]),
    });
    return { layer, problems };
  } catch (error) {
    throw unasked !== undefined && tooLarge.signal.aborted ? refuseUnasked(path, unasked, error) : error;
  }
}

/** Says how far it is of how much: somebody else counts while the copy goes on, so that it starts at once. */
async function copyWithTotals(
  tree: Tree,
  onProgress: ((progress: Progress) => void) | undefined,
  onTotal: ((total: TreeUsage) => void) | undefined,
  options: Omit<CopyOptions, 'onProgress'>,
): Promise<readonly Problem[]> {
  if (onProgress === undefined && onTotal === undefined) return tree.copy(options);
  let total: Progress['of'];
  const count = watchUsage({
    program: tree.program,
    roots: [options.root],
    onUsage: (usage) => {
      total = { files: usage.files, bytes: usage.content };
      onTotal?.(usage);
      void count.stop();
    },
    // A total that is not to be had is no reason to stop.
    onLost: () => undefined,
  });
  const told = onProgress && ((progress: Progress) => onProgress({ ...progress, of: total }));
  try {
    return await tree.copy({ ...options, onProgress: told });
  } finally {
    await count.stop();
  }
}
