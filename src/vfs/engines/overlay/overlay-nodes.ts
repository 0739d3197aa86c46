/**
 * The inodes of an overlay: each is one of the upper tree, one of the lower, or a directory of both. What is in the upper tree is known by
 * its number there, so two names of it are one inode; what is only in the lower one is known by its name, so that each name can be
 * copied up by itself.
 */
import { ask, type Steps } from '../../answer.js';
import { failure } from '../../failure.js';
import type { Attributes, FileSystem, Inode, Kind } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { isMark, markOf } from './marks.js';

export interface OverlayNode {
  readonly inode: Inode;
  readonly kind: Kind;
  upper: Inode | undefined;
  lower: Inode | undefined;
  /** Undefined of the root, and of what has no name any more. */
  parent: OverlayNode | undefined;
  name: Name;
  /** Of a directory: what is only in the lower tree and has been asked for. */
  readonly below: Map<Name, OverlayNode>;
}

export interface Found {
  readonly node: OverlayNode;
  readonly attributes: Attributes;
  /** The lower tree has something by this name, hidden or not. */
  readonly covers: boolean;
}

export class OverlayNodes {
  readonly root: OverlayNode;
  readonly #upper: FileSystem;
  readonly #lower: FileSystem;
  readonly #byInode = new Map<Inode, OverlayNode>();
  readonly #byUpper = new Map<Inode, OverlayNode>();
  #last: Inode = 0;

  constructor(upper: FileSystem, lower: FileSystem) {
    this.#upper = upper;
    this.#lower = lower;
    this.root = this.#make('directory', upper.root, lower.root, undefined, '');
  }

  at(inode: Inode, operation: string): OverlayNode {
    const node = this.#byInode.get(inode);
    if (node === undefined) throw failure('ESTALE', operation);
    return node;
  }

  directory(inode: Inode, operation: string): OverlayNode {
    const node = this.at(inode, operation);
    if (node.kind !== 'directory') throw failure('ENOTDIR', operation);
    return node;
  }

  /** What both trees have by a name, joined. */
  *find(directory: OverlayNode, name: Name): Steps<Found | undefined> {
    if (isMark(name)) return undefined;
    const above = directory.upper === undefined ? undefined : yield* ask(this.#upper.lookup(directory.upper, name));
    const below = directory.lower === undefined ? undefined : yield* ask(this.#lower.lookup(directory.lower, name));
    const covers = below !== undefined;
    const shown = below === undefined || (yield* this.#isHidden(directory, name)) ? undefined : below;
    if (above !== undefined) {
      const joined = above.kind === 'directory' && shown?.kind === 'directory' ? shown.inode : undefined;
      const node = this.#ofUpper(above, joined, directory, name);
      return { node, attributes: shownAs(node, above), covers };
    }
    if (shown === undefined) return undefined;
    const node = this.#ofLower(shown, directory, name);
    return { node, attributes: shownAs(node, shown), covers };
  }

  *attributes(node: OverlayNode): Steps<Attributes> {
    const { upper, lower } = node;
    if (upper !== undefined) return shownAs(node, yield* ask(this.#upper.getattr(upper)));
    if (lower === undefined) throw failure('ESTALE', 'getattr');
    return shownAs(node, yield* ask(this.#lower.getattr(lower)));
  }

  /** Names of both trees without what is hidden. */
  *list(directory: OverlayNode): Steps<readonly { readonly name: Name; readonly node: OverlayNode }[]> {
    const { upper, lower } = directory;
    const above = upper === undefined ? [] : yield* ask(this.#upper.readdir(upper));
    const below = lower === undefined ? [] : yield* ask(this.#lower.readdir(lower));
    const names = new Set(above.map(({ name }) => name));
    const lowers = new Map(below.map((entry) => [entry.name, entry]));
    const listed: { readonly name: Name; readonly node: OverlayNode }[] = [];
    for (const { name, inode, kind } of above) {
      if (isMark(name)) continue;
      const other = names.has(markOf(name)) ? undefined : lowers.get(name);
      const joined = kind === 'directory' && other?.kind === 'directory' ? other.inode : undefined;
      listed.push({ name, node: this.#ofUpper({ inode, kind }, joined, directory, name) });
    }
    for (const entry of below) {
      if (names.has(entry.name) || isMark(entry.name) || names.has(markOf(entry.name))) continue;
      listed.push({ name: entry.name, node: this.#ofLower(entry, directory, entry.name) });
    }
    return listed;
  }

  /** A new inode of the upper tree. */
  made(attributes: Attributes, directory: OverlayNode, name: Name): Attributes {
    return shownAs(this.#ofUpper(attributes, undefined, directory, name), attributes);
  }

  /** It is in the upper tree from now on. */
  copied(node: OverlayNode, upper: Inode): void {
    node.parent?.below.delete(node.name);
    node.upper = upper;
    if (node.kind !== 'directory') node.lower = undefined;
    this.#byUpper.set(upper, node);
  }

  moved(node: OverlayNode, directory: OverlayNode, name: Name): void {
    node.parent = directory;
    node.name = name;
  }

  /** This name of it is gone. */
  unnamed(node: OverlayNode, directory: OverlayNode, name: Name): void {
    directory.below.delete(name);
    if (node.parent === directory && node.name === name) node.parent = undefined;
  }

  forget(inode: Inode): void {
    const node = this.#byInode.get(inode);
    if (node === undefined || node === this.root) return;
    this.#byInode.delete(inode);
    node.parent?.below.delete(node.name);
    // Another one may be of the same inode by now, which goes on.
    if (node.upper !== undefined && this.#byUpper.get(node.upper) === node) {
      this.#byUpper.delete(node.upper);
      this.#upper.forget?.(node.upper);
    }
    if (node.lower !== undefined) this.#lower.forget?.(node.lower);
  }

  *#isHidden(directory: OverlayNode, name: Name): Steps<boolean> {
    if (directory.upper === undefined) return false;
    return (yield* ask(this.#upper.lookup(directory.upper, markOf(name)))) !== undefined;
  }

  #ofUpper(
    { inode, kind }: { readonly inode: Inode; readonly kind: Kind },
    lower: Inode | undefined,
    directory: OverlayNode,
    name: Name,
  ): OverlayNode {
    const known = this.#byUpper.get(inode);
    if (known === undefined || known.kind !== kind) {
      const node = this.#make(kind, inode, lower, directory, name);
      this.#byUpper.set(inode, node);
      return node;
    }
    known.lower = lower;
    this.moved(known, directory, name);
    return known;
  }

  #ofLower(
    { inode, kind }: { readonly inode: Inode; readonly kind: Kind },
    directory: OverlayNode,
    name: Name,
  ): OverlayNode {
    const known = directory.below.get(name);
    if (known !== undefined && known.lower === inode && known.kind === kind) return known;
    const node = this.#make(kind, undefined, inode, directory, name);
    directory.below.set(name, node);
    return node;
  }

  #make(
    kind: Kind,
    upper: Inode | undefined,
    lower: Inode | undefined,
    parent: OverlayNode | undefined,
    name: Name,
  ): OverlayNode {
    this.#last += 1;
    const node: OverlayNode = { inode: this.#last, kind, upper, lower, parent, name, below: new Map() };
    this.#byInode.set(node.inode, node);
    return node;
  }
}

/** A directory of both trees counts its subdirectories in neither, and a name of the lower tree is a file of its own. */
export function shownAs({ inode, upper, lower, kind }: OverlayNode, attributes: Attributes): Attributes {
  const isOwn = upper !== undefined && (lower === undefined || kind !== 'directory');
  return { ...attributes, inode, links: isOwn ? attributes.links : 1 };
}
