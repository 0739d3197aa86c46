/** Files of a host tree that are open: how each was opened, and of which inode. One that has no name any more is still theirs. */
import { failure } from '../../failure.js';
import type { Handle, Inode, OpenMode } from '../../filesystem.js';

export class HostHandles {
  readonly #byHandle = new Map<Handle, { readonly inode: Inode; readonly mode: OpenMode }>();
  readonly #byInode = new Map<Inode, Set<Handle>>();

  add(inode: Inode, handle: Handle, mode: OpenMode): Handle {
    this.#byHandle.set(handle, { inode, mode });
    this.#byInode.set(inode, (this.#byInode.get(inode) ?? new Set()).add(handle));
    return handle;
  }

  /** EBADF */
  mode(handle: Handle, operation: string): OpenMode {
    const found = this.#byHandle.get(handle);
    if (found === undefined) throw failure('EBADF', operation);
    return found.mode;
  }

  /** EBADF */
  inode(handle: Handle, operation: string): Inode {
    const found = this.#byHandle.get(handle);
    if (found === undefined) throw failure('EBADF', operation);
    return found.inode;
  }

  /** Any of those that are open. */
  of(inode: Inode): Handle | undefined {
    return this.#byInode.get(inode)?.values().next().value;
  }

  remove(handle: Handle): void {
    const inode = this.#byHandle.get(handle)?.inode ?? 0;
    this.#byHandle.delete(handle);
    const handles = this.#byInode.get(inode);
    handles?.delete(handle);
    if (handles?.size === 0) this.#byInode.delete(inode);
  }

  all(): readonly Handle[] {
    return [...this.#byHandle.keys()];
  }
}
