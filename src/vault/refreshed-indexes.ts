/** Git's indexes that git only wrote again, because somebody looked at the repository: no edit of anybody's. */
import { isSameIndex } from './same-index.js';
import type { VaultAccess } from './vault-access.js';

const nothing = Buffer.alloc(0);

/** Of these paths; both sides are trees, topmost first. */
export async function refreshedIndexes(
  { tree }: Pick<VaultAccess, 'tree'>,
  before: readonly string[],
  now: readonly string[],
  among: readonly string[],
): Promise<ReadonlySet<string>> {
  const paths = among.filter((path) => /(^|\/)index$/.test(path));
  if (paths.length === 0 || before.length === 0 || now.length === 0) return new Set();
  const [left, right] = [await tree.read({ layers: before, paths }), await tree.read({ layers: now, paths })];
  return new Set(paths.filter((_path, at) => isSameIndex(left[at]?.bytes ?? nothing, right[at]?.bytes ?? nothing)));
}
