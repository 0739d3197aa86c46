/** Every engine that can be made here, for the suites that run on all of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chunkedFileSystem } from '../../src/vfs/engines/chunked/chunked.js';
import { hostFileSystem } from '../../src/vfs/engines/host/host.js';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import type { Creation, FileSystem } from '../../src/vfs/filesystem.js';

const here = fileURLToPath(import.meta.url);
export const lockLibrary = `${here.slice(0, here.lastIndexOf('/dist/'))}/dist/native/flock.node`;

export const own = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
export const fileMode: Creation = { mode: 0o644, ...own };
export const directoryMode: Creation = { mode: 0o755, ...own };

export interface MadeEngine {
  readonly filesystem: FileSystem;
  /** The same tree as another process would open it, where it outlives one. */
  reopen?(): Promise<FileSystem>;
  end(): Promise<void>;
}

export function scratch(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'ctx-vfs-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export const engines: Readonly<Record<string, () => Promise<MadeEngine>>> = {
  memory: async () => {
    const filesystem = memoryFileSystem({ root: directoryMode });
    return { filesystem, end: async () => filesystem.close() };
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
};
