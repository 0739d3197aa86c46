/** `memory:`: a tree in this process. What it holds is gone with it. */
import type { Creation, FileSystem } from '../../filesystem.js';
import { InodeFileSystem } from '../inodes/inode-filesystem.js';
import { MemoryStore } from './memory-store.js';

export interface MemoryOptions {
  readonly writable?: boolean | undefined;
  /** Bytes and files it holds at most; without them, what the process has. */
  readonly capacity?: number | undefined;
  readonly inodes?: number | undefined;
  /** Who has its root directory. */
  readonly root?: Creation | undefined;
}

export function memoryFileSystem(options: MemoryOptions = {}): FileSystem {
  const { writable = true, capacity, inodes, root = { mode: 0o755, uid: 0, gid: 0 } } = options;
  return new InodeFileSystem(new MemoryStore(root), { label: 'memory:', writable, durable: false, capacity, inodes });
}
