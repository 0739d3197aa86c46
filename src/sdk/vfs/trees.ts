/** What the verbs of `ctx vfs` do: one tree by its specification, opened for one call, and ended. */
import { resolve } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { type CheckResult, checkStore, collect } from '../../vfs/engines/chunked/check.js';
import { openChunkedStore } from '../../vfs/engines/chunked/chunked.js';
import { ChunkDatabase } from '../../vfs/engines/chunked/database.js';
import { MountTable } from '../../vfs/mount-table.js';
import { openEngine } from '../../vfs/open-engine.js';
import { checkSnapshotName, parseSpecification, type Specification } from '../../vfs/specification.js';
import { Vfs } from './vfs.js';

export type { CheckResult };

export interface TreePlace {
  readonly specification: string;
  /** Where relative paths of it begin. */
  readonly directory: string;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
}

/** Opens, acts and closes: what was written is durable when this returns, where the engine is. */
export async function withTree<T>(
  place: TreePlace,
  options: { readonly writable: boolean; readonly create?: boolean },
  act: (tree: Vfs) => Promise<T>,
): Promise<T> {
  const filesystem = await openEngine(parseSpecification(place.specification, place.directory), {
    ...options,
    lockLibrary: place.lockLibrary,
  });
  const tree = new Vfs(new MountTable([{ path: [], filesystem }]));
  try {
    return await act(tree);
  } finally {
    await tree.close();
  }
}

export interface Snapshot {
  readonly name: string;
  readonly made: string;
  readonly files: number;
}

export async function snapshotTree(place: TreePlace, name: string): Promise<Snapshot> {
  checkSnapshotName(name);
  const { file, snapshot } = chunkedOf(place, 'snapshot');
  if (snapshot !== undefined) {
    const reason = `expected the tree itself, got its snapshot '${snapshot}'`;
    throw new ErrnoError('EINVAL', { operation: 'snapshot', path: place.specification, reason });
  }
  const { lockLibrary } = place;
  const root = { mode: 0o755, uid: 0, gid: 0 };
  const opened = await openChunkedStore({ file, writable: true, create: false, lockLibrary, root });
  try {
    const { made, inodes } = opened.store.snapshot(name);
    return { name, made, files: inodes };
  } finally {
    await opened.store.close();
    opened.release();
  }
}

/** Of a chunked tree with its snapshots; of another, that it can be opened and its root be listed. */
export async function checkTree(place: TreePlace): Promise<CheckResult> {
  const specification = parseSpecification(place.specification, resolve(place.directory));
  if (specification.engine !== 'chunked') {
    return withTree(place, { writable: false }, async (tree) => {
      const files = (await tree.readdir('/')).length;
      return { problems: [], snapshots: [], files, chunks: 0, unused: 0 };
    });
  }
  const database = await ChunkDatabase.open(specification.file, false, false);
  try {
    return checkStore(database);
  } finally {
    await database.close();
  }
}

/** Gives back the space of what neither the tree nor a snapshot has any more. */
export async function collectTree(place: TreePlace): Promise<number> {
  const { file } = chunkedOf(place, 'collect');
  const { lockLibrary } = place;
  const root = { mode: 0o755, uid: 0, gid: 0 };
  const { store, database, release } = await openChunkedStore({
    file,
    writable: true,
    create: false,
    lockLibrary,
    root,
  });
  try {
    store.sync();
    return collect(database);
  } finally {
    await store.close();
    release();
  }
}

function chunkedOf(place: TreePlace, operation: string): Extract<Specification, { engine: 'chunked' }> {
  const specification = parseSpecification(place.specification, resolve(place.directory));
  if (specification.engine === 'chunked') return specification;
  throw new ErrnoError('ENOTSUP', {
    operation,
    path: place.specification,
    reason: `a ${specification.engine} tree has no snapshots`,
    remedy: 'a chunked: tree has',
  });
}
