/** Snapshots of a chunk store: made, listed, deleted, and gone back to. Each is one transaction, whatever the tree holds. */
import { ErrnoError } from '../../../base/errno.js';
import { shellWord } from '../../../base/visible-text.js';
import { openChunkedStore } from './chunked.js';
import { requireSnapshot } from './chunked-store.js';
import { ChunkDatabase, type Root } from './database.js';

export interface SnapshotStore {
  readonly file: string;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
}

const root = { mode: 0o755, uid: 0, gid: 0 };

/** By the process that alone may write to it meanwhile. ENOENT EBUSY */
async function writing<T>(
  { file, lockLibrary }: SnapshotStore,
  act: (opened: Awaited<ReturnType<typeof openChunkedStore>>) => T,
): Promise<T> {
  const opened = await openChunkedStore({ file, writable: true, create: false, lockLibrary, root });
  try {
    return act(opened);
  } finally {
    try {
      await opened.store.close();
    } finally {
      opened.release();
    }
  }
}

export function makeSnapshot(place: SnapshotStore, name: string): Promise<Root> {
  return writing(place, ({ store }) => store.snapshot(name));
}

/** A tree that is written to, beside the file's first one: of that, or of the snapshot or clone `of`. ENOENT EEXIST EBUSY */
export function makeClone(place: SnapshotStore, name: string, of: string | undefined): Promise<Root> {
  return writing(place, ({ store }) => store.clone(name, of));
}

/** The oldest first. */
export async function listSnapshots(file: string): Promise<readonly (readonly [string, Root])[]> {
  const database = await ChunkDatabase.open(file, false, false);
  try {
    return [...database.roots()].sort(([, one], [, other]) => (one.made < other.made ? -1 : 1));
  } finally {
    await database.close();
  }
}

/** What only it held is given back by `ctx vfs check --collect`. ENOENT */
export function deleteSnapshot(place: SnapshotStore, name: string): Promise<void> {
  return writing(place, ({ database }) => {
    requireSnapshot(database, name);
    database.removeRoot(name);
  });
}

/** Another number after every change of the tree that was committed. */
export async function editsOf(file: string): Promise<number> {
  const database = await ChunkDatabase.open(file, false, false);
  try {
    return database.heading()?.edits ?? 0;
  } finally {
    await database.close();
  }
}

export interface Restored {
  /** The snapshot of what was there before. */
  readonly kept: string;
  /** `editsOf` the tree as it is now. */
  readonly edits: number;
}

/**
 * The tree as it was in a snapshot; what it was until now is kept in another one, `keep`. `expected`: ESTALE where the tree
 * has been changed since it had so many edits, and nothing is changed.
 */
export function restoreSnapshot(
  place: SnapshotStore,
  { name, keep, expected }: { readonly name: string; readonly keep: string; readonly expected?: number | undefined },
): Promise<Restored> {
  return writing(place, ({ store, database }) => {
    const to = requireSnapshot(database, name);
    if (expected !== undefined && (database.heading()?.edits ?? 0) !== expected) {
      throw new ErrnoError('ESTALE', {
        operation: 'restore',
        path: place.file,
        reason: 'it has been changed since, by another command or mount',
        remedy: `ctx vfs restore ${shellWord(`chunked:${place.file}`)} ${name} goes back all the same`,
      });
    }
    store.snapshot(keep);
    store.goBack(to);
    return { kept: keep, edits: database.heading()?.edits ?? 0 };
  });
}
