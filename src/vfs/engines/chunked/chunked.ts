/**
 * `chunked:FILE[@SNAPSHOT]`: a durable tree in one file. One process at a time may write; others read what was last committed.
 * Snapshots are read-only, clones are written to; each costs one record, whatever the tree holds.
 */
import { closeSync, openSync } from 'node:fs';
import { ErrnoError } from '../../../base/errno.js';
import { loadFlock } from '../../../base/file-lock.js';
import type { Creation, FileSystem } from '../../filesystem.js';
import { InodeFileSystem } from '../inodes/inode-filesystem.js';
import { ChunkedStore } from './chunked-store.js';
import { ChunkDatabase } from './database.js';

export interface ChunkedOptions {
  readonly file: string;
  readonly snapshot?: string | undefined;
  readonly writable: boolean;
  readonly create: boolean;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
  /** Who has the root directory of a new one. */
  readonly root: Creation;
}

interface ChunkedTreeOptions extends ChunkedOptions {
  /** The snapshot of what is there now, where it is written to. */
  readonly before?: string | undefined;
}

export interface OpenedStore {
  readonly store: ChunkedStore;
  readonly database: ChunkDatabase;
  /** Gives the writer's place back; the store closes first. */
  release(): void;
}

export async function openChunkedStore(options: ChunkedOptions): Promise<OpenedStore> {
  const { file, snapshot, writable, create, lockLibrary, root } = options;
  const database = await ChunkDatabase.open(file, writable, create && snapshot === undefined);
  let unlock: () => void = () => undefined;
  try {
    if (writable) unlock = lockWriter(file, lockLibrary);
    const store = new ChunkedStore(database, { writable, snapshot, root });
    return { store, database, release: unlock };
  } catch (error) {
    await database.close();
    unlock();
    throw error;
  }
}

export async function chunkedFileSystem({ before, ...options }: ChunkedTreeOptions): Promise<FileSystem> {
  const { store, release } = await openChunkedStore(options);
  const { file, snapshot, writable } = options;
  try {
    if (before !== undefined && writable && snapshot === undefined) store.snapshot(before);
  } catch (error) {
    try {
      await store.close();
    } finally {
      release();
    }
    throw error;
  }
  const label = `chunked:${file}${snapshot === undefined ? '' : `@${snapshot}`}`;
  return new InodeFileSystem(store, {
    label,
    writable,
    durable: true,
    ended: release,
    changesOutside: store.changesOutside,
  });
}

/** The kernel lets go of it when this process ends, however it ends. */
function lockWriter(file: string, lockLibrary: string): () => void {
  const { lock } = loadFlock(lockLibrary, 'open');
  const descriptor = openSync(file, 'r');
  if (lock(descriptor, 0) === 0) return () => closeSync(descriptor);
  closeSync(descriptor);
  throw new ErrnoError('EBUSY', {
    operation: 'open',
    path: file,
    reason: 'another process writes to it',
    remedy: 'wait until it has ended, or unmount it: ctx vfs unmount DIR',
  });
}
