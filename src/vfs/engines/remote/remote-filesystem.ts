/**
 * A store behind a network as an engine. Reading asks for parts and keeps some; what is written is collected on this machine and becomes
 * the whole file there at `fsync`, and when it is closed: never a part of it, and never over what somebody else has written meanwhile.
 *
 * Stores have no links, owners, modes and times of ours: that is declared, and refused. What others change is seen after a second.
 */
import { hasCode } from '../../../base/errno.js';
import { remoteAttributeMilliseconds, remoteBlockBytes, remoteCacheBytes } from '../../../base/limits.js';
import type { Answer, Steps } from '../../answer.js';
import { failure } from '../../failure.js';
import type {
  Attributes,
  Capabilities,
  Changes,
  Creation,
  Entry,
  FileSystem,
  Handle,
  Inode,
  Kind,
  Opened,
  OpenMode,
  RenameRule,
  Space,
} from '../../filesystem.js';
import { checkName, type Name, nameBytes } from '../../names.js';
import { OpenFiles } from '../inodes/open-files.js';
import { readOnly } from '../readonly/readonly.js';
import { Turns } from '../turns.js';
import { BlockCache } from './block-cache.js';
import { childPath, nameOfText, type RemoteNode, RemoteNodes, textOfName } from './remote-nodes.js';
import type { RemoteEntry, RemotePath, RemoteStore } from './remote-store.js';
import { StagedFile } from './staged-file.js';

const blockSize = 4096;
const endlessBlocks = 2 ** 40 / blockSize;
const largestFile = 5 * 2 ** 40;

export function remoteFileSystem(store: RemoteStore, writable: boolean): FileSystem {
  const engine = new RemoteFileSystem(store, writable);
  return writable ? engine : readOnly(engine);
}

class RemoteFileSystem implements FileSystem {
  readonly label: string;
  readonly root: Inode;
  readonly capabilities: Capabilities = {
    writable: true,
    hardLinks: false,
    symlinks: false,
    devices: false,
    attributes: false,
    owners: false,
    modes: false,
    byteNames: false,
    holes: false,
    exchange: false,
    watch: false,
    durable: true,
    immediate: false,
  };
  readonly #store: RemoteStore;
  readonly #nodes: RemoteNodes;
  readonly #open = new OpenFiles();
  readonly #cache = new BlockCache(remoteCacheBytes);
  /** Changes wait for each other; reading does not wait for them. */
  readonly #turns = new Turns(false);
  /** When the store last took too long, and what was said. */
  #late: { readonly at: number; readonly error: unknown } | undefined;

  constructor(store: RemoteStore, writable: boolean) {
    this.#store = store;
    this.label = store.label;
    this.#nodes = new RemoteNodes(writable);
    this.root = this.#nodes.root.inode;
  }

  async lookup(directory: Inode, name: Name): Promise<Attributes | undefined> {
    const above = this.#nodes.directory(directory, 'lookup');
    if (name.length > nameBytes) checkName('lookup', name);
    const text = nameOfText(textOrNothing(name));
    if (text === undefined || above.removed) return undefined;
    const node = await this.#look(childPath(above.path, textOrNothing(name)));
    return node === undefined ? undefined : this.#nodes.shown(node);
  }

  async getattr(inode: Inode): Promise<Attributes> {
    const node = this.#nodes.at(inode, 'getattr');
    if (node === this.#nodes.root || node.removed || node.staged !== undefined) return this.#nodes.shown(node);
    if ((await this.#look(node.path)) !== node) throw failure('ESTALE', 'getattr');
    return this.#nodes.shown(node);
  }

  setattr(inode: Inode, changes: Changes): Answer<Attributes> {
    const node = this.#nodes.at(inode, 'setattr');
    const { size } = changes;
    if (size !== undefined) {
      if (!(size >= 0)) throw failure('EINVAL', 'setattr', undefined, 'expected a size of at least 0');
      if (node.kind === 'directory') throw failure('EISDIR', 'setattr');
      if (size > largestFile) throw failure('EFBIG', 'setattr');
    }
    this.#refuseForeign(node, changes);
    if (size === undefined) return this.getattr(inode);
    return this.#turn(async () => {
      const staged = await this.#stage(node, size);
      staged.resize(size);
      node.changed = true;
      if (!this.#open.has(node.inode)) await this.#finish(node);
      return this.#nodes.shown(node);
    });
  }

  /** Times of now are what a write sets anyway; everything else a store does not have. */
  #refuseForeign(node: RemoteNode, { mode, uid, gid, accessed, modified }: Changes): void {
    const shown = this.#nodes.shown(node);
    const foreign =
      (mode !== undefined && mode !== shown.mode && 'modes') ||
      (((uid !== undefined && uid !== shown.uid) || (gid !== undefined && gid !== shown.gid)) && 'owners') ||
      ((typeof accessed === 'bigint' || typeof modified === 'bigint') && 'times');
    if (foreign === false) return;
    throw failure('ENOTSUP', 'setattr', undefined, `${this.label} keeps no ${foreign}`);
  }

  create(directory: Inode, name: Name, _creation: Creation, mode: OpenMode): Answer<Opened> {
    const above = this.#nodes.directory(directory, 'create');
    const text = textOfName('create', name);
    return this.#turn(async () => {
      const path = this.#room('create', above, text, name);
      const empty = new StagedFile();
      try {
        await this.#refuseExisting('create', path, name);
        // The name is taken by a write that fails where something is there, whoever else takes it meanwhile.
        const node = this.#nodes.found(path, await this.#store.write(path, empty, 'nothing'));
        node.removed = false;
        return { attributes: this.#nodes.shown(node), handle: this.#open.add({ inode: node.inode, ...mode }) };
      } finally {
        empty.close();
      }
    });
  }

  mkdir(directory: Inode, name: Name): Answer<Attributes> {
    const above = this.#nodes.directory(directory, 'mkdir');
    const text = textOfName('mkdir', name);
    return this.#turn(async () => {
      const path = this.#room('mkdir', above, text, name);
      await this.#refuseExisting('mkdir', path, name);
      await this.#store.makeDirectory(path);
      const modified = BigInt(Date.now()) * 1_000_000n;
      const node = this.#nodes.found(path, { name: text, kind: 'directory', size: 0, modified, version: '' });
      node.kept = true;
      return this.#nodes.shown(node);
    });
  }

  async mknod(directory: Inode, name: Name, creation: Creation, kind: Kind): Promise<Attributes> {
    if (kind === 'directory' || kind === 'symlink') throw failure('EINVAL', 'mknod', name, 'expected another kind');
    if (kind !== 'file') throw failure('EPERM', 'mknod', name, `${this.label} holds files and directories`);
    const { attributes, handle } = await this.create(directory, name, creation, { read: true, write: false });
    await this.release(handle);
    return attributes;
  }

  open(inode: Inode, mode: OpenMode): Answer<Handle> {
    const node = this.#nodes.at(inode, 'open');
    if (node.kind === 'directory' && mode.write) throw failure('EISDIR', 'open');
    if (mode.truncate !== true || !mode.write) return this.#open.add({ inode, ...mode });
    return this.#turn(async () => {
      const staged = await this.#stage(node, 0);
      staged.resize(0);
      node.changed = true;
      return this.#open.add({ inode, ...mode });
    });
  }

  async read(handle: Handle, offset: number, length: number): Promise<Buffer> {
    const { inode, read } = this.#open.at(handle, 'read');
    if (!read) throw failure('EBADF', 'read');
    if (offset < 0 || length < 0) throw failure('EINVAL', 'read', undefined, 'expected a place in the file');
    const node = this.#nodes.at(inode, 'read');
    if (node.kind === 'directory') throw failure('EISDIR', 'read');
    if (node.staged !== undefined) return node.staged.read(offset, length);
    const end = Math.min(node.entry.size, offset + length);
    const pieces: Buffer[] = [];
    for (let at = offset; at < end; ) {
      const index = Math.floor(at / remoteBlockBytes);
      const block = await this.#block(node, index);
      const from = at - index * remoteBlockBytes;
      const piece = block.subarray(from, from + end - at);
      if (piece.length === 0) break;
      pieces.push(piece);
      at += piece.length;
    }
    return pieces.length === 1 && pieces[0] !== undefined ? Buffer.from(pieces[0]) : Buffer.concat(pieces);
  }

  #block({ path, entry: { version, size } }: RemoteNode, index: number): Promise<Buffer> {
    const offset = index * remoteBlockBytes;
    return this.#cache.get(`${path}\0${version}\0${index}`, () =>
      this.#store.read(path, version, offset, Math.min(remoteBlockBytes, size - offset)),
    );
  }

  write(handle: Handle, offset: number, bytes: Uint8Array): Answer<number> {
    const file = this.#open.at(handle, 'write');
    if (!file.write) throw failure('EBADF', 'write');
    if (offset < 0) throw failure('EINVAL', 'write', undefined, 'expected a place in the file');
    const node = this.#nodes.at(file.inode, 'write');
    // It is kept until its turn comes, and a mount uses the bytes of a request again.
    const kept = Buffer.from(bytes);
    return this.#turn(async () => {
      const staged = await this.#stage(node);
      const from = file.append === true ? staged.size : offset;
      if (from + kept.length > largestFile) throw failure('EFBIG', 'write');
      staged.write(from, kept);
      node.changed = true;
      return kept.length;
    });
  }

  allocate(): void {
    throw failure('ENOTSUP', 'allocate', undefined, `${this.label} has no holes to make`);
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): number {
    const { inode } = this.#open.at(handle, 'seek');
    const { size } = this.#nodes.shown(this.#nodes.at(inode, 'seek'));
    if (offset < 0 || offset >= size) throw failure('ENXIO', 'seek');
    return wanted === 'data' ? offset : size;
  }

  fsync(handle: Handle): Answer<void> {
    const { inode } = this.#open.at(handle, 'fsync');
    return this.#turn(() => this.#upload(this.#nodes.at(inode, 'fsync')));
  }

  flush(handle: Handle): Answer<void> {
    return this.fsync(handle);
  }

  release(handle: Handle): Answer<void> {
    const { inode } = this.#open.at(handle, 'release');
    this.#open.remove(handle);
    const node = this.#nodes.at(inode, 'release');
    if (node.staged === undefined || this.#open.has(inode)) return;
    return this.#turn(() => this.#finish(node));
  }

  async readdir(directory: Inode): Promise<readonly Entry[]> {
    const above = this.#nodes.directory(directory, 'readdir');
    if (above.removed) return [];
    const asked = Date.now();
    const listed = await this.#store.list(above.path);
    return listed.flatMap((entry) => {
      const name = nameOfText(entry.name);
      if (name === undefined) return [];
      const { inode, kind } = this.#nodes.found(childPath(above.path, entry.name), entry, asked);
      return [{ name, inode, kind }];
    });
  }

  unlink(directory: Inode, name: Name): Answer<void> {
    const above = this.#nodes.directory(directory, 'unlink');
    return this.#turn(async () => {
      const node = await this.#child('unlink', above, name);
      if (node.kind === 'directory') throw failure('EISDIR', 'unlink', name);
      await this.#keep(above);
      await this.#holdOpen(node);
      await this.#store.remove(node.path);
      this.#nodes.gone(node);
    });
  }

  rmdir(directory: Inode, name: Name): Answer<void> {
    const above = this.#nodes.directory(directory, 'rmdir');
    return this.#turn(async () => {
      const node = await this.#child('rmdir', above, name);
      if (node.kind !== 'directory') throw failure('ENOTDIR', 'rmdir', name);
      if ((await this.#store.list(node.path)).length > 0) throw failure('ENOTEMPTY', 'rmdir', name);
      await this.#keep(above);
      await this.#store.removeDirectory(node.path);
      this.#nodes.gone(node);
    });
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): Answer<void> {
    const [from, into] = [this.#nodes.directory(directory, 'rename'), this.#nodes.directory(to, 'rename')];
    const text = textOfName('rename', newName);
    if (rule === 'exchange') throw failure('ENOTSUP', 'rename', name, `${this.label} cannot exchange two names`);
    return this.#turn(async () => {
      const moved = await this.#child('rename', from, name);
      const path = this.#room('rename', into, text, newName);
      if (moved.kind === 'directory' && (path === moved.path || path.startsWith(`${moved.path}/`))) {
        if (path === moved.path) return;
        throw failure('EINVAL', 'rename', name, 'it cannot be moved into itself');
      }
      const replaced = await this.#look(path);
      if (replaced !== undefined) {
        if (rule === 'keep') throw failure('EEXIST', 'rename', newName);
        if (replaced === moved) return;
        await this.#checkReplaced(moved, replaced, newName);
        await this.#holdOpen(replaced);
        if (replaced.kind === 'directory') await this.#store.removeDirectory(replaced.path);
      }
      await this.#upload(moved);
      await this.#keep(from);
      await this.#store.move(moved.path, path, moved.kind);
      if (replaced !== undefined) this.#nodes.gone(replaced);
      this.#nodes.moved(moved, path);
      const entry = await this.#store.stat(path);
      if (entry !== undefined) moved.entry = entry;
    });
  }

  async #checkReplaced(moved: RemoteNode, replaced: RemoteNode, name: Name): Promise<void> {
    if (replaced.kind === 'directory') {
      if (moved.kind !== 'directory') throw failure('EISDIR', 'rename', name);
      if ((await this.#store.list(replaced.path)).length > 0) throw failure('ENOTEMPTY', 'rename', name);
    } else if (moved.kind === 'directory') throw failure('ENOTDIR', 'rename', name);
  }

  link(inode: Inode, _directory: Inode, name: Name): never {
    this.#nodes.at(inode, 'link');
    throw failure('EPERM', 'link', name, `${this.label} has no links`);
  }

  symlink(_directory: Inode, name: Name): never {
    throw failure('EPERM', 'symlink', name, `${this.label} has no links`);
  }

  readlink(inode: Inode): never {
    this.#nodes.at(inode, 'readlink');
    throw failure('EINVAL', 'readlink', undefined, 'expected a symbolic link');
  }

  getxattr(): never {
    throw failure('ENOTSUP', 'getxattr', undefined, `${this.label} has no extended attributes`);
  }

  setxattr(): never {
    throw failure('ENOTSUP', 'setxattr', undefined, `${this.label} has no extended attributes`);
  }

  listxattr(): readonly Name[] {
    return [];
  }

  removexattr(): never {
    throw failure('ENOTSUP', 'removexattr', undefined, `${this.label} has no extended attributes`);
  }

  statfs(): Space {
    const room = { blocks: endlessBlocks, freeBlocks: endlessBlocks, files: endlessBlocks, freeFiles: endlessBlocks };
    return { blockSize, ...room, nameBytes };
  }

  forget(inode: Inode): void {
    if (!this.#open.has(inode)) this.#nodes.forget(inode);
  }

  watch(): never {
    throw failure('ENOTSUP', 'watch', undefined, `${this.label} is not watched`);
  }

  sync(): Answer<void> {
    const changed = this.#nodes.all().filter((node) => node.changed && !node.removed);
    if (changed.length === 0) return;
    return this.#turn(async () => {
      for (const node of changed) await this.#upload(node);
    });
  }

  async close(): Promise<void> {
    try {
      for (const handle of this.#open.all()) await this.release(handle);
    } finally {
      await this.#store.close();
    }
  }

  #turn<T>(act: () => Promise<T>): Promise<T> {
    const steps = function* (): Steps<T> {
      return (yield act()) as T;
    };
    return Promise.resolve(this.#turns.take(steps));
  }

  /** What the store has at a path, or what is known of it since a moment. */
  async #look(path: RemotePath): Promise<RemoteNode | undefined> {
    const known = this.#nodes.known(path);
    if (known !== undefined) {
      const isFresh = Date.now() - known.heard < remoteAttributeMilliseconds;
      if (isFresh || known.staged !== undefined || known === this.#nodes.root) return known;
    }
    const asked = Date.now();
    const entry = await this.#stat(path);
    if (entry !== undefined) return this.#nodes.found(path, entry, asked);
    const since = this.#nodes.known(path);
    // What was made here meanwhile is there, whatever the store said before.
    if (since !== undefined && since.heard >= asked) return since;
    if (since !== undefined) this.#nodes.gone(since);
    return undefined;
  }

  /** The kernel asks twice where a lookup fails: whoever has waited for the limit once does not wait for it again. */
  async #stat(path: RemotePath): Promise<RemoteEntry | undefined> {
    if (this.#late !== undefined && Date.now() - this.#late.at < remoteAttributeMilliseconds) throw this.#late.error;
    try {
      return await this.#store.stat(path);
    } catch (error) {
      if (hasCode(error, 'ETIMEDOUT')) this.#late = { at: Date.now(), error };
      throw error;
    }
  }

  async #child(operation: string, directory: RemoteNode, name: Name): Promise<RemoteNode> {
    const text = textOrNothing(name);
    const node =
      directory.removed || nameOfText(text) === undefined
        ? undefined
        : await this.#look(childPath(directory.path, text));
    if (node === undefined) throw failure('ENOENT', operation, name);
    return node;
  }

  #room(operation: string, directory: RemoteNode, text: string, name: Name): RemotePath {
    if (directory.removed) throw failure('ENOENT', operation, name, 'its directory was removed');
    const path = childPath(directory.path, text);
    if (Buffer.byteLength(path) <= this.#store.pathBytes) return path;
    throw failure('ENAMETOOLONG', operation, name, `expected a path of at most ${this.#store.pathBytes} bytes`);
  }

  async #refuseExisting(operation: string, path: RemotePath, name: Name): Promise<void> {
    if ((await this.#look(path)) !== undefined) throw failure('EEXIST', operation, name);
  }

  /** A directory that is there only because of what is in it is made one before its last entry may go. */
  async #keep(directory: RemoteNode): Promise<void> {
    if (directory.kept) return;
    await this.#store.keepDirectory(directory.path);
    directory.kept = true;
  }

  /** Its content here, as far as `most` bytes of it are needed. */
  async #stage(node: RemoteNode, most = Number.POSITIVE_INFINITY): Promise<StagedFile> {
    if (node.staged !== undefined) return node.staged;
    const staged = new StagedFile();
    try {
      const size = Math.min(most, node.entry.size);
      for (let at = 0; at < size; at += remoteBlockBytes) {
        const block = await this.#block(node, at / remoteBlockBytes);
        staged.write(at, block.subarray(0, size - at));
      }
    } catch (error) {
      staged.close();
      throw error;
    }
    node.staged = staged;
    return staged;
  }

  /** Whoever has it open keeps it when it loses its name. */
  async #holdOpen(node: RemoteNode): Promise<void> {
    if (node.kind === 'file' && this.#open.has(node.inode)) await this.#stage(node);
  }

  async #upload(node: RemoteNode): Promise<void> {
    const { staged } = node;
    if (staged === undefined || !node.changed || node.removed) return;
    node.entry = await this.#store.write(node.path, staged, { version: node.entry.version });
    node.heard = Date.now();
    node.changed = false;
  }

  /** Nobody has it open: what is staged of it goes to the store, and from here. */
  async #finish(node: RemoteNode): Promise<void> {
    if (this.#open.has(node.inode)) return;
    try {
      await this.#upload(node);
    } finally {
      node.staged?.close();
      node.staged = undefined;
      node.changed = false;
    }
  }
}

/** Names that are not UTF-8 are never found. */
function textOrNothing(name: Name): string {
  const text = Buffer.from(name, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? '' : text;
}
