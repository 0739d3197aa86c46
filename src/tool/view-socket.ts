/**
 * The socket of one view. It is in a directory of the store, which is its person's alone, and that directory alone is
 * shown in the jail: the process that can connect is in that jail. A directory whose process was killed is taken away
 * by its jail (native/jail/owner/sockets.h), or, where it had none yet, by the next one.
 */
import { chmodSync, closeSync, constants, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { makeDirectory } from '../base/make-directory.js';
import { startOf } from '../base/process-table.js';
import { uniqueName } from '../base/unique-name.js';
import type { FuseLibrary } from '../fuse/fuse-library.js';

const socketName = 'view.sock';
/** PID.START.NAME, of the process that serves it: a number that another process has by now does not keep it. */
const directoryName = /^(\d+)\.(\d+)\./;

export interface ViewSocket {
  readonly directory: string;
  /** Listens; who takes it over closes it. */
  readonly descriptor: number;
  /** The directory is gone, and no one connects any more. Once is enough. */
  remove(): void;
}

function removeLeft(views: string): void {
  for (const name of readdirSync(views)) {
    const [, pid, start] = directoryName.exec(name) ?? [];
    if (start !== startOf(Number(pid))) rmSync(join(views, name), { recursive: true, force: true });
  }
}

/** Of this process, and gone with it. */
export function ownDirectory(views: string): string {
  makeDirectory(views);
  removeLeft(views);
  const directory = join(views, `${process.pid}.${startOf(process.pid)}.${uniqueName()}`);
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}

export function listenForCalls(views: string, library: FuseLibrary): ViewSocket {
  let directory: string;
  try {
    directory = ownDirectory(views);
  } catch (error) {
    throw fromSystemError(error, 'make the socket of a view', views);
  }
  const remove = () => rmSync(directory, { recursive: true, force: true });
  let descriptor = -1;
  try {
    // By its descriptor: a path of the store may be longer than the address of a socket.
    const place = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    descriptor = library.listen(`/proc/self/fd/${place}/${socketName}`);
    closeSync(place);
    if (descriptor < 0) {
      const reason = `the socket of a view could not be made (errno ${-descriptor})`;
      throw new ErrnoError('EIO', { operation: 'view', path: directory, reason });
    }
    // In a jail of root's the caller is another user; no one outside gets this far, since the store is its person's.
    chmodSync(join(directory, socketName), 0o666);
    chmodSync(directory, 0o755);
    return { directory, descriptor, remove };
  } catch (error) {
    if (descriptor >= 0) closeSync(descriptor);
    remove();
    if (error instanceof ErrnoError) throw error;
    throw fromSystemError(error, 'listen for calls', directory);
  }
}
