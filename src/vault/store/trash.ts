/** Away in one rename, deleted when there is time: dropping a large tree costs the person nothing. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { uniqueName } from '../../base/unique-name.js';
import type { Tree } from '../tree/tree.js';
import { storePaths } from './layout.js';
import type { Store } from './store.js';

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

/**
 * The same for a layer that nobody names, after what it was made for. Where that fails the layer stays until the next collection,
 * which finds it: what was done is not called a failure because of it.
 */
export function throwAwayOrLeave(store: Store, layer: string): void {
  try {
    throwAway(store, layer);
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
  }
}

/** Moves away what is in the directory, and leaves itself: a kept jail has it mounted, and goes on. A missing one is fine. */
export function throwAwayContents(store: Store, directory: string): void {
  try {
    const names = readdirSync(directory);
    if (names.length === 0) return;
    const away = join(storePaths(store.directory).trash, uniqueName());
    mkdirSync(away, { mode: 0o700 });
    for (const name of names) moveTree(join(directory, name), join(away, name));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'throw away', directory);
  }
}

/** Two that empty one trash meet in its directories: each waits a little for what the other has in hand. */
const meetings = 200;
const meetingMilliseconds = 50;

export async function emptyTrash(store: Store, tree: Tree): Promise<void> {
  const { trash } = storePaths(store.directory);
  for (const name of readdirSync(trash)) {
    for (let met = 0; ; met++) {
      try {
        await tree.remove(join(trash, name));
        break;
      } catch (error) {
        // Another process took it away under our hands: it is gone, as we wanted.
        if (hasCode(error, 'ENOENT')) break;
        if (!hasCode(error, 'ENOTEMPTY') || met >= meetings) throw error;
        await sleep(meetingMilliseconds);
      }
    }
  }
}

/** Where less than one part in so many of the disk is free, room is made before anything goes on. */
const scarcePart = 10;

/**
 * The same, and nobody waits for it, unless the disk is nearly full: the prompt is back, and a process of low priority frees what was
 * thrown away. It may be killed; the next one goes on.
 */
export async function emptyTrashLater(store: Store, tree: Tree): Promise<void> {
  const { trash } = storePaths(store.directory);
  const { bavail, blocks, ffree, files } = statfsSync(trash);
  if (bavail * scarcePart < blocks || ffree * scarcePart < files) await emptyTrash(store, tree);
  else if (trashCount(store) > 0) tree.emptyLater(trash);
}

/** Directories that were thrown away and are still being freed. */
export function trashCount(store: Store): number {
  return readdirSync(storePaths(store.directory).trash).length;
}

export async function discard(store: Store, tree: Tree, directories: readonly string[]): Promise<void> {
  for (const directory of directories) throwAway(store, directory);
  await emptyTrash(store, tree);
}
