/**
 * Two kinds of lock. A fork's is held while its state changes, or somebody begins or ends work on it. The vault's is
 * held while the trunk or the set of forks changes. A process that holds both took the fork's first, or did not wait
 * for it.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ErrnoError, fromSystemError, hasCode, isFull } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import type { Tree, WalkerLock } from '../tree/tree.js';

export interface VaultLockOptions {
  readonly wait: boolean;
  /** Who is asking: shown to the next one who finds it taken. */
  readonly purpose: string;
  /** What is locked, for the message. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  /** It was held before: where it is missing, the store was removed meanwhile, and is not made again. */
  readonly again?: boolean | undefined;
}

/** Of a fork that is in use. */
export function removedMeanwhile(directory: string, cause: unknown): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'open the fork',
    path: directory,
    reason: 'it was removed while it was in use, and with it what changed there',
    remedy: 'run it again: a fork is made where there is none',
    cause,
  });
}

/** What takes the locks of forks that it does not use, briefly, and with the vault's lock held. */
export const briefPurposes = ['ctx gc', 'ctx fork create'];

const isBrief = (purpose: string) => briefPurposes.some((brief) => purpose.startsWith(brief));

/** As its file says, which a new holder writes only once it has the lock: until then it may have said so of an earlier one. */
function isHeldBriefly(file: string): boolean {
  const [, ...purpose] = readFileSync(file, 'utf8').split(' ');
  return isBrief(purpose.join(' '));
}

/** The directory is made only where it is missing: a lock is taken far more often than it is new. */
function openLock(file: string, again = false): number {
  const open = () => openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    return open();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'open the lock', file);
    if (again) throw removedMeanwhile(dirname(file), error);
    makeDirectory(dirname(file));
    return open();
  }
}

/**
 * For people alone: on a full disk the lock is held all the same, and says less. The file is never emptied: some disks wait for the block
 * that is freed, and whoever reads it meanwhile would find no holder.
 */
function noteHolder(descriptor: number, text: string): void {
  try {
    const length = writeSync(descriptor, text.slice(0, 1000), 0);
    if (fstatSync(descriptor).size > length) ftruncateSync(descriptor, length);
  } catch (error) {
    if (!isFull(error) && !hasCode(error, 'EIO')) throw error;
  }
}

interface Held<T> {
  readonly descriptor: number;
  readonly taken: T;
}

/**
 * Takes the lock by way of `take`, which may do more in the same process; the descriptor holds it until it is closed. Who waited for it
 * while its directory was thrown away has one that the next one does not see, and begins again.
 */
export async function lockWith<T>(
  file: string,
  options: VaultLockOptions,
  take: (request: WalkerLock) => Promise<T>,
): Promise<Held<T>> {
  for (;;) {
    const held = await lockOnce(file, options, take);
    if (isAt(file, held.descriptor)) return held;
    closeSync(held.descriptor);
  }
}

function isAt(file: string, descriptor: number): boolean {
  const [there, ours] = [statSync(file, { throwIfNoEntry: false }), fstatSync(descriptor)];
  return there?.ino === ours.ino && there.dev === ours.dev;
}

async function lockOnce<T>(
  file: string,
  options: VaultLockOptions,
  take: (request: WalkerLock) => Promise<T>,
): Promise<Held<T>> {
  const descriptor = openLock(file, options.again);
  try {
    const taken = await take({ descriptor, wait: options.wait }).catch((error: unknown) => {
      // Who has the vault's lock must not wait: the holder of this one may be about to wait for that.
      if (!hasCode(error, 'EBUSY') || isBrief(options.purpose) || !isHeldBriefly(file)) throw error;
      return take({ descriptor, wait: true });
    });
    noteHolder(descriptor, `${process.pid} ${options.purpose}`);
    return { descriptor, taken };
  } catch (error) {
    closeSync(descriptor);
    if (!hasCode(error, 'EBUSY')) throw error;
    const [pid = '?', ...purpose] = readFileSync(file, 'utf8').split(' ');
    throw new ErrnoError('EBUSY', {
      operation: 'open the fork',
      path: options.what,
      reason: `process ${pid} is using it: ${purpose.join(' ')}`,
      remedy:
        'wait for it to end, or pass --wait; ctx ps shows how to end it; ctx fork create copies the fork as it is',
    });
  }
}

export async function takeLock(tree: Tree, file: string, options: VaultLockOptions): Promise<number> {
  const { signal } = options;
  return (await lockWith(file, options, (request) => tree.lock(request, { signal }))).descriptor;
}

/** Undefined where another process has it now. */
export async function takeFreeLock(tree: Tree, file: string, options: VaultLockOptions): Promise<number | undefined> {
  try {
    return await takeLock(tree, file, { ...options, wait: false });
  } catch (error) {
    if (hasCode(error, 'EBUSY')) return undefined;
    throw error;
  }
}

/** The vault's lock, waited for: it is held for short whiles only. */
export async function withVaultLock<T>(
  tree: Tree,
  file: string,
  purpose: string,
  use: (descriptor: number) => Promise<T> | T,
  { again = false }: Pick<VaultLockOptions, 'again'> = {},
): Promise<T> {
  const descriptor = await takeLock(tree, file, { wait: true, purpose, what: file, again });
  try {
    return await use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Where no process has the lock it is shared with all who look, until the descriptor is closed: they do not see each other. */
export async function isFree(tree: Tree, descriptor: number): Promise<boolean> {
  try {
    await tree.lock({ descriptor, wait: false, shared: true });
    return true;
  } catch (error) {
    if (hasCode(error, 'EBUSY')) return false;
    throw error;
  }
}

/** Whether a process has the lock of this file or directory now. */
export async function isLocked(tree: Tree, path: string): Promise<boolean> {
  const descriptor = openSync(path, 'r');
  try {
    return !(await isFree(tree, descriptor));
  } finally {
    closeSync(descriptor);
  }
}
