/** Opens what a plan says. Each engine is loaded when it is asked for; where one cannot be opened, none stays open. */
import { askEach, settle } from './answer.js';
import type { FileSystem } from './filesystem.js';
import { makeMountPoints } from './mount-points.js';
import { MountTable, type TableMount } from './mount-table.js';
import type { EngineSpecification } from './specification.js';
import { isWritable, type PlannedMount, type Source, type TreePlan } from './tree-plan.js';

export interface EngineOptions {
  /** Undefined: what is ours is writable, and nothing else. */
  readonly writable?: boolean | undefined;
  /** Make a chunked file that is not there, where it is writable. */
  readonly create?: boolean | undefined;
  /** Bytes that a tree in memory may hold; without it, what the process has. */
  readonly capacity?: number | undefined;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
  /** The snapshot that each chunked tree that is written to keeps of what it is now. */
  readonly before?: string | undefined;
}

/** Engines at their places; mount points are not looked at yet. `isFilled`: it is written to before it is held read-only. */
export async function openMounts(
  plan: TreePlan,
  options: EngineOptions,
  isFilled: (mount: PlannedMount) => boolean = () => false,
): Promise<readonly TableMount[]> {
  const opened: TableMount[] = [];
  try {
    for (const mount of plan.mounts) {
      const writable = isFilled(mount) || isWritable(plan, mount, options.writable);
      opened.push({ path: mount.path, filesystem: await openSource(mount.source, { ...options, writable }) });
    }
    return opened;
  } catch (error) {
    await closed(opened.map(({ filesystem }) => filesystem));
    throw error;
  }
}

/**
 * A table of them. Where nothing is at `/`, there is a read-only directory that has the others. A tree in memory that is not to be written
 * begins with the directories that others are mounted on: nobody could have made them before.
 */
export async function openTable(plan: TreePlan, options: EngineOptions): Promise<MountTable> {
  const hasRoot = plan.mounts.some(({ path }) => path.length === 0);
  const root: PlannedMount = { path: [], source: { engine: 'memory' }, writable: false };
  const whole = hasRoot ? plan : { isTable: true, mounts: [root, ...plan.mounts] };
  const isHeld = (mount: PlannedMount) =>
    mount.source.engine === 'memory' && (mount === root || !isWritable(plan, mount, options.writable));
  const opened = await openMounts(whole, options, isHeld);
  try {
    const table = new MountTable(opened);
    await settle(makeMountPoints(table));
    if (!whole.mounts.some(isHeld)) return table;
    const { readOnly } = await import('./engines/readonly/readonly.js');
    return new MountTable(
      opened.map((mount, at) => {
        const planned = whole.mounts[at];
        return planned !== undefined && isHeld(planned) ? { ...mount, filesystem: readOnly(mount.filesystem) } : mount;
      }),
    );
  } catch (error) {
    await closed(opened.map(({ filesystem }) => filesystem));
    throw error;
  }
}

/** One engine, whatever the plan has. */
export async function openTree(plan: TreePlan, options: EngineOptions): Promise<FileSystem> {
  const table = await openTable(plan, options);
  if (table.mounts.length === 1) return table.root.filesystem;
  const { joined } = await import('./engines/joined/joined.js');
  return joined(table);
}

type Opening = EngineOptions & { readonly writable: boolean };

async function openSource(source: Source, options: Opening): Promise<FileSystem> {
  if (source.engine !== 'overlay') return openEngine(source, options);
  const { overlayFileSystem } = await import('./engines/overlay/overlay.js');
  const layers: FileSystem[] = [];
  try {
    for (const each of source.lower) layers.push(await openSource(each, { ...options, writable: false }));
    layers.unshift(await openSource(source.upper, options));
  } catch (error) {
    await closed(layers);
    throw error;
  }
  return layers.reduceRight((lower, upper) => overlayFileSystem({ upper, lower }));
}

/** Each, whatever becomes of those before it. */
export async function closed(filesystems: readonly FileSystem[]): Promise<void> {
  await settle(askEach(filesystems, (each) => each.close()));
}

export async function openEngine(
  specification: EngineSpecification,
  { writable, create = false, capacity, lockLibrary, before }: Opening,
): Promise<FileSystem> {
  switch (specification.engine) {
    case 'memory': {
      const { memoryFileSystem } = await import('./engines/memory/memory.js');
      return memoryFileSystem({ writable, capacity, root: ownRoot() });
    }
    case 'host': {
      const { hostFileSystem } = await import('./engines/host/host.js');
      return hostFileSystem({ path: specification.path, writable, lockLibrary });
    }
    case 'chunked': {
      const { chunkedFileSystem } = await import('./engines/chunked/chunked.js');
      return chunkedFileSystem({
        ...specification,
        writable,
        create: create && writable,
        lockLibrary,
        before,
        root: ownRoot(),
      });
    }
    case 's3': {
      const { s3FileSystem } = await import('./engines/s3/s3.js');
      return s3FileSystem({ ...specification, writable });
    }
    case 'webdav': {
      const { webdavFileSystem } = await import('./engines/webdav/webdav.js');
      return webdavFileSystem({ ...specification, writable });
    }
    case 'rclone': {
      const { rcloneFileSystem } = await import('./engines/rclone/rclone.js');
      return rcloneFileSystem({ ...specification, writable });
    }
  }
}

function ownRoot() {
  return { mode: 0o755, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
}
