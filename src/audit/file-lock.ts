/** The kernel's lock on a file, which Node does not offer: `native/flock.node`. It is gone with the process that holds it. */
import { ErrnoError } from '../base/errno.js';
import { recordLockMilliseconds } from '../base/limits/store.js';

export interface FileLock {
  /** Waits a bounded time; EAGAIN where somebody else still holds it then. */
  hold(descriptor: number, path: string): void;
  release(descriptor: number): void;
}

interface Library {
  /** 0 or an errno. */
  lock(descriptor: number, milliseconds: number): number;
  unlock(descriptor: number): number;
}

const busy = 11; // EAGAIN

/** `what` is locked, for the messages. */
export function loadFileLock(library: string, milliseconds = recordLockMilliseconds, what = 'record'): FileLock {
  const module = { exports: {} as Library };
  try {
    process.dlopen(module, library);
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation: what,
      path: library,
      reason: 'the library that locks files is missing',
      remedy: 'npm run setup -- start, in the checkout of ctxfs',
      cause,
    });
  }
  return {
    hold(descriptor, path) {
      const number = module.exports.lock(descriptor, milliseconds);
      if (number === 0) return;
      throw new ErrnoError(number === busy ? 'EAGAIN' : 'EIO', {
        operation: what,
        path,
        reason:
          number === busy
            ? `expected the ${what} to be free within ${milliseconds} ms: another process holds it`
            : `flock failed with errno ${number}`,
        remedy: 'try again; if it persists, a process of ctx is stopped or hangs',
      });
    },
    release(descriptor) {
      module.exports.unlock(descriptor);
    },
  };
}
