/** Trees at directories of this machine, as `ctx vfs mount` and `ctx vfs unmount` have them. */

import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { grantsLookMilliseconds } from '../../base/limits/trees.js';
import { parseJson } from '../../base/shape.js';
import { uniqueName } from '../../base/unique-name.js';
import { type JailMount, type ServedMount, serveJail, serveMount } from '../../fuse/served-mount.js';
import { unmount } from '../../fuse/unmount.js';
import { guardedFileSystem } from '../../guard/guarded-filesystem.js';
import type { CountedRefusal } from '../../guard/refusal-counter.js';
import type { TreeOutcome } from '../../proxy/asked-tree.js';
import type { FileSystem } from '../../vfs/filesystem.js';
import { openTree } from '../../vfs/open-engine.js';
import { planOf } from '../../vfs/read-plan.js';
import type { EngineSpecification } from '../../vfs/specification.js';
import { checkedPlan, type TreePlan, writtenEngines } from '../../vfs/tree-plan.js';
import type { TreePlace } from './trees.js';

export { mountPoint } from '../../fuse/mount.js';
export { unmount };

export interface Mounting extends TreePlace {
  readonly target: string;
  readonly writable: boolean;
  /** Path of `fuse.node`. */
  readonly library: string;
  readonly signal: AbortSignal;
  /** A file of grants: users of the mount may do what it says and nothing else, as it is at each time. */
  readonly grants?: GrantsFile | undefined;
  mounted(directory: string): void;
}

export interface GrantsFile {
  readonly path: string;
  /** Told soon after it happened. What it throws ends the mount. */
  refused(refusal: CountedRefusal): void;
}

export interface JailMounting
  extends Omit<JailMount, 'guarded' | 'idleMilliseconds' | 'open'>,
    Pick<TreePlace, 'lockLibrary'>,
    Pick<Mounting, 'grants'> {}

/** EINVAL where the text is not a tree. */
export function checkTreeText(place: Pick<TreePlace, 'specification' | 'directory'>): void {
  planOf(place.specification, place.directory);
}

/** Serves it in this process, until it is unmounted or the signal aborts. */
export function mountTree(mounting: Mounting): Promise<void> {
  const { target, specification, directory, lockLibrary, grants, ...rest } = mounting;
  const plan = planOf(specification, directory);
  const { writable } = rest;
  const open = () => openTree(plan, { writable, create: writable, lockLibrary });
  if (grants === undefined) return serveMount({ ...rest, plan, directory: target, open });
  return mountGuarded({ ...rest, plan, directory: target, open }, { ...grants, path: resolve(directory, grants.path) });
}

async function mountGuarded(mount: ServedMount, { path, refused }: GrantsFile): Promise<void> {
  const { followGrants } = await import('./followed-grants.js');
  const followed = followGrants(path, refused);
  try {
    await serveMount({
      ...mount,
      idleMilliseconds: grantsLookMilliseconds,
      open: async () => guardedFileSystem(await mount.open(), followed.guard),
    });
  } finally {
    followed.end();
  }
}

/** Of this machine's memory that a tree in it may take, as of a jail's own /tmp. */
const memoryShare = 0.25;

/** Serves it in this process, to the jail at the other end of the channel, until that has ended. */
export async function mountTreeInJail(mounting: JailMounting): Promise<TreeOutcome | undefined> {
  const { grants, ...rest } = mounting;
  if (grants === undefined) return mountInJail(rest);
  const { followGrants } = await import('./followed-grants.js');
  const followed = followGrants(grants.path, grants.refused);
  const guarded = (filesystem: FileSystem) => guardedFileSystem(filesystem, followed.guard);
  try {
    return await mountInJail({ ...rest, guarded, idleMilliseconds: grantsLookMilliseconds });
  } finally {
    followed.end();
  }
}

type Unguarded = Omit<JailMount, 'open'> & Pick<TreePlace, 'lockLibrary'>;

async function mountInJail({ lockLibrary, ...mounting }: Unguarded): Promise<TreeOutcome | undefined> {
  const { writable, plan } = mounting;
  const capacity = Math.floor(totalmem() * memoryShare);
  const before = `before-${uniqueName()}`;
  const recorded = await serveJail({
    ...mounting,
    open: () => openTree(plan, { writable, create: writable, capacity, lockLibrary, before }),
  });
  const written = writable ? writtenEngines(plan, writable) : [];
  const isFirst = (engine: EngineSpecification) => engine.engine === 'chunked' && engine.snapshot === undefined;
  const files = written.flatMap((engine) => (engine.engine === 'chunked' && isFirst(engine) ? [engine.file] : []));
  const { settleSnapshots } = await import('./undo-snapshots.js');
  const isChanged = recorded !== undefined && recorded.changes.length + recorded.more > 0;
  const undo = await settleSnapshots(files, { before, isChanged, lockLibrary });
  const undoable = written.every((engine) => isFirst(engine) || engine.engine === 'memory');
  return recorded && { ...recorded, undo, undoable };
}

/** What `ctx exec --mount` decided upon and wrote to the server it started, so that no file is read twice. */
export function planFromText(text: string): TreePlan {
  return checkedPlan(parseJson(text));
}
