/** The engine that a specification names. Each is loaded when it is asked for. */
import type { FileSystem } from './filesystem.js';
import type { Specification } from './specification.js';

export interface OpenOptions {
  readonly writable: boolean;
  /** Make a chunked file that is not there. */
  readonly create?: boolean | undefined;
  /** Bytes that a tree in memory may hold; without it, what the process has. */
  readonly capacity?: number | undefined;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
}

export async function openEngine(
  specification: Specification,
  { writable, create = false, capacity, lockLibrary }: OpenOptions,
): Promise<FileSystem> {
  switch (specification.engine) {
    case 'memory': {
      const { memoryFileSystem } = await import('./engines/memory/memory.js');
      return memoryFileSystem({ writable, capacity, root: ownRoot() });
    }
    case 'host': {
      const { hostFileSystem } = await import('./engines/host/host.js');
      return hostFileSystem({ path: specification.path, writable });
    }
    case 'chunked': {
      const { chunkedFileSystem } = await import('./engines/chunked/chunked.js');
      return chunkedFileSystem({ ...specification, writable, create, lockLibrary, root: ownRoot() });
    }
  }
}

function ownRoot() {
  return { mode: 0o755, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
}
