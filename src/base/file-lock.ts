/**
 * The kernel's locks on files, and marks on them, which Node does not offer: `native/flock.node`, bound here alone. A lock
 * is gone with the process that holds it.
 */
import { ErrnoError } from './errno.js';
import { recordLockMilliseconds } from './limits/store.js';
import { installAgain } from './native-program.js';

export interface FlockLibrary {
  /** 0 or an errno: EAGAIN where another process still has it after this time. */
  lock(descriptor: number, milliseconds: number): number;
  unlock(descriptor: number): number;
  /** An extended attribute, put there and looked for: 0 or an errno. */
  mark(descriptor: number): number;
  marked(descriptor: number): number;
  /** Takes from a directory what is made in it would have of the directory's own: a default ACL, a group (setgid). 0 or an errno. */
  disown(descriptor: number): number;
  /** 0, a negative errno, or what is in the way. `end` 0: whatever the file grows to. */
  range(descriptor: number, kind: number, start: number, end: number, test: 0 | 1): number | readonly number[];
  whole(descriptor: number, kind: number): number;
}

/** `library` is the path of `flock.node`; ENOSYS where it is missing. */
export function loadFlock(library: string, operation: string): FlockLibrary {
  const module = { exports: {} as FlockLibrary };
  try {
    process.dlopen(module, library);
    return module.exports;
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation,
      path: library,
      reason: 'the library that locks files is missing',
      remedy: installAgain,
      cause,
    });
  }
}

export interface FileLock {
  /** Waits a bounded time; EAGAIN where somebody else still holds it then. */
  hold(descriptor: number, path: string): void;
  release(descriptor: number): void;
}

const busy = 11; // EAGAIN

/** `what` is locked, for the messages. */
export function loadFileLock(library: string, milliseconds = recordLockMilliseconds, what = 'record'): FileLock {
  const flock = loadFlock(library, what);
  return {
    hold(descriptor, path) {
      const number = flock.lock(descriptor, milliseconds);
      if (number === 0) return;
      throw new ErrnoError(number === busy ? 'EAGAIN' : 'EIO', {
        operation: what,
        path,
        reason:
          number === busy
            ? `another process has kept the ${what} locked for ${milliseconds / 1000} s`
            : `flock failed with errno ${number}`,
        remedy:
          number === busy
            ? 'run it again; if that ends so, too, a process of ctx is stopped or hangs: ctx ps lists them'
            : undefined,
      });
    },
    release(descriptor) {
      flock.unlock(descriptor);
    },
  };
}
