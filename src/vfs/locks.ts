/**
 * Advisory locks: what they are, and a table of them for engines whose files nobody else reaches. Pure but for the waiting.
 *
 * They are of two families that know nothing of each other, as in the kernel: of ranges (`fcntl`) and of whole files (`flock`).
 * Locks of one owner replace each other; those of two owners conflict where they overlap and one of them is exclusive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { locksOfFile } from '../base/limits/trees.js';
import { failure } from './failure.js';
import type { FileSystem, Handle, Inode, Lock, LockRequest, OpenMode } from './filesystem.js';

interface Held extends Lock {
  readonly family: LockRequest['family'];
  readonly owner: string;
}

/** EBADF (a lock of a range that the handle could not read, or write) EINVAL */
export function checkLock({ start, end, family, kind, test }: LockRequest, { read, write }: OpenMode): void {
  const isOpenForIt = test === true || kind === 'none' || (kind === 'shared' ? read : write);
  if (family === 'ranges' && !isOpenForIt) throw failure('EBADF', 'lock');
  const isWhole = family === 'ranges' || (start === 0 && end === Infinity);
  if (start >= 0 && end > start && isWhole) return;
  throw failure('EINVAL', 'lock', undefined, 'expected a range of at least one byte');
}

export class LockTable {
  readonly #held = new Map<Inode, readonly Held[]>();
  readonly #byHandle = new Map<Handle, { readonly inode: Inode; readonly owners: Set<string> }>();
  readonly #most: number;

  constructor(most = locksOfFile) {
    this.#most = most;
  }

  /** What is in the way, or undefined where the owner has it now. ENOLCK */
  lock(inode: Inode, handle: Handle, request: LockRequest): Lock | undefined {
    const { family, owner, kind, start, end } = request;
    const held = this.#held.get(inode) ?? [];
    const overlaps = (other: Held) => other.family === family && other.start < end && start < other.end;
    const conflict = held.find(
      (other) =>
        kind !== 'none' &&
        other.owner !== owner &&
        overlaps(other) &&
        (kind === 'exclusive' || other.kind === 'exclusive'),
    );
    if (conflict !== undefined) return { kind: conflict.kind, start: conflict.start, end: conflict.end };
    if (request.test === true) return undefined;
    const kept = held.flatMap((other) =>
      other.owner === owner && overlaps(other)
        ? [
            { ...other, end: start },
            { ...other, start: end },
          ].filter((part) => part.start < part.end)
        : [other],
    );
    const wanted = kind === 'none' ? kept : joinedTo(kept, { family, owner, kind, start, end });
    if (wanted.length > this.#most) throw failure('ENOLCK', 'lock', undefined, `a file has at most ${this.#most}`);
    this.#keep(inode, wanted);
    if (kind !== 'none') this.#usedBy(handle, inode).add(`${family}:${owner}`);
    return undefined;
  }

  /** Locks that were taken through a handle end with it. */
  released(handle: Handle): void {
    const used = this.#byHandle.get(handle);
    if (used === undefined) return;
    this.#byHandle.delete(handle);
    const held = this.#held.get(used.inode) ?? [];
    this.#keep(
      used.inode,
      held.filter(({ family, owner }) => !used.owners.has(`${family}:${owner}`)),
    );
  }

  #usedBy(handle: Handle, inode: Inode): Set<string> {
    const used = this.#byHandle.get(handle) ?? { inode, owners: new Set<string>() };
    this.#byHandle.set(handle, used);
    return used.owners;
  }

  #keep(inode: Inode, held: readonly Held[]): void {
    if (held.length > 0) this.#held.set(inode, held);
    else this.#held.delete(inode);
  }
}

/** One lock where it continues others of the same owner and kind. */
function joinedTo(held: readonly Held[], added: Held): readonly Held[] {
  const continues = (other: Held) =>
    other.family === added.family &&
    other.owner === added.owner &&
    other.kind === added.kind &&
    (other.end === added.start || other.start === added.end);
  const parts = [added, ...held.filter(continues)];
  const start = Math.min(...parts.map((part) => part.start));
  const end = Math.max(...parts.map((part) => part.end));
  return [...held.filter((other) => !continues(other)), { ...added, start, end }];
}

const shortestNap = 1;
const longestNap = 20;

/** Looks again and again, since a lock may be another process's. EINTR where `givenUp` says so. */
export async function waitForLock(
  filesystem: FileSystem,
  handle: Handle,
  request: LockRequest,
  givenUp: () => boolean,
): Promise<void> {
  for (let nap = shortestNap; ; nap = Math.min(nap * 2, longestNap)) {
    if (givenUp()) throw failure('EINTR', 'lock', undefined, 'the wait for the lock was cancelled');
    if ((await filesystem.lock(handle, request)) === undefined) return;
    await sleep(nap);
  }
}
