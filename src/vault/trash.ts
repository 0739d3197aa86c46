/** Away in one rename, deleted when there is time: dropping a large tree costs the person nothing. */
import { chmodSync, lstatSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fromSystemError, hasCode } from '../base/errno.js';
import { uniqueName } from '../base/unique-name.js';
import { storePaths } from './layout.js';
import type { Store } from './store.js';
import type { Tree } from './tree.js';

/** Moving a directory writes its `..`: a tree whose top the person may not write is opened first. Root needs no leave. */
export function moveTree(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    chmodSync(from, lstatSync(from).mode | 0o700);
    renameSync(from, to);
  }
}

/** Moves the directory out of the way. A missing one is fine. */
export function throwAway(store: Store, directory: string): void {
  try {
    moveTree(directory, join(storePaths(store.directory).trash, uniqueName()));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'throw away', directory);
  }
}

export async function emptyTrash(store: Store, tree: Tree): Promise<void> {
  const { trash } = storePaths(store.directory);
  for (const name of readdirSync(trash)) {
    await tree.remove(join(trash, name)).catch((error: unknown) => {
      // Another process empties the same trash: what it took away under our hands is gone, as we wanted.
      if (!hasCode(error, 'ENOENT')) throw error;
    });
  }
}

export async function discard(store: Store, tree: Tree, directories: readonly string[]): Promise<void> {
  for (const directory of directories) throwAway(store, directory);
  await emptyTrash(store, tree);
}
