/**
 * The inodes of a host tree that somebody has asked for: by which names they were reached, and which device and inode they were.
 * To act on one, it is opened by these names from the root, beneath it and through no link, and has to be the one it was: what was
 * moved away or replaced meanwhile is ESTALE, and never something else. No descriptor is kept, so nothing of the tree is busy.
 */
import { constants } from 'node:fs';
import { hasCode } from '../../../base/errno.js';
import { failure } from '../../failure.js';
import type { Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { type HostCalls, justThePath, places } from './anchored.js';
import { at, kindOf } from './host-attributes.js';

interface Node {
  readonly inode: Inode;
  readonly identity: string;
  /** The same as numbers: time of birth, filesystem, inode. */
  readonly numbers: Float64Array;
  parent: Node | undefined;
  name: Name;
}

/** The kernel takes no longer path at once. */
const mostPathBytes = 4_095;

export class HostNodes {
  readonly root: Inode = 1;
  readonly #calls: HostCalls;
  readonly #rootDescriptor: number;
  readonly #copiesUp: boolean;
  readonly #byInode = new Map<Inode, Node>();
  readonly #byIdentity = new Map<string, Node>();
  #last: Inode = 1;

  constructor(calls: HostCalls, rootDescriptor: number, copiesUp: boolean) {
    this.#calls = calls;
    this.#rootDescriptor = rootDescriptor;
    this.#copiesUp = copiesUp;
    const identity = this.#identityOf(calls.stat('open', rootDescriptor));
    const root: Node = { inode: 1, identity, numbers: numbersOf(calls.found), parent: undefined, name: '' };
    this.#byInode.set(1, root);
    this.#byIdentity.set(identity, root);
  }

  /** Its number, which it keeps as long as it is known. */
  number(parent: Inode, name: Name, found: Float64Array): Inode {
    const identity = this.#identityOf(found);
    const known = this.#byIdentity.get(identity);
    const above = this.#node(parent, 'lookup');
    if (known !== undefined) {
      if (known.parent === above && known.name === name) return known.inode;
      // A directory that is its own ancestor is a bind mount of it: what is known of it already holds.
      if (known.parent !== undefined && !this.#isAbove(known, above)) Object.assign(known, { parent: above, name });
      return known.inode;
    }
    this.#last += 1;
    const node: Node = { inode: this.#last, identity, numbers: numbersOf(found), parent: above, name };
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

  /** A descriptor on the inode, closed afterwards; `found` of the calls is its own when `act` begins. */
  on<T>(inode: Inode, operation: string, act: (descriptor: number) => T): T {
    const node = this.#node(inode, operation);
    if (node.parent !== undefined) return this.#calls.using(this.#opened(node, operation), act);
    this.#calls.stat(operation, this.#rootDescriptor);
    return act(this.#rootDescriptor);
  }

  /** The same for a directory: ENOTDIR where it is none. */
  in<T>(directory: Inode, operation: string, act: (descriptor: number) => T): T {
    const node = this.#node(directory, operation);
    if (node.parent === undefined) return act(this.#rootDescriptor);
    return this.#calls.using(this.#opened(node, operation), (descriptor) => {
      if (kindOf(this.#calls.found) !== 'directory') throw failure('ENOTDIR', operation, node.name);
      return act(descriptor);
    });
  }

  #opened(node: Node, operation: string): number {
    let descriptor: number;
    try {
      descriptor = this.#openedPath(operation, pathOf(node));
    } catch (error) {
      const isElsewhere = hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'ELOOP');
      throw isElsewhere ? failure('ESTALE', operation, node.name) : error;
    }
    if (this.#isFound(node)) return descriptor;
    this.#calls.close(descriptor);
    throw failure('ESTALE', operation, node.name);
  }

  #openedPath(operation: string, path: string): number {
    const { O_NOFOLLOW, O_DIRECTORY } = constants;
    let [from, rest] = [this.#rootDescriptor, path];
    while (rest.length > mostPathBytes) {
      const cut = rest.lastIndexOf('/', mostPathBytes);
      const next = this.#opening(from, () =>
        this.#calls.open(operation, from, rest.slice(0, cut), justThePath | O_NOFOLLOW | O_DIRECTORY),
      );
      [from, rest] = [next, rest.slice(cut + 1)];
    }
    return this.#opening(from, () => this.#calls.open(operation, from, rest, justThePath | O_NOFOLLOW));
  }

  /** What was opened only to go on from there is closed. */
  #opening(from: number, act: () => number): number {
    return from === this.#rootDescriptor ? act() : this.#calls.using(from, act);
  }

  #isFound({ numbers }: Node): boolean {
    const { found } = this.#calls;
    const isBorn = this.#copiesUp || (numbers[0] === found[born] && numbers[1] === found[born + 1]);
    return isBorn && numbers[2] === found[born + 2] && numbers[3] === found[born + 3] && numbers[4] === found[born + 4];
  }

  /** With the time it was made, since disks use the numbers of deleted files again; where that is copied up, it changes. */
  #identityOf(found: Float64Array): string {
    const inode = `${at(found, places.filesystem)}:${at(found, places.inodeHigh)}:${at(found, places.inodeLow)}`;
    return this.#copiesUp ? inode : `${inode}:${at(found, places.born)}:${at(found, places.born + 1)}`;
  }

  #node(inode: Inode, operation: string): Node {
    const node = this.#byInode.get(inode);
    if (node === undefined) throw failure('ESTALE', operation);
    return node;
  }

  #isAbove(node: Node, below: Node): boolean {
    for (let each: Node | undefined = below; each !== undefined; each = each.parent) if (each === node) return true;
    return false;
  }
}

/** What says which inode it is: from its time of birth to the end. */
const { born } = places;

export function numbersOf(found: Float64Array): Float64Array {
  return found.slice(born);
}

function pathOf({ parent, name }: Node): string {
  let path = name;
  for (let each = parent; each?.parent !== undefined; each = each.parent) path = `${each.name}/${path}`;
  return path;
}
