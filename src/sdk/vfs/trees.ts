/** What the verbs of `ctx vfs` do: one tree by its specification, opened for one call, and ended. */
import { ErrnoError } from '../../base/errno.js';
import { uniqueName } from '../../base/unique-name.js';
import { type CheckResult, checkStore, collect } from '../../vfs/engines/chunked/check.js';
import { openChunkedStore } from '../../vfs/engines/chunked/chunked.js';
import { requireSnapshot } from '../../vfs/engines/chunked/chunked-store.js';
import { ChunkDatabase, entriesIn } from '../../vfs/engines/chunked/database.js';
import {
  deleteSnapshot,
  listSnapshots,
  makeClone,
  makeSnapshot,
  restoreSnapshot,
} from '../../vfs/engines/chunked/snapshots.js';
import { pathOf } from '../../vfs/mount-table.js';
import { textFromName } from '../../vfs/names.js';
import { openTable } from '../../vfs/open-engine.js';
import { planOf } from '../../vfs/read-plan.js';
import { checkSnapshotName, type EngineSpecification } from '../../vfs/specification.js';
import { sourcesOf } from '../../vfs/tree-plan.js';
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
  options: { readonly writable: boolean | undefined; readonly create?: boolean },
  act: (tree: Vfs) => Promise<T>,
): Promise<T> {
  const plan = planOf(place.specification, place.directory);
  const tree = new Vfs(await openTable(plan, { ...options, lockLibrary: place.lockLibrary }));
  try {
    return await act(tree);
  } finally {
    await tree.close();
  }
}

/** EINVAL for a tree that ends with the call: what is written to it would be gone before anybody could look. */
export function refuseFleeting(place: TreePlace): void {
  const { mounts } = planOf(place.specification, place.directory);
  if (mounts.some(({ source }) => source.engine !== 'memory')) return;
  throw new ErrnoError('EINVAL', {
    operation: 'put',
    path: place.specification,
    reason: 'a tree in memory ends with this command, so nothing would be kept',
    remedy: 'write to a chunked: tree, or mount it and write there: ctx vfs mount memory: DIR --writable',
  });
}

export interface Snapshot {
  readonly name: string;
  readonly made: string;
  /** Files, directories and links, without the top itself. */
  readonly files: number;
  /** It is a clone, and written to. */
  readonly clone?: boolean | undefined;
}

/** A tree of its own in the same file, as another one is now. */
export async function cloneTree(place: TreePlace, name: string): Promise<Snapshot> {
  checkSnapshotName(name);
  const { file, snapshot } = chunkedOf(place, 'clone');
  const root = await makeClone({ file, lockLibrary: place.lockLibrary }, name, snapshot);
  return { name, made: root.made, files: entriesIn(root), clone: true };
}

export async function snapshotTree(place: TreePlace, name: string): Promise<Snapshot> {
  checkSnapshotName(name);
  const { file, snapshot } = chunkedOf(place, 'snapshot');
  if (snapshot !== undefined) {
    const reason = `expected the tree itself, got its snapshot '${snapshot}'`;
    throw new ErrnoError('EINVAL', { operation: 'snapshot', path: place.specification, reason });
  }
  const root = await makeSnapshot({ file, lockLibrary: place.lockLibrary }, name);
  return { name, made: root.made, files: entriesIn(root) };
}

/** The oldest first. */
export async function snapshotsOf(place: TreePlace): Promise<readonly Snapshot[]> {
  const { file } = chunkedOf(place, 'snapshot');
  return (await listSnapshots(file)).map(([name, root]) => ({
    name,
    made: root.made,
    files: entriesIn(root),
    clone: root.clone ?? false,
  }));
}

export async function deleteSnapshotOf(place: TreePlace, name: string): Promise<void> {
  checkSnapshotName(name);
  const { file } = chunkedOf(place, 'snapshot');
  await deleteSnapshot({ file, lockLibrary: place.lockLibrary }, name);
}

/** Back to a snapshot; what the tree was until now is in the one that is answered. */
export async function restoreTree(place: TreePlace, name: string): Promise<string> {
  checkSnapshotName(name);
  const { file } = chunkedOf(place, 'restore');
  const keep = `before-${uniqueName()}`;
  const { kept } = await restoreSnapshot({ file, lockLibrary: place.lockLibrary }, { name, keep });
  return kept;
}

/** Of chunked trees with their snapshots; of others, that they can be opened and their roots be listed. */
export async function checkTree(place: TreePlace): Promise<CheckResult> {
  const { mounts, isTable } = planOf(place.specification, place.directory);
  const found: CheckResult[] = [];
  for (const { path, source } of mounts) {
    for (const engine of sourcesOf(source)) {
      if (engine.engine !== 'chunked') continue;
      const result = await checkChunked(engine);
      const at = isTable ? `${textFromName(pathOf(path))}: ` : '';
      found.push({ ...result, problems: result.problems.map((problem) => `${at}${problem}`) });
    }
  }
  const others = mounts.flatMap(({ source }) => sourcesOf(source)).some(({ engine }) => engine !== 'chunked');
  const entries = others
    ? await withTree(place, { writable: false }, async (tree) => (await tree.readdir('/')).length)
    : 0;
  const sum = (count: (result: CheckResult) => number) => found.reduce((all, result) => all + count(result), 0);
  return {
    problems: found.flatMap(({ problems }) => problems),
    snapshots: found.flatMap(({ snapshots }) => snapshots),
    files: found.length === 0 ? entries : sum(({ files }) => files),
    chunks: sum(({ chunks }) => chunks),
    unused: sum(({ unused }) => unused),
  };
}

async function checkChunked({ file, snapshot }: ChunkedSpecification): Promise<CheckResult> {
  const database = await ChunkDatabase.open(file, false, false);
  try {
    if (snapshot !== undefined) requireSnapshot(database, snapshot);
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

type ChunkedSpecification = Extract<EngineSpecification, { engine: 'chunked' }>;

function chunkedOf(place: TreePlace, operation: string): ChunkedSpecification {
  const { mounts, isTable } = planOf(place.specification, place.directory);
  const [first] = mounts;
  if (!isTable && first?.source.engine === 'chunked') return first.source;
  const what = isTable ? 'table of trees' : `${first?.source.engine} tree`;
  throw new ErrnoError('ENOTSUP', {
    operation,
    path: place.specification,
    reason: `a ${what} has no snapshots`,
    remedy: 'name a chunked: tree',
  });
}
