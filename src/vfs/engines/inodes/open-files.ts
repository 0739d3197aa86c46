/** Handles, what they are of, and the locks that were taken through them. */

import { failure } from '../../failure.js';
import type { Handle, Inode, Lock, LockRequest, OpenMode } from '../../filesystem.js';
import { checkLock, LockTable } from '../../locks.js';

export interface OpenFile extends OpenMode {
  readonly inode: Inode;
}

export class OpenFiles {
  readonly #files = new Map<Handle, OpenFile>();
  readonly #counts = new Map<Inode, number>();
  readonly #locks = new LockTable();
  #next: Handle = 1;

  add(file: OpenFile): Handle {
    const handle = this.#next;
    this.#next += 1;
    this.#files.set(handle, file);
    this.#counts.set(file.inode, (this.#counts.get(file.inode) ?? 0) + 1);
    return handle;
  }

  at(handle: Handle, operation: string): OpenFile {
    const file = this.#files.get(handle);
    if (file === undefined) throw failure('EBADF', operation);
    return file;
  }

  has(inode: Inode): boolean {
    return this.#counts.has(inode);
  }

  lock(handle: Handle, request: LockRequest): Lock | undefined {
    const file = this.at(handle, 'lock');
    checkLock(request, file);
    return this.#locks.lock(file.inode, handle, request);
  }

  remove(handle: Handle): void {
    const { inode } = this.at(handle, 'release');
    this.#files.delete(handle);
    this.#locks.released(handle);
    const left = (this.#counts.get(inode) ?? 1) - 1;
    if (left === 0) this.#counts.delete(inode);
    else this.#counts.set(inode, left);
  }

  all(): readonly Handle[] {
    return [...this.#files.keys()];
  }
}
