/**
 * How a handle writes: to the end, or where it is told to. The kernel says it for each write, and a handle may have been
 * opened the other way: what comes out of mapped memory goes where it lies, and a process may change its mind (`F_SETFL`).
 * Another handle of the same file writes that.
 */
import { ask, type Steps } from '../vfs/answer.js';
import type { FileSystem, Handle, Inode } from '../vfs/filesystem.js';

export class WriteWays {
  readonly #fs: FileSystem;
  readonly #appending = new Set<Handle>();
  readonly #others = new Map<Handle, Handle>();

  constructor(filesystem: FileSystem) {
    this.#fs = filesystem;
  }

  /** By this one the engine writes to the end, wherever it is asked to. */
  appends(handle: Handle): void {
    this.#appending.add(handle);
  }

  *handle(handle: Handle, inode: Inode, append: boolean): Steps<Handle> {
    if (append === this.#appending.has(handle)) return handle;
    const known = this.#others.get(handle);
    if (known !== undefined) return known;
    const other = yield* ask(this.#fs.open(inode, { read: false, write: true, append }));
    const meanwhile = this.#others.get(handle);
    if (meanwhile === undefined) this.#others.set(handle, other);
    else yield* ask(this.#fs.release(other));
    return meanwhile ?? other;
  }

  /** Whatever is to be released with it, itself last. */
  released(handle: Handle): readonly Handle[] {
    this.#appending.delete(handle);
    const other = this.#others.get(handle);
    this.#others.delete(handle);
    return other === undefined ? [handle] : [other, handle];
  }
}
