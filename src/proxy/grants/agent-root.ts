/**
 * A root of an agent's own: a directory of the host that its commands see as `/`, read-only. Nothing of the host's own
 * system is shown then, and the tools of nobody's home: what the directory holds is all there is, beside the workspace and
 * what is granted.
 *
 * A mount cannot be put into a tree that is read-only, so the root is not one mount: whatever lies on the way to another
 * mount is made, and what stands beside the way is shown entry by entry.
 */
import { type Dirent, readdirSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import type { Agent } from '../../authority/agent.js';
import type { Mount } from '../../authority/mount.js';
import { surfaceMountOptions } from '../../authority/surface-mounts.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import type { Link } from '../../jail/plan.js';
import { checkedPlace } from './surface-at.js';

/** What every jail has of its own. */
const made = ['/dev', '/proc', '/run', '/sys', '/tmp', '/var/tmp'];

export interface RootView {
  readonly mounts: readonly Mount[];
  readonly links: readonly Link[];
}

function entriesIn(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw fromSystemError(error, 'read the root of the agent', directory);
  }
}

/** What `root` shows where something else is to be mounted at each of `targets`. */
export function rootView(root: string, targets: readonly string[]): RootView {
  const taken = [...made, ...targets];
  const mounts: Mount[] = [];
  const links: Link[] = [];
  const visit = (at: string): void => {
    for (const entry of entriesIn(posix.join(root, at))) {
      const target = posix.join(at, entry.name);
      const source = posix.join(root, target);
      const onTheWay = taken.some((other) => contains(target, other));
      if (taken.includes(target)) continue;
      // A link on the way would lead the mount elsewhere: the way itself is made instead.
      if (onTheWay && entry.isDirectory()) visit(target);
      else if (onTheWay) continue;
      else if (entry.isSymbolicLink()) links.push({ path: target, target: readlinkSync(source) });
      else if (entry.isDirectory() || entry.isFile())
        mounts.push({ source, target, mode: 'ro', options: surfaceMountOptions });
    }
  };
  visit('/');
  return Object.freeze({ mounts: Object.freeze(mounts), links: Object.freeze(links) });
}

/** The root of a line of agents, canonical; undefined where it is the host's own. A child's is its parent's. */
export function rootOf(line: readonly Agent[], hidden: readonly string[]): string | undefined {
  const [first, ...children] = line;
  const other = children.find(({ root }) => root !== '/' && root !== first?.root);
  if (other !== undefined) {
    throw new ErrnoError('EACCES', {
      operation: `agent ${other.name}`,
      path: other.root,
      reason: `its root differs from its parent's, which is ${first?.root}`,
      remedy: `ctx agent set ${other.name} root / gives it the root of its parent`,
    });
  }
  if (first === undefined || first.root === '/') return undefined;
  const operation = `root of agent ${first.name}`;
  const remedy = `ctx agent set ${first.name} root DIRECTORY; / is the host's own system`;
  const found = canonicalPath(first.root);
  if (found === undefined) {
    throw new ErrnoError('ENOENT', { operation, path: first.root, reason: 'there is no such directory', remedy });
  }
  checkedPlace(found, 'the root of an agent');
  if (hidden.some((directory) => contains(directory, found))) {
    throw new ErrnoError('EACCES', { operation, path: found, reason: 'ctx keeps its own files there', remedy });
  }
  return found;
}
