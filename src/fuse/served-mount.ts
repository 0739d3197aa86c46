/** A tree at a directory, from the first check to the last byte on the disk. Imports `base` and `vfs`. */
import { closeSync } from 'node:fs';
import { realPath } from '../base/canonical-path.js';
import { ErrnoError } from '../base/errno.js';
import { listedChanges } from '../base/limits/store.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { type RecordedChanges, recordChanges } from '../vfs/recorded-changes.js';
import { backingOf, enginesOf, isShared, type TreePlan } from '../vfs/tree-plan.js';
import { forOneCall, type Kept } from './cache-times.js';
import { Dispatch } from './dispatch.js';
import { fuseLibrary, mountFuse, mountPoint } from './mount.js';
import { send, serve } from './serve.js';
import type { Owners } from './wire.js';

export interface ServedAt {
  readonly directory: string;
  readonly writable: boolean;
  /** Path of `fuse.node`. */
  readonly library: string;
  readonly signal: AbortSignal;
  /** Others change the tree, too: the kernel keeps nothing of it. */
  readonly shared: boolean;
  /** What the kernel keeps all the same. */
  readonly kept?: Kept | undefined;
  /** What is added to the tree's owners where they are shown; negative where the tree's are shifted. */
  readonly shift?: number | undefined;
  readonly noExecution?: boolean | undefined;
  readonly idleMilliseconds?: number | undefined;
  open(): FileSystem | Promise<FileSystem>;
  /** It can be used from now on. */
  mounted(directory: string): void;
}

export interface ServedMount extends Omit<ServedAt, 'shared' | 'shift'> {
  readonly plan: TreePlan;
}

/** Resolves when it has ended, with everything durable. Throws before anything is mounted, or not at all for what was asked. */
export function serveMount({ plan, ...options }: ServedMount): Promise<void> {
  const directory = mountPoint(options.directory);
  refuseOwnBacking(plan, directory);
  return serveAt({ ...options, directory, shared: isShared(plan, options.writable) });
}

/** By its plan, or by what the tree itself knows when it is open: then the kernel keeps nothing of it. */
export function changesMeanwhile(shared: boolean, { changesOutside }: Pick<FileSystem, 'changesOutside'>): boolean {
  return shared || changesOutside === true;
}

/** The same for any tree, at a directory that was looked at (`mountPoint`). */
export async function serveAt(options: ServedAt): Promise<void> {
  const { directory, writable, signal, shared, shift = 0, noExecution, idleMilliseconds, kept = forOneCall } = options;
  const filesystem = await options.open();
  try {
    const library = fuseLibrary(options.library);
    const everybody = process.geteuid?.() === 0;
    const { descriptor, end } = await mountFuse(library, { directory, writable, everybody, noExecution });
    try {
      const changes = changesMeanwhile(shared, filesystem);
      const notify = (notice: Buffer) => send(descriptor, notice);
      const dispatch = new Dispatch({ filesystem, mountedAt: directory, shared: changes, shift, kept, notify });
      options.mounted(directory);
      await serve({ descriptor, library, dispatch, filesystem, signal, idleMilliseconds });
    } finally {
      try {
        await filesystem.sync();
      } finally {
        await end();
      }
    }
  } finally {
    await filesystem.close();
  }
}

export interface JailMount {
  readonly plan: TreePlan;
  readonly writable: boolean;
  /** Path of `fuse.node`. */
  readonly library: string;
  readonly signal: AbortSignal;
  open(): Promise<FileSystem>;
  /** What users of the tree see of it. */
  guarded?(filesystem: FileSystem): FileSystem;
  readonly idleMilliseconds?: number | undefined;
  /** The tree is open: the process that waits for it can make the jail. */
  ready(): void;
  /** The socket by which the jail hands over the kernel's end. */
  readonly channel: number;
  /** As its users see its place; and who owns there what this process owns here. */
  readonly mountedAt: string;
  readonly shift: number;
  readonly uid: number;
  readonly gid: number;
}

/** What is this process's own is the command's own. Root's directories of the host are shown as they are: each to its owner. */
function ownersFor({ plan, uid, gid }: JailMount): Owners | undefined {
  const [ownUid, ownGid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  if (ownUid === 0 && enginesOf(plan).some(({ engine }) => engine === 'host')) return undefined;
  return { uid: [ownUid, uid], gid: [ownGid, gid] };
}

/** For a jail, which mounts it itself, in its own namespaces. Resolves when the jail has ended, with everything durable: by what was changed. */
export async function serveJail(options: JailMount): Promise<RecordedChanges | undefined> {
  const { plan, writable, signal, channel, mountedAt, shift, idleMilliseconds } = options;
  const opened = await options.open();
  const recorded = writable ? recordChanges(opened, listedChanges) : undefined;
  const written = recorded?.filesystem ?? opened;
  const filesystem = options.guarded?.(written) ?? written;
  try {
    const library = fuseLibrary(options.library);
    options.ready();
    const descriptor = library.receive(channel);
    closeSync(channel);
    // A jail that could not be made has said why.
    if (descriptor < 0) return undefined;
    try {
      const owners = ownersFor(options);
      const shared = changesMeanwhile(isShared(plan, writable), filesystem);
      const view = { mountedAt, shared, shift, owners, plainModes: true, kept: forOneCall };
      const dispatch = new Dispatch({ filesystem, ...view, notify: (notice) => send(descriptor, notice) });
      await serve({ descriptor, library, dispatch, filesystem, signal, idleMilliseconds });
    } finally {
      closeSync(descriptor);
    }
    return recorded?.changes();
  } finally {
    await filesystem.close();
  }
}

/** A tree whose files are below its own mount waits for itself. */
function refuseOwnBacking(plan: TreePlan, directory: string): void {
  for (const { path, kind } of enginesOf(plan).flatMap((engine) => backingOf(engine) ?? [])) {
    const parent = kind === 'directory' ? path : path.slice(0, path.lastIndexOf('/')) || '/';
    let real: string;
    try {
      real = realPath(parent);
    } catch {
      continue; // It is not there: opening it says so.
    }
    const inside = within(real, directory) || (kind === 'directory' && within(directory, real));
    if (!inside) continue;
    throw new ErrnoError('EINVAL', {
      operation: 'mount',
      path: directory,
      reason: `the mount point and ${real}, which it shows, are inside each other`,
      remedy: 'mount it on a directory elsewhere',
    });
  }
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}
