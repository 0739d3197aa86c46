/**
 * The trash of a store: what is thrown away moves here in one rename, and a process in the background frees it
 * (`emptyTrashLater`, native/tree/empty.c): dropping a large tree costs the person nothing.
 */
import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  type PathLike,
  readdirSync,
  renameSync,
  type StatsFs,
  statfsSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { directoryFlags } from '../../base/directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeLastDirectory } from '../../base/make-directory.js';
import { uniqueName } from '../../base/unique-name.js';
import type { Tree } from '../tree/tree.js';
import { storePaths } from './layout.js';
import { isLocked } from './locks.js';
import type { Store } from './store.js';

/** Of a trash that somebody deleted to make room there is nothing; `trashOf` makes it again. */
function namesIn(trash: string): readonly string[] {
  try {
    return readdirSync(trash);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'look into the trash', trash);
  }
}

/** Where something is thrown away to. ENOENT where the store itself is gone. */
function trashOf(store: Store): string {
  const { trash } = storePaths(store.directory);
  makeLastDirectory(trash);
  return trash;
}

/** Gives the owner of a directory every right to it. A link is not followed: a command may have made it, to a file of the person's. */
function letOwnerIn(directory: PathLike): void {
  const descriptor = openSync(directory, directoryFlags);
  try {
    const { mode } = fstatSync(descriptor);
    if ((mode & 0o700) !== 0o700) chmodSync(`/proc/self/fd/${descriptor}`, (mode | 0o700) & 0o7777);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Moving a directory writes its `..`: a tree whose top the person may not write is opened first. Root needs no
 * permission.
 */
export function moveTree(from: PathLike, to: PathLike): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    letOwnerIn(from);
    renameSync(from, to);
  }
}

/** Moves the directory out of the way, and says where it is now. A missing one is fine. */
export function throwAway(store: Store, directory: string): string | undefined {
  try {
    const away = join(trashOf(store), uniqueName());
    moveTree(directory, away);
    return away;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'throw away', directory);
    return undefined;
  }
}

/**
 * The same for a layer that no one names, after what it was made for. Where that fails the layer stays until the next
 * collection, which finds it: what was done is not called a failure because of it.
 */
export function throwAwayOrLeave(store: Store, layer: string): void {
  try {
    throwAway(store, layer);
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
  }
}

/**
 * Moves away what is in the directory, and leaves itself: a kept jail has it mounted, and goes on. A missing one is fine. Names are
 * bytes: one that is not UTF-8 would be missing under the text that is made of it.
 */
export function throwAwayContents(store: Store, directory: string): void {
  try {
    // A command may have taken all rights to its home or `/tmp` away.
    letOwnerIn(directory);
    const names = readdirSync(directory, { encoding: 'buffer' });
    if (names.length === 0) return;
    const away = join(trashOf(store), uniqueName());
    mkdirSync(away, { mode: 0o700 });
    const below = (top: string, name: Buffer) => Buffer.concat([Buffer.from(`${top}/`), name]);
    for (const name of names) {
      try {
        moveTree(below(directory, name), below(away, name));
      } catch (error) {
        // A process that outlived its command deleted it: the others are still there.
        if (!hasCode(error, 'ENOENT')) throw error;
      }
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'throw away', directory);
  }
}

/** Two that empty one trash meet in its directories: each waits a little for what the other has in hand. */
const meetings = 200;
const meetingMilliseconds = 50;

async function removeFromTrash(tree: Tree, directory: string): Promise<void> {
  for (let met = 0; ; met++) {
    try {
      await tree.remove(directory);
      return;
    } catch (error) {
      // Another process deleted it first.
      if (hasCode(error, 'ENOENT')) return;
      if (!hasCode(error, 'ENOTEMPTY') || met >= meetings) throw error;
      await sleep(meetingMilliseconds);
    }
  }
}

/** Waits until everything in the trash is deleted. */
export async function emptyTrash(store: Store, tree: Tree): Promise<void> {
  const { trash } = storePaths(store.directory);
  for (const name of namesIn(trash)) await removeFromTrash(tree, join(trash, name));
}

/** Where less than one part in so many of the disk is free, room is made before anything goes on. */
const scarcePart = 50;

type DiskRoom = Pick<StatsFs, 'bavail' | 'blocks' | 'ffree' | 'files'>;

/** Of its blocks or of its inodes: each of them can run out alone. */
function isNearlyFull({ bavail, blocks, ffree, files }: DiskRoom): boolean {
  return bavail * scarcePart < blocks || ffree * scarcePart < files;
}

/**
 * Returns at once, unless the disk is nearly full: a process of low priority deletes what is in the trash. Where that one is killed, the
 * next verb starts another (`resumeEmptying`).
 */
export async function emptyTrashLater(store: Store, tree: Tree, disk?: DiskRoom): Promise<void> {
  const { trash } = storePaths(store.directory);
  if (trashCount(store) === 0) return;
  if (isNearlyFull(disk ?? statfsSync(trash))) await emptyTrash(store, tree);
  else tree.emptyLater(trash);
}

/** Directories that were thrown away and are still being freed. */
export function trashCount(store: Store): number {
  return namesIn(storePaths(store.directory).trash).length;
}

/**
 * With every verb that opens a fork: a process that was killed, or a machine that stopped, may have left something in the trash. Where that
 * fails the verb goes on: `ctx gc` says why.
 */
export async function resumeEmptying(store: Store, tree: Tree): Promise<void> {
  const { trash } = storePaths(store.directory);
  try {
    if (trashCount(store) > 0 && !(await isLocked(tree, trash))) tree.emptyLater(trash);
  } catch (error) {
    fromSystemError(error, 'empty the trash', trash); // throws a defect of ours
  }
}

/** Deletes these, and waits for it, but not for anything else in the trash. */
export async function discard(store: Store, tree: Tree, directories: readonly string[]): Promise<void> {
  for (const away of directories.map((directory) => throwAway(store, directory))) {
    if (away !== undefined) await removeFromTrash(tree, away);
  }
}
