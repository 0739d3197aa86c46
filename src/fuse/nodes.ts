/** What a mount remembers of the inodes that the kernel knows: how often it was told of each, and which directory each is in. */
import type { Attributes, FileSystem, Inode } from '../vfs/filesystem.js';
import { RemovedDirectories } from './removed.js';

/** The kernel's number of the root. */
export const rootNode = 1;

export class Nodes {
  readonly #filesystem: FileSystem;
  readonly #counts = new Map<Inode, number>();
  readonly #parents = new Map<Inode, Inode>();
  readonly removed = new RemovedDirectories();
  /** Of what engines do not open, links, pipes, sockets and devices: what was last said of it. */
  readonly #unopened = new Map<Inode, Attributes>();

  constructor(filesystem: FileSystem) {
    this.#filesystem = filesystem;
  }

  /** The root and number 1 change places, where they differ. */
  number(inode: Inode): number {
    const { root } = this.#filesystem;
    if (inode === root) return rootNode;
    return inode === rootNode ? root : inode;
  }

  /** The kernel has been told of it once more. */
  told(inode: Inode, directory: Inode): void {
    this.#counts.set(inode, (this.#counts.get(inode) ?? 0) + 1);
    this.removed.delete(inode);
    this.placed(inode, directory);
  }

  seen(attributes: Attributes): void {
    const { kind, inode } = attributes;
    if (kind !== 'file' && kind !== 'directory') this.#unopened.set(inode, attributes);
    else if (this.#unopened.size > 0) this.#unopened.delete(inode);
  }

  /** Of what the engine has forgotten with its last name, though a process may have it. */
  withoutName(inode: Inode): Attributes | undefined {
    const last = this.#unopened.get(inode);
    if (last !== undefined) this.removed.add(last);
    return this.removed.get(inode);
  }

  placed(inode: Inode, directory: Inode): void {
    if (inode !== directory) this.#parents.set(inode, directory);
  }

  /** True where nothing is left of it. */
  forgotten(inode: Inode, times: number): boolean {
    const left = (this.#counts.get(inode) ?? 0) - times;
    if (left > 0) {
      this.#counts.set(inode, left);
      return false;
    }
    this.#counts.delete(inode);
    this.#parents.delete(inode);
    this.removed.delete(inode);
    this.#unopened.delete(inode);
    if (inode !== this.#filesystem.root) this.#filesystem.forget?.(inode);
    return true;
  }

  /** A name of it is gone; of a directory, its only one. Where a link is that has others is not known before one of those is named. */
  lost(found: Attributes | undefined): void {
    if (found?.kind === 'directory' && this.knows(found.inode)) this.removed.add(found);
    if (found?.kind === 'symlink') this.#parents.delete(found.inode);
  }

  /** The kernel has it in mind. */
  knows(inode: Inode): boolean {
    return this.#counts.has(inode);
  }

  /** How many directories are above the one that has it, up to `root`. */
  depth(inode: Inode, root: Inode): number {
    let depth = -1;
    for (let at: Inode | undefined = inode; at !== undefined && at !== root; at = this.#parents.get(at)) {
      depth += 1;
      if (depth > 4_096) return 0; // in a circle: nothing is known
    }
    return Math.max(0, depth);
  }
}
