/**
 * The inodes of a host tree that somebody has asked for: by which names they were reached, and which device and inode they were.
 * To act on one, its directories are opened again from the root down, by name and without links, and each has to be the one it was:
 * what was moved away or replaced meanwhile is ESTALE, and never something else.
 */
import type { BigIntStats } from 'node:fs';
import { hasCode } from '../../../base/errno.js';
import { failure } from '../../failure.js';
import type { Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { openDirectory, openEntry, statOf, using } from './anchored.js';

interface Node {
  readonly inode: Inode;
  readonly identity: string;
  parent: Node | undefined;
  name: Name;
}

export class HostNodes {
  readonly root: Inode = 1;
  readonly #rootDescriptor: number;
  readonly #identityOf: (stat: BigIntStats) => string;
  readonly #byInode = new Map<Inode, Node>();
  readonly #byIdentity = new Map<string, Node>();
  #last: Inode = 1;

  /** With the time it was made, since disks use the numbers of deleted files again; `copiesUp`: that time changes. */
  constructor(rootDescriptor: number, copiesUp: boolean) {
    this.#rootDescriptor = rootDescriptor;
    this.#identityOf = ({ dev, ino, birthtimeNs }) => `${dev}:${ino}:${copiesUp ? '' : birthtimeNs}`;
    const identity = this.#identityOf(statOf(rootDescriptor));
    const root: Node = { inode: 1, identity, parent: undefined, name: '' };
    this.#byInode.set(1, root);
    this.#byIdentity.set(identity, root);
  }

  /** Its number, which it keeps as long as it is known. */
  number(parent: Inode, name: Name, stat: BigIntStats): Inode {
    const identity = this.#identityOf(stat);
    const known = this.#byIdentity.get(identity);
    const above = this.#node(parent, 'lookup');
    if (known !== undefined) {
      // A directory that is its own ancestor is a bind mount of it: what is known of it already holds.
      if (known.parent !== undefined && !this.#isAbove(known, above)) Object.assign(known, { parent: above, name });
      return known.inode;
    }
    this.#last += 1;
    const node: Node = { inode: this.#last, identity, parent: above, name };
    this.#byInode.set(node.inode, node);
    this.#byIdentity.set(identity, node);
    return node.inode;
  }

  forget(inode: Inode): void {
    const node = this.#byInode.get(inode);
    if (node === undefined || node.parent === undefined) return;
    this.#byInode.delete(inode);
    this.#byIdentity.delete(node.identity);
  }

  /** Descriptor on the inode, closed afterwards. */
  on<T>(inode: Inode, operation: string, act: (descriptor: number) => T): T {
    const node = this.#node(inode, operation);
    if (node.parent === undefined) return act(this.#rootDescriptor);
    return this.#within(node.parent, operation, (directory) =>
      using(this.#opened(directory, node, openEntry, operation), act),
    );
  }

  /** The same for a directory: ENOTDIR where it is none. */
  in<T>(directory: Inode, operation: string, act: (descriptor: number) => T): T {
    return this.#within(this.#node(directory, operation), operation, act);
  }

  /** Its directory and its name there, for calls that take no descriptor of a link. */
  beside<T>(inode: Inode, operation: string, act: (directory: number, name: Name) => T): T {
    const { parent, name } = this.#node(inode, operation);
    if (parent === undefined) throw failure('EPERM', operation, undefined, 'the root of the tree cannot be changed');
    return this.#within(parent, operation, (directory) => act(directory, name));
  }

  #within<T>(node: Node, operation: string, act: (descriptor: number) => T): T {
    const { parent } = node;
    if (parent === undefined) return act(this.#rootDescriptor);
    return this.#within(parent, operation, (above) => using(this.#opened(above, node, openDirectory, operation), act));
  }

  #opened(above: number, node: Node, open: typeof openEntry, operation: string): number {
    let descriptor: number;
    try {
      descriptor = open(above, node.name);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) throw failure('ESTALE', operation, node.name);
      throw error;
    }
    if (this.#identityOf(statOf(descriptor)) === node.identity) return descriptor;
    return using(descriptor, () => {
      throw failure('ESTALE', operation, node.name);
    });
  }

  #node(inode: Inode, operation: string): Node {
    const node = this.#byInode.get(inode);
    if (node === undefined) throw failure('ESTALE', operation);
    return node;
  }

  #isAbove(node: Node, below: Node): boolean {
    for (let at: Node | undefined = below; at !== undefined; at = at.parent) if (at === node) return true;
    return false;
  }
}
