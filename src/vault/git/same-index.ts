/**
 * Whether two files are git's index and hold the same. A process that only looks (`git status`, a prompt) makes git
 * write its index again, with fresh stat data: that is not an edit. Pure; whatever is not plainly understood is not the
 * same.
 */
import { type IndexFile, parseIndex } from './git-index-file.js';

/** Made by git from the rest, or from the directory. */
const derived: ReadonlySet<string> = new Set(['TREE', 'UNTR', 'FSMN', 'EOIE', 'IEOT']);

export const isDerived = (extension: string) => derived.has(extension);

function isSameContent(one: IndexFile, other: IndexFile): boolean {
  const othersOf = ({ extensions }: IndexFile) => extensions.filter(({ name }) => !isDerived(name));
  const [first, second] = [othersOf(one), othersOf(other)];
  if (one.length !== other.length || first.length !== second.length) return false;
  for (let at = 0; at < one.length; at += 1) if (!one.isSame(at, other, at)) return false;
  return first.every(({ name, bytes }, at) => name === second[at]?.name && bytes.equals(second[at].bytes));
}

export function isSameIndex(left: Buffer, right: Buffer): boolean {
  const one = parseIndex(left);
  const other = one === undefined ? undefined : parseIndex(right);
  return one !== undefined && other !== undefined && isSameContent(one, other);
}
