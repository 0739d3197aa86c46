/** Git's indexes that git only wrote again, because somebody looked at the repository: no edit of anybody's. */
import { gitIndexBytes } from '../../base/limits/store.js';
import type { VaultAccess } from '../store/vault-access.js';
import { isSameIndex } from './same-index.js';

const nothing = Buffer.alloc(0);
const head = Buffer.from('DIRC');

/** Of these paths; both sides are trees, topmost first. One is in memory at a time, and none that only has the name of one. */
export async function refreshedIndexes(
  { tree }: Pick<VaultAccess, 'tree'>,
  before: readonly string[],
  now: readonly string[],
  among: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = among.filter((path) => /(^|\/)index$/.test(path));
  if (named.length === 0 || before.length === 0 || now.length === 0) return new Set();
  const sides = [before, now];
  const read = (layers: readonly string[], paths: readonly string[], most: number) =>
    tree.read({ layers, paths, most });
  const heads = await Promise.all(sides.map((layers) => read(layers, named, head.length)));
  const found = new Set<string>();
  for (const path of named.filter((_path, at) => heads.every((side) => side[at]?.bytes.equals(head) === true))) {
    const [left, right] = await Promise.all(sides.map((layers) => read(layers, [path], gitIndexBytes)));
    if (isSameIndex(left?.[0]?.bytes ?? nothing, right?.[0]?.bytes ?? nothing)) found.add(path);
  }
  return found;
}
