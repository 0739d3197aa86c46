/**
 * A store behind a network as an engine. Reading asks for parts and keeps some; what is written is collected on this machine and becomes
 * the whole file there at `fsync`, and when it is closed: never a part of it, and never over what somebody else has written meanwhile.
 *
 * Stores have no links, owners, modes and times of ours: that is declared, and refused. What others change is seen after a second.
 */
import { monotonic } from '../../../base/clock.js';
import { hasCode } from '../../../base/errno.js';
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
import { EngineTurns } from '../turns.js';
import { RemoteContents } from './remote-contents.js';
import { RemoteLookups, textOrNothing } from './remote-lookups.js';
import { childPath, nameOfText, type RemoteNode, RemoteNodes, textOfName } from './remote-nodes.js';
import type { RemoteStore } from './remote-store.js';
import { StagedFile } from './staged-file.js';

const blockSize = 4096;
const endlessBlocks = 2 ** 40 / blockSize;
const largestFile = 5 * 2 ** 40;

/** Also after one that is refused. But not where the store does not answer: each would be waited for as long. Throws what failed first. */
async function eachOf<T>(all: readonly T[], act: (each: T) => Answer<void>): Promise<void> {
  const failed: unknown[] = [];
  for (const each of all) {
    try {
      await act(each);
    } catch (error) {
      failed.push(error);
      if (hasCode(error, 'ETIMEDOUT')) break;
    }
  }
  if (failed.length > 0) throw failed[0];
}

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
    sharedLocks: false,
    immediate: false,
  };
  readonly #store: RemoteStore;
  readonly #nodes: RemoteNodes;
  readonly #open = new OpenFiles();
  readonly #contents: RemoteContents;
  readonly #lookups: RemoteLookups;
  /** Changes wait for each other; reading does not wait for them. */
  readonly #turns = new EngineTurns(false);

  constructor(store: RemoteStore, writable: boolean) {
    this.#store = store;
    this.#contents = new RemoteContents(store, this.#open);
    this.label = store.label;
    this.#nodes = new RemoteNodes(writable);
    this.#lookups = new RemoteLookups(store, this.#nodes);
    this.root = this.#nodes.root.inode;
  }

  async lookup(directory: Inode, name: Name): Promise<Attributes | undefined> {
    const above = this.#nodes.directory(directory, 'lookup');
    if (name.length > nameBytes) checkName('lookup', name);
    const text = nameOfText(textOrNothing(name));
    if (text === undefined || above.removed) return undefined;
    const node = await this.#lookups.look(childPath(above.path, textOrNothing(name)));
    return node === undefined ? undefined : this.#nodes.shown(node);
  }

  async getattr(inode: Inode): Promise<Attributes> {
    const node = this.#nodes.at(inode, 'getattr');
    if (node === this.#nodes.root || node.removed || node.staged !== undefined) return this.#nodes.shown(node);
    if ((await this.#lookups.look(node.path)) !== node) throw failure('ESTALE', 'getattr');
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
      const staged = await this.#contents.stage(node, size);
      staged.resize(size);
      node.changed = true;
      if (!this.#open.has(node.inode)) await this.#contents.finish(node);
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
      const path = this.#lookups.room('create', above, text, name);
      const empty = new StagedFile();
      try {
        await this.#lookups.refuseExisting('create', path, name);
        // The name is taken by a write that fails where something is there, no matter who else takes it meanwhile.
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
      const path = this.#lookups.room('mkdir', above, text, name);
      await this.#lookups.refuseExisting('mkdir', path, name);
      await this.#store.makeDirectory(path);
      const modified = BigInt(Date.now()) * 1_000_000n;
      const node = this.#nodes.found(path, { name: text, kind: 'directory', size: 0, modified, version: '' });
      node.kept = true;
      return this.#nodes.shown(node);
    });
  }

  async mknod(directory: Inode, name: Name, creation: Creation, kind: Kind): Promise<Attributes> {
    if (kind === 'directory' || kind === 'symlink')
      throw failure('EINVAL', 'mknod', name, 'expected a file, a device, a pipe or a socket');
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
      const staged = await this.#contents.stage(node, 0);
      staged.resize(0);
      node.changed = true;
      return this.#open.add({ inode, ...mode });
    });
  }

  async read(handle: Handle, offset: number, length: number): Promise<Buffer> {
    const { inode, read } = this.#open.at(handle, 'read');
    if (!read) throw failure('EBADF', 'read');
    if (offset < 0 || length < 0)
      throw failure('EINVAL', 'read', undefined, 'expected an offset and a length of at least 0');
    const node = this.#nodes.at(inode, 'read');
    if (node.kind === 'directory') throw failure('EISDIR', 'read');
    return this.#contents.read(node, offset, length);
  }

  write(handle: Handle, offset: number, bytes: Uint8Array): Answer<number> {
    const file = this.#open.at(handle, 'write');
    if (!file.write) throw failure('EBADF', 'write');
    if (offset < 0) throw failure('EINVAL', 'write', undefined, 'expected an offset and a length of at least 0');
    const node = this.#nodes.at(file.inode, 'write');
    // It is kept until its turn comes, and a mount uses the bytes of a request again.
    const kept = Buffer.from(bytes);
    return this.#turn(async () => {
      const staged = await this.#contents.stage(node);
      const from = file.append === true ? staged.size : offset;
      if (from + kept.length > largestFile) throw failure('EFBIG', 'write');
      staged.write(from, kept);
      node.changed = true;
      return kept.length;
    });
  }

  allocate(): void {
    throw failure('ENOTSUP', 'allocate', undefined, `${this.label} cannot make holes`);
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): number {
    const { inode } = this.#open.at(handle, 'seek');
    const { size } = this.#nodes.shown(this.#nodes.at(inode, 'seek'));
    if (offset < 0 || offset >= size) throw failure('ENXIO', 'seek');
    return wanted === 'data' ? offset : size;
  }

  fsync(handle: Handle): Answer<void> {
    const { inode } = this.#open.at(handle, 'fsync');
    return this.#turn(() => this.#contents.upload(this.#nodes.at(inode, 'fsync')));
  }

  flush(handle: Handle): Answer<void> {
    return this.fsync(handle);
  }

  lock: FileSystem['lock'] = (handle, request) => this.#open.lock(handle, request);

  release(handle: Handle): Answer<void> {
    const { inode, write } = this.#open.at(handle, 'release');
    this.#open.remove(handle);
    const node = this.#nodes.at(inode, 'release');
    // A write of it may still wait for its turn: then nothing is staged yet.
    if (!write && (node.staged === undefined || this.#open.has(inode))) return;
    return this.#turn(() => this.#contents.finish(node));
  }

  async readdir(directory: Inode): Promise<readonly Entry[]> {
    const above = this.#nodes.directory(directory, 'readdir');
    if (above.removed) return [];
    const asked = monotonic();
    const listed = await this.#store.list(above.path);
    this.#lookups.listed(above.path, listed.length);
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
      const node = await this.#lookups.child('unlink', above, name);
      if (node.kind === 'directory') throw failure('EISDIR', 'unlink', name);
      await this.#lookups.keep(above);
      await this.#contents.holdOpen(node);
      await this.#store.remove(node.path);
      this.#nodes.gone(node);
    });
  }

  rmdir(directory: Inode, name: Name): Answer<void> {
    const above = this.#nodes.directory(directory, 'rmdir');
    return this.#turn(async () => {
      const node = await this.#lookups.child('rmdir', above, name);
      if (node.kind !== 'directory') throw failure('ENOTDIR', 'rmdir', name);
      if ((await this.#store.list(node.path)).length > 0) throw failure('ENOTEMPTY', 'rmdir', name);
      await this.#lookups.keep(above);
      await this.#store.removeDirectory(node.path);
      this.#nodes.gone(node);
    });
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): Answer<void> {
    const [from, into] = [this.#nodes.directory(directory, 'rename'), this.#nodes.directory(to, 'rename')];
    const text = textOfName('rename', newName);
    if (rule === 'exchange') throw failure('ENOTSUP', 'rename', name, `${this.label} cannot exchange two names`);
    return this.#turn(async () => {
      const moved = await this.#lookups.child('rename', from, name);
      const path = this.#lookups.room('rename', into, text, newName);
      if (moved.kind === 'directory' && (path === moved.path || path.startsWith(`${moved.path}/`))) {
        if (path === moved.path) return;
        throw failure('EINVAL', 'rename', name, 'it cannot be moved into itself');
      }
      const replaced = await this.#lookups.look(path);
      if (replaced !== undefined) {
        if (rule === 'keep') throw failure('EEXIST', 'rename', newName);
        if (replaced === moved) return;
        await this.#checkReplaced(moved, replaced, newName);
        await this.#contents.holdOpen(replaced);
        if (replaced.kind === 'directory') await this.#store.removeDirectory(replaced.path);
      }
      const used = this.#nodes
        .withAllBelow(moved)
        .filter((each) => each === moved || each.staged !== undefined || this.#open.has(each.inode));
      for (const each of used) await this.#contents.upload(each);
      await this.#lookups.keep(from);
      await this.#store.move(moved.path, path, moved.kind, replaced?.kind === 'file' ? 'file' : 'nothing');
      if (replaced !== undefined) this.#nodes.gone(replaced);
      this.#nodes.moved(moved, path);
      for (const each of used) await this.#hearAnew(each);
    });
  }

  /** Where it was moved to it may have another version. That this cannot be asked undoes no move: it is asked for again. */
  async #hearAnew(node: RemoteNode): Promise<void> {
    const entry = await this.#store.stat(node.path).catch(() => undefined);
    if (entry?.kind === node.kind) node.entry = entry;
    node.heard = entry === undefined ? Number.NEGATIVE_INFINITY : monotonic();
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
      await eachOf(changed, (node) => this.#contents.upload(node));
    });
  }

  async close(): Promise<void> {
    try {
      await eachOf(this.#open.all(), (handle) => this.release(handle));
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
}
