/**
 * A view as an engine of the VFS: read-only, in memory, nothing of it kept. An inode is a path of the view, and each
 * question walks that path anew, so what was granted just now and is not any more is gone for the process that still
 * holds its inode, too.
 */
import { failure } from '../../vfs/failure.js';
import type { Attributes, Changes, Entry, FileSystem, Handle, Inode, OpenMode } from '../../vfs/filesystem.js';
import { checkName, type Name, nameBytes, nameFromText, textFromName } from '../../vfs/names.js';
import type { Shown, ViewDirectory, ViewFile, ViewNode } from './nodes.js';
import { viewRoot } from './view-root.js';

export interface ProjectionOptions extends Shown {
  /** For people. */
  readonly label: string;
  /** Who is shown as the owner of everything. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

const rootInode: Inode = 1;
/** Every executable file of a view is one inode with many names. Who may find it is asked of each name; who may call, of each call. */
const clientInode: Inode = 2;

interface Located {
  readonly parent: Inode;
  readonly name: Name;
  /** What the kernel may keep of it: it was found to be a directory, whose attributes never change, or to be in every view. */
  readonly lasting: 'inode' | 'name' | undefined;
}

interface OpenText {
  readonly content: Buffer;
  readonly write: ViewFile['write'];
}

/** A control file is a few lines. */
const mostWrittenBytes = 64 * 1024;

function writtenText(offset: number, bytes: Uint8Array): string {
  const refuse = (reason: string) => failure('EINVAL', 'write', undefined, reason);
  if (offset !== 0) throw refuse('expected one write of the whole text, from its start');
  if (bytes.length > mostWrittenBytes) throw refuse(`expected at most ${mostWrittenBytes} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refuse('expected UTF-8');
  }
}

class Projection {
  readonly label: string;
  readonly root = rootInode;
  readonly capabilities = {
    writable: false,
    hardLinks: false,
    symlinks: true,
    devices: false,
    attributes: false,
    owners: false,
    modes: false,
    byteNames: true,
    holes: false,
    exchange: false,
    watch: false,
    durable: false,
    sharedLocks: false,
    immediate: true,
  } as const;
  readonly #options: ProjectionOptions;
  readonly #top: ViewDirectory;
  readonly #since = BigInt(Date.now()) * 1_000_000n;
  readonly #places = new Map<Inode, Located>();
  readonly #inodes = new Map<string, Inode>();
  /** What a file held when it was opened, and how it is written where it was opened for that. */
  readonly #open = new Map<Handle, OpenText>();
  #lastInode = clientInode;
  #lastHandle = 0;

  constructor(options: ProjectionOptions) {
    this.label = options.label;
    this.#options = options;
    this.#top = viewRoot(options);
  }

  #node(inode: Inode, operation: string): ViewNode {
    if (inode === rootInode) return this.#top;
    if (inode === clientInode) return { kind: 'file', executable: true, text: this.#options.client };
    const place = this.#places.get(inode);
    const above = place === undefined ? undefined : this.#node(place.parent, operation);
    const node = above?.kind === 'directory' ? above.child(textFromName(place?.name ?? '')) : undefined;
    if (node === undefined) throw failure('ESTALE', operation, place?.name, 'it is not in this view any more');
    return node;
  }

  #directory(inode: Inode, operation: string): ViewDirectory {
    const node = this.#node(inode, operation);
    if (node.kind !== 'directory') throw failure('ENOTDIR', operation);
    return node;
  }

  /** Kept for good: a path has one number, and there are no more paths than there were objects. */
  #inode(parent: Inode, name: Name, node: ViewNode): Inode {
    if (node.kind === 'file' && node.executable) return clientInode;
    const key = `${parent}/${name}`;
    const known = this.#inodes.get(key);
    if (known !== undefined) return known;
    this.#lastInode += 1;
    this.#inodes.set(key, this.#lastInode);
    this.#places.set(this.#lastInode, { parent, name, lasting: lastingOf(node) });
    return this.#lastInode;
  }

  #attributes(inode: Inode, node: ViewNode): Attributes {
    const { uid, gid } = this.#options.owner;
    const size = node.kind === 'file' ? node.text.size : node.kind === 'symlink' ? nameFromText(node.target).length : 0;
    const time = node.kind === 'file' ? node.text.modified : this.#since;
    const mode = modeOf(node);
    const links = node.kind === 'directory' ? 2 : 1;
    const times = { accessed: time, modified: time, changed: time };
    return { inode, kind: node.kind, mode, links, uid, gid, device: 0, size, blocks: Math.ceil(size / 512), ...times };
  }

  lookup(directory: Inode, name: Name): Attributes | undefined {
    const above = this.#directory(directory, 'lookup');
    checkName('lookup', name);
    const node = above.child(textFromName(name));
    return node === undefined ? undefined : this.#attributes(this.#inode(directory, name, node), node);
  }

  getattr(inode: Inode): Attributes {
    return this.#attributes(inode, this.#node(inode, 'getattr'));
  }

  open(inode: Inode, mode: OpenMode): Handle {
    const node = this.#node(inode, 'open');
    const write = node.kind === 'file' && mode.write ? node.write : undefined;
    // To make it empty first is what an open for writing does: what is there stays until a text is written whole.
    if ((mode.write || mode.truncate === true) && write === undefined)
      throw failure(node.kind === 'directory' ? 'EISDIR' : 'EROFS', 'open');
    if (node.kind === 'symlink') throw failure('ELOOP', 'open');
    this.#lastHandle += 1;
    const content = node.kind === 'file' && write === undefined ? node.text.read() : Buffer.alloc(0);
    this.#open.set(this.#lastHandle, { content, write });
    return this.#lastHandle;
  }

  #content(handle: Handle, operation: string): Buffer {
    const open = this.#open.get(handle);
    if (open === undefined) throw failure('EBADF', operation);
    return open.content;
  }

  /** One write is the whole text: it takes effect, or nothing changes. */
  write(handle: Handle, offset: number, bytes: Uint8Array): Promise<number> {
    const open = this.#open.get(handle);
    if (open?.write === undefined) throw failure('EBADF', 'write');
    const { length } = bytes;
    return open.write(writtenText(offset, bytes)).then(() => length);
  }

  /** Of a file that may be written: its size, which the write says. */
  setattr(inode: Inode, changes: Changes): Attributes {
    const node = this.#node(inode, 'setattr');
    const { mode, uid, gid } = changes;
    if (
      node.kind !== 'file' ||
      node.write === undefined ||
      mode !== undefined ||
      uid !== undefined ||
      gid !== undefined
    )
      return refuse('setattr')();
    return this.#attributes(inode, node);
  }

  read(handle: Handle, offset: number, length: number): Buffer {
    const content = this.#content(handle, 'read');
    if (offset < 0) throw failure('EINVAL', 'read');
    return content.subarray(offset, offset + length);
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): number {
    const { length } = this.#content(handle, 'seek');
    if (offset < 0) throw failure('EINVAL', 'seek');
    if (offset >= length) throw failure('ENXIO', 'seek');
    return wanted === 'data' ? offset : length;
  }

  fsync(handle: Handle): void {
    this.#content(handle, 'fsync');
  }

  release(handle: Handle): void {
    this.#content(handle, 'release');
    this.#open.delete(handle);
  }

  readdir(inode: Inode): readonly Entry[] {
    const directory = this.#directory(inode, 'readdir');
    const known = directory.entries?.() ?? directory.names().map((text) => [text, directory.child(text)] as const);
    return known.flatMap(([text, node]) => {
      const name = nameFromText(text);
      return node === undefined ? [] : [{ name, inode: this.#inode(inode, name, node), kind: node.kind }];
    });
  }

  readlink(inode: Inode): Name {
    const node = this.#node(inode, 'readlink');
    if (node.kind !== 'symlink') throw failure('EINVAL', 'readlink');
    return nameFromText(node.target);
  }

  lasting(inode: Inode): 'inode' | 'name' | undefined {
    if (inode === clientInode) return 'inode';
    return inode === rootInode ? 'name' : this.#places.get(inode)?.lasting;
  }

  statfs() {
    return { blockSize: 4_096, blocks: 0, freeBlocks: 0, files: this.#places.size, freeFiles: 0, nameBytes };
  }
}

function lastingOf(node: ViewNode): Located['lasting'] {
  if (node.kind !== 'file' && node.isFixed === true) return 'name';
  return node.kind === 'directory' ? 'inode' : undefined;
}

function modeOf(node: ViewNode): number {
  if (node.kind === 'symlink') return 0o777;
  if (node.kind === 'directory' || node.executable) return 0o555;
  return node.write === undefined ? 0o444 : 0o644;
}

const refuse = (operation: string) => (): never => {
  throw failure('EROFS', operation, undefined, undefined, 'an object is changed by ctx agent set and ctx tool set');
};
const unsupported = (operation: string) => (): never => {
  throw failure('ENOTSUP', operation, undefined, 'a view of objects does not support this');
};

export function projection(options: ProjectionOptions): FileSystem {
  const view = new Projection(options);
  return {
    label: view.label,
    root: view.root,
    capabilities: view.capabilities,
    lookup: (directory, name) => view.lookup(directory, name),
    getattr: (inode) => view.getattr(inode),
    open: (inode, mode) => view.open(inode, mode),
    read: (handle, offset, length) => view.read(handle, offset, length),
    seek: (handle, offset, wanted) => view.seek(handle, offset, wanted),
    fsync: (handle) => view.fsync(handle),
    release: (handle) => view.release(handle),
    readdir: (inode) => view.readdir(inode),
    readlink: (inode) => view.readlink(inode),
    lasting: (inode) => view.lasting(inode),
    statfs: () => view.statfs(),
    setattr: (inode, changes) => view.setattr(inode, changes),
    create: refuse('create'),
    mkdir: refuse('mkdir'),
    mknod: refuse('mknod'),
    write: (handle, offset, bytes) => view.write(handle, offset, bytes),
    allocate: refuse('allocate'),
    unlink: refuse('unlink'),
    rmdir: refuse('rmdir'),
    rename: refuse('rename'),
    link: refuse('link'),
    symlink: refuse('symlink'),
    setxattr: refuse('setxattr'),
    removexattr: refuse('removexattr'),
    getxattr: unsupported('getxattr'),
    lock: unsupported('lock'),
    listxattr: () => [],
    watch: unsupported('watch'),
    sync: () => undefined,
    close: () => undefined,
  };
}
