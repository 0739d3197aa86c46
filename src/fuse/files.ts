/**
 * Which handle of the engine a request is for. Where no one but the mount's users changes a tree, the kernel is
 * answered ENOSYS to OPEN and CREATE: it opens and closes files without asking from then on, keeps their pages between
 * two opens, and says only the inode. Then the mount has one handle of each file that was read or written, or that lost
 * its last name while the kernel knew it, until the kernel has forgotten it.
 */
import { ask, type Steps } from '../vfs/answer.js';
import type { Attributes, FileSystem, Handle, Inode } from '../vfs/filesystem.js';
import type { Name } from '../vfs/names.js';
import type { Nodes } from './nodes.js';
import { inHeaderBytes, readNumber } from './wire.js';

export class Files {
  /** The kernel opens files without asking. */
  readonly unasked: boolean;
  readonly #fs: FileSystem;
  readonly #nodes: Nodes;
  readonly #handles = new Map<Inode, Handle>();
  /** A name that goes has to be looked up: the kernel will not ask for the others of the same inode. */
  readonly #looksUp: boolean;

  constructor(
    filesystem: FileSystem,
    nodes: Nodes,
    { unasked, keepsNames }: { readonly unasked: boolean; readonly keepsNames: boolean },
  ) {
    this.#fs = filesystem;
    this.#nodes = nodes;
    this.unasked = unasked;
    this.#looksUp = unasked || (keepsNames && filesystem.capabilities.hardLinks);
  }

  *handle({ bytes, inode }: { readonly bytes: Buffer; readonly inode: Inode }): Steps<Handle> {
    return this.unasked ? yield* this.#own(inode) : readNumber(bytes, inHeaderBytes);
  }

  *#own(inode: Inode): Steps<Handle> {
    const known = this.#handles.get(inode);
    if (known !== undefined) return known;
    const mode = { read: true, write: this.#fs.capabilities.writable };
    const handle = yield* ask(this.#fs.open(inode, mode));
    this.#handles.set(inode, handle);
    return handle;
  }

  /** Before a name goes: the process that has the file open goes on having it. What has the name, where that had to be looked for. */
  *keep(directory: Inode, name: Name): Steps<Attributes | undefined> {
    if (!this.#looksUp) return undefined;
    const found = yield* ask(this.#fs.lookup(directory, name));
    const isLast = found?.kind === 'file' && found.links === 1;
    if (this.unasked && isLast && this.#nodes.knows(found.inode)) yield* this.#own(found.inode);
    return found;
  }

  /** No one has it open any more. */
  forgotten(inode: Inode): void {
    const handle = this.#handles.get(inode);
    if (handle === undefined) return;
    this.#handles.delete(inode);
    void this.#fs.release(handle);
  }
}

/** What the engine has to be for that: it has no say in opening, closing or locking, and answers at once. */
export function mayBeUnasked(filesystem: FileSystem, shared: boolean): boolean {
  const { immediate, sharedLocks } = filesystem.capabilities;
  const hasSay = [filesystem.flush, filesystem.lasting, filesystem.invalidated].some((each) => each !== undefined);
  return !shared && immediate && !sharedLocks && !hasSay;
}
