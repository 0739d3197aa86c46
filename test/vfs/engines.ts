/** Every engine that can be made here, for the suites that run on all of them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settle } from '../../src/vfs/answer.js';
import { chunkedFileSystem } from '../../src/vfs/engines/chunked/chunked.js';
import { hostFileSystem } from '../../src/vfs/engines/host/host.js';
import { joined } from '../../src/vfs/engines/joined/joined.js';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import { overlayFileSystem } from '../../src/vfs/engines/overlay/overlay.js';
import { readOnly } from '../../src/vfs/engines/readonly/readonly.js';
import type { Creation, FileSystem } from '../../src/vfs/filesystem.js';
import { makeMountPoints } from '../../src/vfs/mount-points.js';
import { MountTable } from '../../src/vfs/mount-table.js';

const here = fileURLToPath(import.meta.url);
export const lockLibrary = `${here.slice(0, here.lastIndexOf('/dist/'))}/dist/native/flock.node`;

export const own = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
export const fileMode: Creation = { mode: 0o644, ...own };
export const directoryMode: Creation = { mode: 0o755, ...own };

export interface MadeEngine {
  readonly filesystem: FileSystem;
  /** The same tree as another process would open it, where it outlives one. */
  reopen?(): Promise<FileSystem>;
  /** What is in it from the beginning, by path; undefined of a directory. */
  readonly holds?: ReadonlyMap<string, string | undefined>;
  /** Fails where what must not change has changed. */
  unchanged?(): Promise<void>;
  end(): Promise<void>;
}

export function scratch(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'ctx-vfs-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Answers one turn of the event loop later, as a remote engine does. */
export function later(inner: FileSystem): FileSystem {
  return new Proxy(inner, {
    get: (target, member) => {
      const value = Reflect.get(target, member, target) as unknown;
      if (member === 'capabilities') return { ...target.capabilities, immediate: false };
      if (typeof value !== 'function') return value;
      return async (...given: readonly unknown[]) => {
        await new Promise((resolve) => setImmediate(resolve));
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

/** A mount of a joined tree, as a tree of its own. */
async function partOfJoined(): Promise<MadeEngine> {
  const memory = () => memoryFileSystem({ root: directoryMode });
  const table = new MountTable([
    { path: [], filesystem: memory() },
    { path: ['d', 'sub'], filesystem: memory() },
    { path: ['other'], filesystem: memory() },
  ]);
  await settle(makeMountPoints(table));
  const whole = await joined(table);
  const directory = await whole.lookup(whole.root, 'd');
  const root = (await whole.lookup(directory?.inode ?? 0, 'sub'))?.inode;
  const filesystem = new Proxy(whole, {
    get: (target, member) => {
      if (member === 'root') return root;
      const value = Reflect.get(target, member, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { filesystem, end: async () => whole.close() };
}

export const engines: Readonly<Record<string, () => Promise<MadeEngine>>> = {
  memory: async () => {
    const filesystem = memoryFileSystem({ root: directoryMode });
    return { filesystem, end: async () => filesystem.close() };
  },
  'host with the locks of the kernel': async () => {
    const { path, remove } = scratch();
    const filesystem = hostFileSystem({ path, writable: true, lockLibrary });
    return {
      filesystem,
      end: async () => {
        await filesystem.close();
        remove();
      },
    };
  },
  host: async () => {
    const { path, remove } = scratch();
    const filesystem = hostFileSystem({ path, writable: true });
    return {
      filesystem,
      end: async () => {
        await filesystem.close();
        remove();
      },
    };
  },
  chunked: async () => {
    const { path, remove } = scratch();
    const file = join(path, 'store');
    const open = () => chunkedFileSystem({ file, writable: true, create: true, lockLibrary, root: directoryMode });
    let filesystem = await open();
    return {
      filesystem,
      reopen: async () => {
        await filesystem.close();
        filesystem = await open();
        return filesystem;
      },
      end: async () => {
        await filesystem.close();
        remove();
      },
    };
  },
  overlay: async () => {
    const filesystem = overlayFileSystem({
      upper: memoryFileSystem({ root: directoryMode }),
      lower: readOnly(memoryFileSystem({ root: directoryMode })),
    });
    return { filesystem, end: async () => filesystem.close() };
  },
  'overlay of engines that answer later': async () => {
    const filesystem = overlayFileSystem({
      upper: later(memoryFileSystem({ root: directoryMode })),
      lower: later(readOnly(memoryFileSystem({ root: directoryMode }))),
    });
    return { filesystem, end: async () => filesystem.close() };
  },
  'mount of a table': partOfJoined,
  'overlay of host': async () => {
    const { path, remove } = scratch();
    for (const name of ['upper', 'lower']) mkdirSync(join(path, name));
    const open = () =>
      overlayFileSystem({
        upper: hostFileSystem({ path: join(path, 'upper'), writable: true }),
        lower: hostFileSystem({ path: join(path, 'lower') }),
      });
    let filesystem = open();
    return {
      filesystem,
      reopen: async () => {
        await filesystem.close();
        filesystem = open();
        return filesystem;
      },
      end: async () => {
        await filesystem.close();
        remove();
      },
    };
  },
};
