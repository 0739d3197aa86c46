/** One place of the fork at two paths: what it is at the one, it is at the other. Pure. */
import { contains, rebase } from '../../authority/absolute-path.js';
import type { View } from '../../authority/view.js';

/**
 * A mount that shows a part of the fork at another path brings along all that the jail has in it at its own: mounts and
 * what is read-only. So that is the path to ask about; any other path is its own.
 */
export function ownPath(view: View, forked: readonly string[], path: string): string {
  const outer = view.covering(path);
  if (outer === undefined || outer.of !== 'host' || outer.source === outer.target) return path;
  return forked.some((root) => contains(root, outer.source)) ? rebase(path, outer.target, outer.source) : path;
}
