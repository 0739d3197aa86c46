/**
 * The lock of a fork: held for moments, in which its state changes or somebody comes or goes, and by one process at a
 * time. What has to have the fork by itself looks who is at work on it, with the lock held: no one comes meanwhile.
 */
import { closeSync } from 'node:fs';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { leavingMilliseconds, waitToldMilliseconds } from '../../base/limits/commands.js';
import type { Tree } from '../tree/tree.js';
import { busyWith, endOf, isLeaving, readGroup } from './group.js';
import type { ForkPaths } from './layout.js';
import { takeLock, type VaultLockOptions } from './locks.js';
import type { Worker } from './worker-file.js';

export class ForkLock {
  readonly #tree: Tree;
  readonly #file: string;
  readonly #options: VaultLockOptions;
  #descriptor: number | undefined;

  /** Of a lock that was taken. */
  constructor(tree: Tree, file: string, descriptor: number, options: VaultLockOptions) {
    this.#tree = tree;
    this.#file = file;
    this.#descriptor = descriptor;
    this.#options = options;
  }

  letGo(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Waits its turn. */
  async takeAgain(): Promise<void> {
    const options = { ...this.#options, wait: true, signal: undefined, again: true };
    this.#descriptor ??= await takeLock(this.#tree, this.#file, options);
  }
}

/** False where that takes too long. */
async function hasLeft(tree: Tree, place: ForkPaths, leaving: Worker, signal?: AbortSignal): Promise<boolean> {
  const patience = AbortSignal.timeout(leavingMilliseconds);
  try {
    await endOf(tree, place, leaving, signal === undefined ? patience : AbortSignal.any([patience, signal]));
    return true;
  } catch (error) {
    if (!patience.aborted) throw error;
    return false;
  }
}

/**
 * The lock of a fork that no one is at work on; EBUSY where somebody is, or has the lock, and ENOENT where it has been
 * deleted. Its descriptor is to be closed.
 */
export async function lockQuietFork(
  tree: Tree,
  place: ForkPaths,
  options: VaultLockOptions,
): Promise<{ readonly descriptor: number }> {
  // One that is deleted meanwhile is not made again by its lock.
  const descriptor = await takeLock(tree, place.lock, { ...options, again: true });
  try {
    for (let isPatient = true; ; ) {
      const { live } = await readGroup(tree, place);
      const [first] = live;
      if (first === undefined) return { descriptor };
      if (!isPatient || !live.every(isLeaving)) throw busyWith(options.what, live);
      isPatient = await hasLeft(tree, place, first, options.signal);
    }
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The same of one that was in a list: undefined where it has been deleted since. */
export async function lockFoundFork(
  ...asked: Parameters<typeof lockQuietFork>
): Promise<{ readonly descriptor: number } | undefined> {
  try {
    return await lockQuietFork(...asked);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export interface Locked {
  readonly lock: ForkLock;
  readonly descriptor: number;
  readonly others: readonly Worker[];
  /** Those who were killed at work: the process that has the lock says so in the record. */
  readonly dead: readonly Worker[];
}

const cancelled = (path: string, cause: unknown) =>
  new ErrnoError('ECANCELED', {
    operation: 'open the fork',
    path,
    reason: 'it was cancelled while it waited for the commands that use it',
    cause,
  });

/** As long as it takes: until no one is at work, or beside those who are. `take` takes the lock. */
export async function lockInTurn<T extends { readonly descriptor: number }>(
  tree: Tree,
  place: ForkPaths,
  options: VaultLockOptions & {
    readonly beside: boolean;
    readonly waitForCommands: boolean;
    /** Told what it waits for, where that takes a while. */
    readonly onWait?: ((what: string) => void) | undefined;
  },
  take: () => Promise<T>,
): Promise<T & Locked> {
  let onWait = options.onWait;
  for (let isPatient = true; ; ) {
    const taken = await take();
    const lock = new ForkLock(tree, place.lock, taken.descriptor, options);
    try {
      const { live, dead } = await readGroup(tree, place);
      const [first] = live;
      // To work beside them there would be nothing to share, and what they wrote would not be frozen.
      const isLeft = isPatient && live.every(isLeaving);
      if (first === undefined || (options.beside && !isLeft)) return { ...taken, lock, others: live, dead };
      lock.letGo();
      if (!isLeft && !options.waitForCommands) throw busyWith(options.what, live);
      const told = setTimeout(() => {
        onWait?.(`waiting until no other command uses the fork: ${busyWith(options.what, live).reason}`);
        onWait = undefined;
      }, waitToldMilliseconds);
      try {
        if (isLeft) isPatient = await hasLeft(tree, place, first, options.signal);
        else await endOf(tree, place, first, options.signal);
      } catch (cause) {
        throw options.signal?.aborted === true ? cancelled(options.what, cause) : cause;
      } finally {
        clearTimeout(told);
      }
    } catch (error) {
      lock.letGo();
      throw error;
    }
  }
}
