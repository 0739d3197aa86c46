/**
 * The file beside a chunk store in which LMDB keeps who reads and writes it: `FILE-lock`. LMDB takes whatever is there, through links,
 * and writes over it; where it cannot have it, it ends the process. So it is looked at, or made, first.
 *
 * By a descriptor of the path alone: to close any other one gives up the locks that this process has on the file.
 */
import { accessSync, closeSync, constants, fchmodSync, fstatSync, openSync, readSync } from 'node:fs';
import { ErrnoError, fromSystemError, hasCode } from '../../../base/errno.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, R_OK, W_OK } = constants;
/** Linux; Node has no name for it. */
const pathOnly = 0o10000000;
/** What LMDB makes its files with. */
const mode = 0o664;
/** Of LMDB with as many readers as it allows where nothing is said; only one of this size may be in use here. */
const usualBytes = 8272;
const magic = 0xbeefc0de;

/** A mask that takes rights from the owner, too, would make one that LMDB could not open again. False where there is one. */
export function makeFile(path: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'wx', mode);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
  try {
    const made = fstatSync(descriptor).mode;
    if ((made & 0o600) !== 0o600) fchmodSync(descriptor, (made & 0o777) | 0o600);
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/** Nothing is in it yet, or what LMDB writes: its mark comes after its length. */
function isTable(descriptor: number): boolean {
  const reading = openSync(`/proc/self/fd/${descriptor}`, O_RDONLY | O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(4);
    readSync(reading, bytes, 0, bytes.length, 0);
    const found = bytes.readUInt32LE(0);
    return found === magic || found === 0;
  } finally {
    closeSync(reading);
  }
}

function refuse(path: string, found: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'open',
    path,
    reason: `expected the lock file of a chunk store, found ${found}`,
    remedy: 'move it away, if it is not needed here',
  });
}

function look(path: string): void {
  const descriptor = openSync(path, pathOnly | O_NOFOLLOW);
  try {
    const about = fstatSync(descriptor);
    if (about.isSymbolicLink()) refuse(path, 'a link');
    if (!about.isFile()) refuse(path, 'something else than a file');
    accessSync(`/proc/self/fd/${descriptor}`, R_OK | W_OK);
    if (about.size !== usualBytes && !isTable(descriptor)) refuse(path, 'another file');
  } finally {
    closeSync(descriptor);
  }
}

/** What may not be written is no obstacle to a reader: LMDB does without it then. */
export function checkReaderTable(file: string, writable: boolean): void {
  const path = `${file}-lock`;
  try {
    if (!makeFile(path)) look(path);
  } catch (error) {
    if (!writable && (hasCode(error, 'EACCES') || hasCode(error, 'EROFS'))) return;
    throw error instanceof ErrnoError ? error : fromSystemError(error, 'open', path);
  }
}
