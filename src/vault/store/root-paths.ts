/** Paths of several roots in one list: those of the workspace as they are in it, those of other roots in full. Pure. */
import { ErrnoError } from '../../base/errno.js';
import { workspaceRoot } from './layout.js';

export type Roots = Readonly<Record<string, string>>;

/** A root's own top directory. */
export const topPath = '.';

const slash = '/'.charCodeAt(0);

/** A directory before what is in it, and all of that before what comes after. */
export function inWalkOrder(left: string, right: string): number {
  const shorter = Math.min(left.length, right.length);
  for (let at = 0; at < shorter; at += 1) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a !== b) return a === slash || (b !== slash && a < b) ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}

export function shownPath(roots: Roots, key: string, path: string): string {
  if (key === workspaceRoot) return path;
  const root = roots[key] ?? '';
  return path === topPath ? root : `${root}/${path}`;
}

/** The path within the root, where it is of that root. */
export function pathWithin(roots: Roots, key: string, shown: string): string | undefined {
  if (key === workspaceRoot) return shown.startsWith('/') ? undefined : shown;
  const root = roots[key] ?? '';
  if (shown === root) return topPath;
  return shown.startsWith(`${root}/`) ? shown.slice(root.length + 1) : undefined;
}

/** Of which root a shown path is: of the most specific one, where roots lie in each other. */
export function rootOf(roots: Roots, shown: string): readonly [key: string, path: string] | undefined {
  const found = Object.keys(roots)
    .map((key) => [key, pathWithin(roots, key, shown)] as const)
    .filter((entry): entry is readonly [string, string] => entry[1] !== undefined)
    .sort(([left], [right]) => (roots[right]?.length ?? 0) - (roots[left]?.length ?? 0));
  return found[0];
}

/** Refuses paths that no root has: what is asked of them would silently be asked of nothing. */
export function refuseForeign(roots: Roots, shown: readonly string[], operation: string): void {
  const path = shown.find((each) => rootOf(roots, each) === undefined);
  if (path === undefined) return;
  const reason = 'expected a path of the workspace or of a root of the fork';
  throw new ErrnoError('EINVAL', { operation, path, reason, remedy: 'ctx vault info shows its roots' });
}
