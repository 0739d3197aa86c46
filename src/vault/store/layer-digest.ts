/** The digest of what a layer holds, by all its roots: what `state-digest` keeps beside it, and what proves it whole. */
import { Blake3 } from '../../base/blake3.js';
import { rootsOf } from './layer-pool.js';
import type { VaultAccess } from './vault-access.js';

/** Read anew; undefined for more than `most`, where that is not 0. */
export async function layerDigest(
  { paths, tree }: VaultAccess,
  layer: string,
  most: number,
): Promise<string | undefined> {
  const roots = rootsOf(paths, layer).sort();
  const trees =
    roots.length === 0 ? [] : await tree.digest({ layers: roots.map((key) => paths.tree(layer, key)), most });
  const text = roots.map((key, index) => `${key} ${trees[index]}\n`).join('');
  return trees.every((digest) => digest !== undefined) ? new Blake3().hex(Buffer.from(text)) : undefined;
}
