/**
 * LMDB's own opening of a file. A process may have one file open once only, and has closed it only when the promise of `close` is
 * settled: what is opened again meanwhile shares it, or waits. So this is the one place that keeps what is open, for the process.
 */
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { realPath } from '../../../base/canonical-path.js';
import { ErrnoError } from '../../../base/errno.js';
import { checkInstallation } from '../../../base/installation.js';
import { checkReaderTable } from './reader-table.js';

interface Shared {
  readonly database: RootDatabase<Buffer, Buffer>;
  readonly writable: boolean;
  users: number;
}

const open = new Map<string, Shared>();
const closing = new Map<string, Promise<unknown>>();

export interface Environment {
  readonly database: RootDatabase<Buffer, Buffer>;
  close(): Promise<void>;
}

/** EBUSY where this process reads it already and now wants to write. */
export async function openEnvironment(file: string, writable: boolean): Promise<Environment> {
  const key = join(realPath(dirname(file)), basename(file));
  await closing.get(key);
  const known = open.get(key);
  if (known !== undefined && writable && !known.writable) {
    const reason = 'this process has it open to read, and cannot open it to write as well';
    throw new ErrnoError('EBUSY', { operation: 'open', path: file, reason, remedy: 'close the other tree first' });
  }
  const shared = known ?? { database: openDatabase(file, writable), writable, users: 0 };
  open.set(key, shared);
  shared.users += 1;
  return {
    database: shared.database,
    close: async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      open.delete(key);
      const closed = shared.database.close().finally(() => closing.delete(key));
      closing.set(key, closed);
      await closed;
    },
  };
}

function openDatabase(file: string, writable: boolean): RootDatabase<Buffer, Buffer> {
  checkInstallation('chunk store');
  const lmdb = createRequire(import.meta.url)('lmdb') as typeof import('lmdb');
  checkReaderTable(file, writable);
  try {
    return lmdb.open<Buffer, Buffer>({
      path: file,
      noSubdir: true,
      readOnly: !writable,
      keyEncoding: 'binary',
      encoding: 'binary',
      eventTurnBatching: false,
      // A transaction that has returned is on the disk.
      overlappingSync: false,
    });
  } catch (cause) {
    throw new ErrnoError('EIO', { operation: 'open', path: file, reason: `LMDB could not open it: ${cause}`, cause });
  }
}
