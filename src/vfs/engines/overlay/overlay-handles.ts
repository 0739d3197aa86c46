/** Handles of an overlay, each on a file of one of its trees; those on the lower one follow a file that is copied up. */
import { ask, type Steps } from '../../answer.js';
import { failure } from '../../failure.js';
import type { FileSystem, Handle, Inode, OpenMode } from '../../filesystem.js';
import type { OverlayNode } from './overlay-nodes.js';

export interface OpenedSide {
  readonly node: OverlayNode;
  readonly mode: OpenMode;
  side: FileSystem;
  handle: Handle;
}

export class OverlayHandles {
  readonly #upper: FileSystem;
  readonly #lower: FileSystem;
  readonly #open = new Map<Handle, OpenedSide>();
  #next: Handle = 1;

  constructor(upper: FileSystem, lower: FileSystem) {
    this.#upper = upper;
    this.#lower = lower;
  }

  add(node: OverlayNode, side: FileSystem, handle: Handle, mode: OpenMode): Handle {
    const own = this.#next;
    this.#next += 1;
    this.#open.set(own, { node, mode, side, handle });
    return own;
  }

  *open(node: OverlayNode, mode: OpenMode): Steps<Handle> {
    const { upper, lower } = node;
    if (upper !== undefined) return this.add(node, this.#upper, yield* ask(this.#upper.open(upper, mode)), mode);
    if (lower === undefined) throw failure('ESTALE', 'open');
    const handle = yield* ask(this.#lower.open(lower, mode));
    if (node.upper === undefined) return this.add(node, this.#lower, handle, mode);
    // It was copied up meanwhile.
    yield* ask(this.#lower.release(handle));
    return yield* this.open(node, mode);
  }

  at(handle: Handle, operation: string): OpenedSide {
    const opened = this.#open.get(handle);
    if (opened === undefined) throw failure('EBADF', operation);
    return opened;
  }

  remove(handle: Handle): void {
    this.#open.delete(handle);
  }

  all(): readonly OpenedSide[] {
    return [...this.#open.values()];
  }

  *moveUp(node: OverlayNode, upper: Inode): Steps<void> {
    for (const opened of this.#open.values()) {
      if (opened.node !== node || opened.side !== this.#lower) continue;
      const handle = yield* ask(this.#upper.open(upper, opened.mode));
      const before = opened.handle;
      opened.side = this.#upper;
      opened.handle = handle;
      yield* ask(this.#lower.release(before));
    }
  }
}
