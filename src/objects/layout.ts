/**
 * Objects on disk: agents and tools as ordinary files, and the map of this layer.
 *
 *     ROOT/agent/NAME.d/FILE                 the system tier           ROOT/tool/NAME.d/FILE
 *     ROOT/home/UID/agent/NAME.d/FILE        the tier of one user      ROOT/home/UID/tool/NAME.d/FILE
 *     /var/lib/ctxfs/agent/NAME.d/FILE       root's, for every user: under the others
 *
 *     layout        where objects are         small-formats   the files of one line, or of plain lines
 *     control-file  which files an object has, how each is checked, what it holds at first
 *     object-store  make, read, change and remove an object: whole or not at all
 *     agent, tool   an object's files as one typed value
 *     spec          a JSON file that names several at once
 *     projection/   what one agent sees of all that, as a tree: catalogue (what there is), visible (what is granted), nodes (the
 *                   tree), projection (an engine of the VFS), object-view (all of it over the disk)
 *
 * Imports `base`, `authority` and `vfs`. A file is checked by its own parser before it is written and again when it is read, since
 * anybody with the right may edit it by hand; what is wrong is EINVAL with file, line and column, and nothing changes.
 */
import { join } from 'node:path';
import { parseObjectName } from '../authority/name.js';

const objectKinds = ['agent', 'tool'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** In the order they are searched: a user's object never is before a system's. */
export const tiers = ['system', 'user'] as const;
export type Tier = (typeof tiers)[number];

export interface ObjectRoots {
  /** CTX_ROOT on the host. */
  readonly root: string;
  /** Whose user tier it is. */
  readonly uid: number;
  /** Root's objects for every user, where there are any: searched last. */
  readonly system?: string | undefined;
}

/** Where agents see the root, whatever directory of the host holds it. */
const seenRoot = '/ctx';

export function tierDirectory({ root, uid }: ObjectRoots, tier: Tier, kind: ObjectKind): string {
  return tier === 'system' ? join(root, kind) : join(root, 'home', String(uid), kind);
}

export function controlDirectory(roots: ObjectRoots, tier: Tier, kind: ObjectKind, name: string): string {
  return join(tierDirectory(roots, tier, kind), `${parseObjectName(name)}.d`);
}

/** The directories of tools as agents name them, in the order they are searched. */
export function defaultToolPath(uid: number): readonly string[] {
  return [`${seenRoot}/tool`, `${seenRoot}/home/${uid}/tool`];
}

/** The host's directory behind a path that begins with `/ctx`, or undefined. */
export function hostPathOf(root: string, seen: string): string | undefined {
  return seen === seenRoot || seen.startsWith(`${seenRoot}/`) ? join(root, seen.slice(seenRoot.length)) : undefined;
}
