/**
 * The kernel's own locks on files of a host tree, so that they hold between users of the tree and everybody else on this machine.
 * The kernel knows an owner by the open file a lock was taken through, so each owner of a file has one of its own here.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { hasCode } from '../../../base/errno.js';
import { type FlockLibrary, loadFlock } from '../../../base/file-lock.js';
import { failure } from '../../failure.js';
import type { Handle, Inode, Lock, LockRequest } from '../../filesystem.js';
import { ownPath } from './anchored.js';

const kinds = { none: 0, shared: 1, exclusive: 2 } as const;
const { EAGAIN, EACCES, EBADF, ENOLCK } = osConstants.errno;

interface Owner {
  readonly descriptor: number;
  /** Through which handles it asked: its locks end with any of them, as the kernel has it. */
  readonly handles: Set<Handle>;
}

export class HostLocks {
  readonly #library: FlockLibrary;
  /** An exclusive lock on a range asks for a file that is open to be written. */
  readonly #flags: number;
  readonly #owners = new Map<string, Owner>();

  constructor(library: string, writable: boolean) {
    this.#flags = (writable ? constants.O_RDWR : constants.O_RDONLY) | constants.O_NONBLOCK;
    this.#library = loadFlock(library, 'lock');
  }

  /** As the table of locks does it. ENOLCK */
  lock(inode: Inode, handle: Handle, request: LockRequest): Lock | undefined {
    const { family, kind, start, end, owner, test } = request;
    const key = `${inode}:${family}:${owner}`;
    if (kind === 'none' && !this.#owners.has(key)) return undefined;
    const found = this.#owners.get(key) ?? { descriptor: this.#reopened(handle), handles: new Set<Handle>() };
    this.#owners.set(key, found);
    found.handles.add(handle);
    const whole: Lock = { kind: 'exclusive', start: 0, end: Infinity };
    if (family === 'ranges') {
      const last = end === Infinity ? 0 : end;
      return answered(this.#library.range(found.descriptor, kinds[kind], start, last, test === true ? 1 : 0), whole);
    }
    // Nothing says who has it; the process that gets it that way gives it back.
    const answer = this.#library.whole(found.descriptor, kinds[kind]);
    if (test === true && answer === 0) this.#library.whole(found.descriptor, kinds.none);
    return answered(answer, whole);
  }

  /** The same file, opened anew; where it cannot be written, only to be read. */
  #reopened(handle: Handle): number {
    try {
      return openSync(ownPath(handle), this.#flags);
    } catch (error) {
      if (!hasCode(error, 'EACCES') && !hasCode(error, 'EROFS')) throw error;
      return openSync(ownPath(handle), constants.O_RDONLY | constants.O_NONBLOCK);
    }
  }

  released(handle: Handle): void {
    for (const [key, { descriptor, handles }] of this.#owners) {
      if (!handles.has(handle)) continue;
      this.#owners.delete(key);
      closeSync(descriptor);
    }
  }
}

function answered(answer: number | readonly number[], unknown: Lock): Lock | undefined {
  if (typeof answer === 'object') {
    const [kind, start = 0, end = 0] = answer;
    return { kind: kind === kinds.shared ? 'shared' : 'exclusive', start, end: end === 0 ? Infinity : end };
  }
  if (answer === 0) return undefined;
  if (answer === -EAGAIN || answer === -EACCES) return unknown;
  if (answer === -EBADF) throw failure('EBADF', 'lock');
  if (answer === -ENOLCK) throw failure('ENOLCK', 'lock');
  throw failure('EIO', 'lock', undefined, `the kernel refused the lock (errno ${-answer})`);
}
