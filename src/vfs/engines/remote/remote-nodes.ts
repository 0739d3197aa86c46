/** The inodes of a remote tree: a store knows paths alone, so a number is a path as long as it is known, and follows a rename. */
import { monotonic } from '../../../base/clock.js';
import { failure } from '../../failure.js';
import type { Attributes, Inode } from '../../filesystem.js';
import { bytesFromName, checkName, type Name, nameBytes, nameFromText } from '../../names.js';
import type { RemoteEntry, RemotePath } from './remote-store.js';
import type { StagedFile } from './staged-file.js';

export interface RemoteNode {
  readonly inode: Inode;
  readonly kind: 'file' | 'directory';
  path: RemotePath;
  /** What was last heard of it, and when: by a clock that is never set. */
  entry: RemoteEntry;
  heard: number;
  /** Its content, while it is changed here or after it lost its name. */
  staged: StagedFile | undefined;
  /** The staged content is not in the store yet. */
  changed: boolean;
  removed: boolean;
  /** Of a directory: it stays when its last entry goes. */
  kept: boolean;
}

const rootEntry: RemoteEntry = { name: '', kind: 'directory', size: 0, modified: 0n, version: '' };

/** UTF-8 alone: what these stores call by other bytes cannot be asked for. */
export function textOfName(operation: string, name: Name): string {
  checkName(operation, name);
  const text = bytesFromName(name).toString('utf8');
  if (nameFromText(text) === name && !text.includes('\ufffd')) return text;
  throw failure('EINVAL', operation, name, 'expected a name in UTF-8: this store has no others');
}

/** Undefined for what no file can be called here. */
export function nameOfText(text: string): Name | undefined {
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('\0')) return undefined;
  const name = Buffer.from(text, 'utf8').toString('latin1');
  return name.length > nameBytes ? undefined : name;
}

export function childPath(directory: RemotePath, name: string): RemotePath {
  return directory === '' ? name : `${directory}/${name}`;
}

export class RemoteNodes {
  readonly root: RemoteNode;
  readonly #byInode = new Map<Inode, RemoteNode>();
  readonly #byPath = new Map<RemotePath, RemoteNode>();
  readonly #mode: { readonly file: number; readonly directory: number };
  readonly #owner: { readonly uid: number; readonly gid: number };
  #last: Inode = 0;

  constructor(writable: boolean) {
    this.#mode = writable ? { file: 0o644, directory: 0o755 } : { file: 0o444, directory: 0o555 };
    this.#owner = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
    this.root = this.found('', rootEntry);
    this.root.kept = true;
  }

  at(inode: Inode, operation: string): RemoteNode {
    const node = this.#byInode.get(inode);
    if (node === undefined) throw failure('ESTALE', operation);
    return node;
  }

  directory(inode: Inode, operation: string): RemoteNode {
    const node = this.at(inode, operation);
    if (node.kind !== 'directory') throw failure('ENOTDIR', operation);
    return node;
  }

  known(path: RemotePath): RemoteNode | undefined {
    return this.#byPath.get(path);
  }

  /**
   * The store has said this of it, to a question of that time. What was heard since is newer; and what is staged here was made of the
   * version that it was staged from, so that only that one may be written over.
   */
  found(path: RemotePath, entry: RemoteEntry, asked = Number.POSITIVE_INFINITY): RemoteNode {
    const known = this.#byPath.get(path);
    if (known !== undefined && known.heard >= asked) return known;
    if (known !== undefined && known.kind === entry.kind) {
      if (known.staged === undefined) known.entry = entry;
      known.heard = monotonic();
      return known;
    }
    if (known !== undefined) this.gone(known);
    this.#last += 1;
    const { kind } = entry;
    const state = { staged: undefined, changed: false, removed: false, kept: false };
    const node: RemoteNode = { inode: this.#last, kind, path, entry, heard: monotonic(), ...state };
    this.#byInode.set(node.inode, node);
    this.#byPath.set(path, node);
    return node;
  }

  /** Nothing has this path any more; the process that has it open goes on. */
  gone(node: RemoteNode): void {
    node.removed = true;
    if (this.#byPath.get(node.path) === node) this.#byPath.delete(node.path);
  }

  withAllBelow(node: RemoteNode): readonly RemoteNode[] {
    const below = `${node.path}/`;
    return [...this.#byPath.values()].filter((each) => each === node || each.path.startsWith(below));
  }

  /** With everything below it. */
  moved(node: RemoteNode, to: RemotePath): void {
    const all = this.withAllBelow(node);
    for (const each of all) this.#byPath.delete(each.path);
    const from = node.path.length;
    for (const each of all) {
      each.path = `${to}${each.path.slice(from)}`;
      this.#byPath.set(each.path, each);
    }
  }

  forget(inode: Inode): void {
    const node = this.#byInode.get(inode);
    if (node === undefined || node === this.root || node.staged !== undefined) return;
    this.#byInode.delete(inode);
    if (this.#byPath.get(node.path) === node) this.#byPath.delete(node.path);
  }

  shown({ inode, kind, entry, staged, removed }: RemoteNode): Attributes {
    const size = kind === 'directory' ? 0 : (staged?.size ?? entry.size);
    const { modified } = entry;
    return {
      inode,
      kind,
      mode: this.#mode[kind],
      links: removed ? 0 : kind === 'directory' ? 2 : 1,
      ...this.#owner,
      device: 0,
      size,
      blocks: Math.ceil(size / 512),
      accessed: modified,
      modified,
      changed: modified,
    };
  }

  all(): readonly RemoteNode[] {
    return [...this.#byInode.values()];
  }
}
