/**
 * Brings what is only in the lower tree into the upper one, before it changes: under a name that is never shown, and
 * moved to its own when it is whole. Anyone who looks meanwhile, or after a crash, sees the same as before.
 */
import { ask, type Steps } from '../../answer.js';
import { failure } from '../../failure.js';
import type { Attributes, Changes, Creation, FileSystem, Handle, Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { markOf, unfinished } from './marks.js';
import type { OverlayNode, OverlayNodes } from './overlay-nodes.js';

const pieceBytes = 1024 * 1024;

export class CopyUp {
  readonly #upper: FileSystem;
  readonly #lower: FileSystem;
  readonly #nodes: OverlayNodes;
  /** Handles on the lower file are to be moved over. */
  readonly #copied: (node: OverlayNode, upper: Inode) => Steps<void>;
  #number = 0;

  constructor(
    upper: FileSystem,
    lower: FileSystem,
    nodes: OverlayNodes,
    copied: (node: OverlayNode, upper: Inode) => Steps<void>,
  ) {
    this.#upper = upper;
    this.#lower = lower;
    this.#nodes = nodes;
    this.#copied = copied;
  }

  /** Its inode in the upper tree. Of content no more than `most` bytes are copied: the rest is about to go. */
  *up(node: OverlayNode, most = Number.POSITIVE_INFINITY): Steps<Inode> {
    if (node.upper !== undefined) return node.upper;
    const { parent, lower, name } = node;
    if (parent === undefined || lower === undefined) {
      throw failure('ESTALE', 'copy up', name, 'it was deleted, and cannot be changed any more');
    }
    const directory = yield* this.up(parent);
    const there = yield* this.#copiedBefore(directory, node);
    if (there !== undefined) return there;
    const attributes = yield* ask(this.#lower.getattr(lower));
    this.#number += 1;
    const hidden = unfinished(this.#number);
    const { accessed, modified } = yield* ask(this.#upper.getattr(directory));
    yield* this.#discard(directory, hidden);
    let made: Inode;
    try {
      made = yield* this.#make(directory, hidden, lower, attributes, most);
      yield* this.#dress(made, lower, attributes);
      yield* ask(this.#upper.rename(directory, hidden, directory, name, 'replace'));
    } catch (error) {
      yield* this.#discard(directory, hidden);
      throw error;
    }
    // Nothing has changed for anyone who looks: the directory's times neither.
    if (this.#upper.capabilities.modes) yield* ask(this.#upper.setattr(directory, { accessed, modified }));
    yield* this.#copied(node, made);
    this.#nodes.copied(node, made);
    return made;
  }

  /**
   * A name that was looked for in both trees while it was copied up, or whose copying up failed at its end, is known as one of the lower
   * tree and is in the upper one: what was written there since would be lost by another copy. ESTALE where it was deleted meanwhile.
   */
  *#copiedBefore(directory: Inode, node: OverlayNode): Steps<Inode | undefined> {
    const { kind, name } = node;
    const there = yield* ask(this.#upper.lookup(directory, name));
    const isHidden = (yield* ask(this.#upper.lookup(directory, markOf(name)))) !== undefined;
    if (isHidden || (there !== undefined && there.kind !== kind)) {
      throw failure('ESTALE', 'copy up', name, 'it was deleted, and cannot be changed any more');
    }
    if (there === undefined) return undefined;
    yield* this.#copied(node, there.inode);
    this.#nodes.copied(node, there.inode);
    return there.inode;
  }

  /** A directory with everything in it: nothing of the lower tree is below it afterwards. */
  *whole(node: OverlayNode): Steps<Inode> {
    const upper = yield* this.up(node);
    if (node.kind !== 'directory' || node.lower === undefined) return upper;
    for (const { node: child } of yield* this.#nodes.list(node)) yield* this.whole(child);
    const { parent } = node;
    if (parent?.upper !== undefined) yield* this.hide(parent.upper, node.name);
    node.lower = undefined;
    return upper;
  }

  /** The lower tree's entry of this name is not shown any more. */
  *hide(directory: Inode, name: Name): Steps<void> {
    const mark = markOf(name);
    if ((yield* ask(this.#upper.lookup(directory, mark))) !== undefined) return;
    const { uid, gid } = yield* ask(this.#upper.getattr(directory));
    const mode = { read: false, write: true };
    const { handle } = yield* ask(this.#upper.create(directory, mark, { mode: 0o600, uid, gid }, mode));
    yield* ask(this.#upper.release(handle));
  }

  /** A crash may have left one of this number. */
  *#discard(directory: Inode, name: Name): Steps<void> {
    const left = yield* ask(this.#upper.lookup(directory, name));
    if (left === undefined) return;
    yield* ask(left.kind === 'directory' ? this.#upper.rmdir(directory, name) : this.#upper.unlink(directory, name));
  }

  *#make(directory: Inode, name: Name, lower: Inode, attributes: Attributes, most: number): Steps<Inode> {
    const { kind, mode, uid, gid, device } = attributes;
    const creation: Creation = { mode, uid, gid };
    if (kind === 'directory') return (yield* ask(this.#upper.mkdir(directory, name, creation))).inode;
    if (kind === 'symlink') {
      const target = yield* ask(this.#lower.readlink(lower));
      return (yield* ask(this.#upper.symlink(directory, name, target, creation))).inode;
    }
    if (kind !== 'file') return (yield* ask(this.#upper.mknod(directory, name, creation, kind, device))).inode;
    const opened = yield* ask(this.#upper.create(directory, name, creation, { read: false, write: true }));
    const source = yield* ask(this.#lower.open(lower, { read: true, write: false }));
    try {
      yield* this.#content(source, opened.handle, Math.min(most, attributes.size));
      yield* ask(this.#upper.fsync(opened.handle));
    } finally {
      yield* ask(this.#lower.release(source));
      yield* ask(this.#upper.release(opened.handle));
    }
    return opened.attributes.inode;
  }

  *#content(source: Handle, target: Handle, size: number): Steps<void> {
    for (let at = 0; at < size; ) {
      const bytes = yield* ask(this.#lower.read(source, at, Math.min(pieceBytes, size - at)));
      if (bytes.length === 0) return;
      // A piece of zeros that something follows stays a hole.
      if (at + bytes.length >= size || bytes.some((byte) => byte !== 0)) {
        yield* ask(this.#upper.write(target, at, bytes));
      }
      at += bytes.length;
    }
  }

  /** Times and modes where the upper tree keeps them, and attributes where both trees have any. */
  *#dress(made: Inode, lower: Inode, { accessed, modified, mode, kind }: Attributes): Steps<void> {
    if (this.#upper.capabilities.attributes && this.#lower.capabilities.attributes) {
      for (const name of yield* ask(this.#lower.listxattr(lower))) {
        const value = yield* ask(this.#lower.getxattr(lower, name));
        yield* ask(this.#upper.setxattr(made, name, value, 'any'));
      }
    }
    // A directory that hands its group on may have added a bit.
    const changes: Changes = kind === 'symlink' ? { accessed, modified } : { mode, accessed, modified };
    if (this.#upper.capabilities.modes) yield* ask(this.#upper.setattr(made, changes));
  }
}
