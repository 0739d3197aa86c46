/**
 * A root of an agent's own: a directory of the host, or `root/` of its home, that its commands see as `/`, read-only. Nothing of the host's own
 * system is shown then, and the tools of nobody's home: what the directory holds is all there is, beside the workspace and
 * what is granted.
 *
 * A mount cannot be put into a tree that is read-only, so the root is not one mount: whatever lies on the way to another
 * mount is made, and what stands beside the way is shown entry by entry.
 */
import { type Dirent, existsSync, readdirSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import type { Agent } from '../../authority/agent.js';
import { type Mount, objectsPath } from '../../authority/mount.js';
import { surfaceMountOptions } from '../../authority/surface-mounts.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import type { Link } from '../../jail/plan.js';
import { agentHomeDirectory, agentHomeSource } from './agent-home.js';
import { checkedPlace } from './surface-at.js';

/** What every jail has of its own. */
const made = ['/dev', '/proc', '/run', '/sys', '/tmp', '/var/tmp'];

export interface RootView {
  readonly mounts: readonly Mount[];
  readonly links: readonly Link[];
}

export interface AgentRoot {
  /** What mounts of it have as their source: a path of the host, or of the objects, where it is in the agent's home. */
  readonly source: string;
  /** Where it is on the host. */
  readonly directory: string;
}

function entriesIn(directory: string, isMadeLater: boolean): readonly Dirent[] {
  try {
    // The first command makes the home: until then nothing is in it.
    if (isMadeLater && !existsSync(directory)) return [];
    return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw fromSystemError(error, 'read the root of the agent', directory);
  }
}

/** What `root` shows where something else is to be mounted at each of `targets`. */
export function rootView({ source: from, directory }: AgentRoot, targets: readonly string[]): RootView {
  const taken = [...made, ...targets];
  const mounts: Mount[] = [];
  const links: Link[] = [];
  const isMadeLater = from !== directory;
  const visit = (at: string): void => {
    for (const entry of entriesIn(posix.join(directory, at), isMadeLater)) {
      const target = posix.join(at, entry.name);
      const source = posix.join(from, target);
      const onTheWay = taken.some((other) => contains(target, other));
      if (taken.includes(target)) continue;
      // A link on the way would lead the mount elsewhere: the way itself is made instead.
      if (onTheWay && entry.isDirectory()) visit(target);
      else if (onTheWay) continue;
      else if (entry.isSymbolicLink())
        links.push({ path: target, target: readlinkSync(posix.join(directory, target)) });
      else if (entry.isDirectory() || entry.isFile())
        mounts.push({ source, target, mode: 'ro', options: surfaceMountOptions });
    }
  };
  visit('/');
  return Object.freeze({ mounts: Object.freeze(mounts), links: Object.freeze(links) });
}

/** The part of an agent's home that is for this, which it only reads. EACCES for any other path of the objects. */
function rootInHome({ name, root, identity }: Agent, objects: string): AgentRoot {
  const own = posix.join(agentHomeSource(identity.uid, name), 'root');
  if (root === own)
    return { source: own, directory: posix.join(agentHomeDirectory(objects, identity.uid, name), 'root') };
  throw new ErrnoError('EACCES', {
    operation: `root of agent ${name}`,
    path: root,
    reason: `of the objects only ${own} can be its root`,
    remedy: `ctx agent set ${name} root ${own}, or a directory of this machine`,
  });
}

/**
 * The root of a line of agents, canonical; undefined where it is the host's own. A child's is its parent's. `objects` is CTX_ROOT on the
 * host.
 */
export function rootOf(line: readonly Agent[], hidden: readonly string[], objects: string): AgentRoot | undefined {
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
  if (contains(objectsPath, first.root)) return rootInHome(first, objects);
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
  return { source: found, directory: found };
}
