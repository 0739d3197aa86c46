/** The lock of a session's fork: one open file that the session and its jail share, taken for each command and let go after it. */
import { ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { FileLock } from '../audit/file-lock.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import type { SharedLock } from '../vault/vault.js';

export function sharedLock(lock: FileLock, file: string, origin: string): SharedLock {
  const descriptor = openSync(file, 'a+', 0o600);
  return {
    descriptor,
    take(purpose) {
      try {
        lock.hold(descriptor, file);
      } catch (error) {
        if (!hasCode(error, 'EAGAIN')) throw error;
        const [pid = '?', ...words] = readFileSync(file, 'utf8').split(' ');
        throw new ErrnoError('EBUSY', {
          operation: 'open the fork',
          path: origin,
          reason: `process ${pid} is using it: ${words.join(' ')}`,
          remedy: 'wait for it to end',
        });
      }
      ftruncateSync(descriptor);
      writeSync(descriptor, `${process.pid} ${purpose}`);
    },
    release: () => lock.release(descriptor),
  };
}
