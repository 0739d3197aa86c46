/** An engine at a directory, served by this process until it is unmounted or the signal aborts. What it shows changes by itself. */
import type { FileSystem } from '../vfs/filesystem.js';
import { Dispatch } from './dispatch.js';
import { fuseLibrary, mountFuse, mountPoint } from './mount.js';
import { serve } from './serve.js';

export interface ServedView {
  readonly filesystem: FileSystem;
  readonly directory: string;
  /** Path of `fuse.node`. */
  readonly library: string;
  readonly signal: AbortSignal;
  /** It can be used from now on. */
  mounted(directory: string): void;
}

/** ENOENT ENOTDIR ENOTEMPTY EBUSY, before anything is mounted. Read-only, and of this user alone. */
export async function serveView({ filesystem, signal, ...options }: ServedView): Promise<void> {
  const directory = mountPoint(options.directory);
  const library = fuseLibrary(options.library);
  const { descriptor, end } = await mountFuse(library, { directory, writable: false, everybody: false });
  try {
    const dispatch = new Dispatch({ filesystem, mountedAt: directory, shared: true, shift: 0, ownLinks: true });
    options.mounted(directory);
    await serve({ descriptor, library, dispatch, filesystem, signal });
  } finally {
    await end();
  }
}
