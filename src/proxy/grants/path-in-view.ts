/**
 * A path as somebody names it, as the path of the view that it means. Links are followed on the host, where the files are;
 * below a mount at another path than its source they are followed at the source, and the result put back.
 */
import { posix } from 'node:path';
import { contains, rebase } from '../../authority/absolute-path.js';
import type { View } from '../../authority/view.js';
import { absolutePath, canonicalAncestor } from '../canonical-paths.js';

export function pathInView(view: View, path: string, base: string): string {
  const absolute = absolutePath(path, base);
  const named = posix.normalize(absolute).replace(/(.)\/$/, '$1');
  const entry = view.covering(named);
  if (entry === undefined || entry.source === entry.target) return canonicalAncestor(absolute);
  const found = canonicalAncestor(rebase(named, entry.target, entry.source));
  // A link that leads out of the mount leads to that path of the view, whatever stands there.
  return contains(entry.source, found) ? rebase(found, entry.source, entry.target) : found;
}
