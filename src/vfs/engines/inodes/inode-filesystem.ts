/**
 * POSIX over an inode store: the one place that knows what link counts, orphans, renames and times mean. The memory and the
 * chunked engine are this with different stores.
 */

import { type Answer, askEach, settle } from '../../answer.js';
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
  Time,
  TreeChange,
} from '../../filesystem.js';
import { checkName, type Name, nameBytes, pathBytes } from '../../names.js';
import { type ExtendedAttributes, extendedAttributes } from './extended-attributes.js';
import type { InodeOptions } from './inode-options.js';
import { InodeRecords, mostLinks } from './inode-records.js';
import type { InodeRecord, InodeStore } from './inode-store.js';
import { now } from './inode-time.js';
import { type OpenFile, OpenFiles } from './open-files.js';
import { checkReplaced, isWithin } from './rename-rules.js';

const blockSize = 4096;
/** Whole numbers stay exact in JavaScript up to here, and chunk numbers in 32 bits. */
export const largestFile = 2 ** 46;
const endless = 2 ** 40;

type MakeArguments = readonly [creation: Creation, kind: Kind, device: number, target?: Name];

export class InodeFileSystem implements FileSystem {
  readonly label: string;
  readonly root: Inode;
  readonly capabilities: Capabilities;
  readonly changesOutside: boolean;
  readonly #store: InodeStore;
  readonly #options: InodeOptions;
  readonly #open = new OpenFiles();
  readonly #watchers = new Set<(change: TreeChange) => void>();
  readonly #records: InodeRecords;
  readonly #attributes: ExtendedAttributes;

  constructor(store: InodeStore, options: InodeOptions) {
    this.#store = store;
    this.#options = options;
    this.changesOutside = options.changesOutside === true;
    this.#records = new InodeRecords(store, this.#open, options);
    this.label = options.label;
    this.root = store.root;
    this.capabilities = {
      writable: options.writable,
      hardLinks: true,
      symlinks: true,
      devices: true,
      attributes: true,
      owners: true,
      modes: true,
      byteNames: true,
      holes: true,
      exchange: true,
      watch: true,
      durable: options.durable,
      sharedLocks: false,
      immediate: true,
    };
    this.#attributes = extendedAttributes(store, (inode, operation) => this.#records.record(inode, operation));
  }

  lookup(directory: Inode, name: Name): Attributes | undefined {
    this.#records.directory(directory, 'lookup');
    if (name.length > nameBytes) checkName('lookup', name);
    const found = this.#store.child(directory, name);
    const record = found === undefined ? undefined : this.#named(found, 'lookup');
    return record === undefined ? undefined : this.#records.shown(record);
  }

  getattr(inode: Inode): Attributes {
    return this.#records.shown(this.#records.record(inode, 'getattr'));
  }

  setattr(inode: Inode, { mode, uid, gid, size, accessed, modified }: Changes): Attributes {
    this.#writable('setattr');
    const record = this.#records.record(inode, 'setattr');
    const time = now();
    if (size !== undefined) this.#resize(record, size, time);
    if (mode !== undefined) record.mode = mode & 0o7777;
    if (uid !== undefined) record.uid = uid;
    if (gid !== undefined) record.gid = gid;
    if (accessed !== undefined) record.accessed = accessed === 'now' ? time : accessed;
    if (modified !== undefined) record.modified = modified === 'now' ? time : modified;
    record.changed = time;
    this.#store.put(record);
    this.#store.settled();
    return this.#records.shown(record);
  }

  create(directory: Inode, name: Name, creation: Creation, mode: OpenMode): Opened {
    const attributes = this.#make('create', directory, name, creation, 'file', 0);
    return { attributes, handle: this.#open.add({ inode: attributes.inode, ...mode }) };
  }

  mkdir(directory: Inode, name: Name, creation: Creation): Attributes {
    return this.#make('mkdir', directory, name, creation, 'directory', 0);
  }

  mknod(directory: Inode, name: Name, creation: Creation, kind: Kind, device: number): Attributes {
    if (kind === 'directory' || kind === 'symlink')
      throw failure('EINVAL', 'mknod', name, 'expected a file, a device, a pipe or a socket');
    return this.#make('mknod', directory, name, creation, kind, device);
  }

  open(inode: Inode, mode: OpenMode): Handle {
    const record = this.#records.record(inode, 'open');
    if (record.kind === 'directory' && mode.write) throw failure('EISDIR', 'open');
    if (record.kind === 'symlink') throw failure('ELOOP', 'open');
    if (record.kind !== 'file' && record.kind !== 'directory') throw failure('ENXIO', 'open');
    if (mode.write) this.#writable('open');
    if (mode.truncate === true && mode.write) this.setattr(inode, { size: 0, modified: 'now' });
    return this.#open.add({ inode, ...mode });
  }

  read(handle: Handle, offset: number, length: number): Buffer {
    const { inode, read } = this.#open.at(handle, 'read');
    if (!read) throw failure('EBADF', 'read');
    if (offset < 0 || length < 0)
      throw failure('EINVAL', 'read', undefined, 'expected an offset and a length of at least 0');
    const { kind, size } = this.#records.record(inode, 'read');
    if (kind === 'directory') throw failure('EISDIR', 'read');
    const end = Math.min(size, offset + length);
    return end <= offset ? Buffer.alloc(0) : this.#store.read(inode, offset, end - offset);
  }

  write(handle: Handle, offset: number, bytes: Uint8Array): number {
    const file = this.#writing(handle, 'write');
    if (offset < 0) throw failure('EINVAL', 'write', undefined, 'expected an offset and a length of at least 0');
    const record = this.#records.record(file.inode, 'write');
    if (bytes.length === 0) return 0;
    const from = file.append === true ? record.size : offset;
    const end = from + bytes.length;
    this.#checkSize('write', end);
    this.#checkSpace('write', Math.max(0, end - record.size));
    this.#store.write(file.inode, from, bytes);
    record.size = Math.max(record.size, end);
    record.modified = now();
    record.changed = record.modified;
    this.#store.put(record);
    this.#store.settled();
    return bytes.length;
  }

  allocate(handle: Handle, offset: number, length: number, how: 'extend' | 'keep' | 'punch'): void {
    const { inode } = this.#writing(handle, 'allocate');
    if (offset < 0 || length <= 0) throw failure('EINVAL', 'allocate', undefined, 'expected a part of the file');
    const record = this.#records.record(inode, 'allocate');
    const end = offset + length;
    this.#checkSize('allocate', end);
    if (how === 'punch') this.#store.erase(inode, offset, Math.min(end, record.size));
    if (how === 'extend' && end > record.size) {
      this.#checkSpace('allocate', end - record.size);
      record.size = end;
    }
    record.modified = now();
    record.changed = record.modified;
    this.#store.put(record);
    this.#store.settled();
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): number {
    const { inode } = this.#open.at(handle, 'seek');
    const { size } = this.#records.record(inode, 'seek');
    if (offset < 0 || offset >= size) throw failure('ENXIO', 'seek');
    const found = this.#store.seek(inode, offset, size, wanted);
    if (found === undefined && wanted === 'data') throw failure('ENXIO', 'seek');
    return found ?? size;
  }

  fsync(handle: Handle): void {
    this.#open.at(handle, 'fsync');
    this.#store.sync();
  }

  lock: FileSystem['lock'] = (handle, request) => this.#open.lock(handle, request);

  release(handle: Handle): void {
    const { inode } = this.#open.at(handle, 'release');
    this.#open.remove(handle);
    const record = this.#store.get(inode);
    if (record !== undefined && record.links === 0) this.#records.forgetOrphan(record);
    this.#store.settled();
  }

  readdir(directory: Inode): readonly Entry[] {
    this.#records.directory(directory, 'readdir');
    // All names before the first record: with that comes what another process has written since.
    return [...this.#store.children(directory)].flatMap(([name, inode]): readonly Entry[] => {
      const record = this.#named(inode, 'readdir');
      return record === undefined ? [] : [{ name, inode, kind: record.kind }];
    });
  }

  unlink(directory: Inode, name: Name): void {
    this.#writable('unlink');
    const from = this.#records.directory(directory, 'unlink');
    const record = this.#records.child(directory, name, 'unlink');
    if (record.kind === 'directory') throw failure('EISDIR', 'unlink', name);
    this.#store.removeChild(directory, name);
    this.#records.touch(from);
    this.#records.dropLink(record);
    this.#changed('rename', directory, name);
  }

  rmdir(directory: Inode, name: Name): void {
    this.#writable('rmdir');
    const from = this.#records.directory(directory, 'rmdir');
    const record = this.#records.child(directory, name, 'rmdir');
    if (record.kind !== 'directory') throw failure('ENOTDIR', 'rmdir', name);
    if (!this.#store.isEmpty(record.inode)) throw failure('ENOTEMPTY', 'rmdir', name);
    this.#store.removeChild(directory, name);
    this.#records.dropDirectory(record, from);
    this.#changed('rename', directory, name);
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): void {
    this.#writable('rename');
    const from = this.#records.directory(directory, 'rename');
    const target = this.#records.directory(to, 'rename');
    checkName('rename', newName);
    if (target.links === 0) throw failure('ENOENT', 'rename', newName);
    const moved = this.#records.child(directory, name, 'rename');
    const replacedInode = this.#store.child(to, newName);
    const replaced = replacedInode === undefined ? undefined : this.#records.record(replacedInode, 'rename');
    const parent = (inode: Inode) => this.#records.record(inode, 'rename').parent;
    if (isWithin(moved, to, this.root, parent))
      throw failure('EINVAL', 'rename', name, 'it cannot be moved into itself');
    if (rule === 'exchange') {
      if (replaced === undefined) throw failure('ENOENT', 'rename', newName);
      if (isWithin(replaced, directory, this.root, parent))
        throw failure('EINVAL', 'rename', newName, 'it cannot be moved into itself');
      this.#store.setChild(directory, name, replaced.inode);
      this.#records.reparent(replaced, to, directory);
    } else if (replaced !== undefined) {
      if (rule === 'keep') throw failure('EEXIST', 'rename', newName);
      if (replaced.inode === moved.inode) return; // Two names of one file: nothing is done, as POSIX says.
      checkReplaced(moved, replaced, newName, (inode) => this.#store.isEmpty(inode));
    }
    this.#store.setChild(to, newName, moved.inode);
    if (rule !== 'exchange') this.#store.removeChild(directory, name);
    this.#records.reparent(moved, directory, to);
    this.#records.touch(from);
    this.#records.touch(target);
    // Last: a store that writes what is settled has other records afterwards.
    if (rule !== 'exchange' && replaced !== undefined) {
      if (replaced.kind === 'directory') this.#records.dropDirectory(replaced, target);
      else this.#records.dropLink(replaced);
    } else this.#store.settled();
    this.#changed('rename', directory, name);
    this.#changed('rename', to, newName);
  }

  link(inode: Inode, directory: Inode, name: Name): Attributes {
    this.#writable('link');
    const into = this.#records.directory(directory, 'link');
    checkName('link', name);
    const record = this.#records.record(inode, 'link');
    if (into.links === 0 || record.links === 0) throw failure('ENOENT', 'link', name);
    if (record.kind === 'directory') throw failure('EPERM', 'link', name, 'a directory has one name only');
    if (this.#store.child(directory, name) !== undefined) throw failure('EEXIST', 'link', name);
    if (record.links >= mostLinks) throw failure('EMLINK', 'link', name);
    record.links += 1;
    record.changed = now();
    this.#store.put(record);
    this.#store.setChild(directory, name, inode);
    this.#records.touch(into);
    this.#store.settled();
    this.#changed('rename', directory, name);
    return this.#records.shown(record);
  }

  symlink(directory: Inode, name: Name, target: Name, creation: Creation): Attributes {
    if (target === '') throw failure('ENOENT', 'symlink', name, 'expected a target');
    if (target.length > pathBytes)
      throw failure('ENAMETOOLONG', 'symlink', name, `expected at most ${pathBytes} bytes`);
    return this.#make('symlink', directory, name, { ...creation, mode: 0o777 }, 'symlink', 0, target);
  }

  readlink(inode: Inode): Name {
    const { target } = this.#records.record(inode, 'readlink');
    if (target === undefined) throw failure('EINVAL', 'readlink', undefined, 'expected a symbolic link');
    return target;
  }

  getxattr(inode: Inode, name: Name): Buffer {
    return this.#attributes.get(inode, name);
  }

  setxattr(inode: Inode, name: Name, value: Uint8Array, rule: 'create' | 'replace' | 'any'): void {
    this.#writable('setxattr');
    this.#checkSpace('setxattr', name.length + value.length);
    this.#attributes.set(inode, name, value, rule);
    this.#store.settled();
  }

  listxattr(inode: Inode): readonly Name[] {
    return this.#attributes.list(inode);
  }

  removexattr(inode: Inode, name: Name): void {
    this.#writable('removexattr');
    this.#attributes.remove(inode, name);
    this.#store.settled();
  }

  statfs(): Space {
    const { bytes, inodes } = this.#store.usage();
    const blocks = Math.floor((this.#options.capacity ?? endless) / blockSize);
    const files = this.#options.inodes ?? endless / blockSize;
    return {
      blockSize,
      blocks,
      freeBlocks: Math.max(0, blocks - Math.ceil(bytes / blockSize)),
      files,
      freeFiles: Math.max(0, files - inodes),
      nameBytes,
    };
  }

  watch(changed: (change: TreeChange) => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  sync(): void {
    this.#store.sync();
  }

  close(): Answer<void> {
    const release = () => settle(askEach(this.#open.all(), (handle) => this.release(handle)));
    const closings = [release, () => this.#store.close(), () => this.#options.ended?.()];
    return settle(askEach(closings, (close) => close()));
  }

  /** Of a tree that another process writes to, undefined where it is gone since its name was read. ESTALE */
  #named(inode: Inode, operation: string): InodeRecord | undefined {
    const record = this.#store.get(inode);
    if (record === undefined && !this.changesOutside) throw failure('ESTALE', operation);
    return record;
  }

  #make(operation: string, directory: Inode, name: Name, ...made: MakeArguments): Attributes {
    this.#writable(operation);
    const attributes = this.#records.make(operation, directory, name, ...made);
    this.#changed('rename', directory, name);
    return attributes;
  }

  #writable(operation: string): void {
    if (!this.#options.writable) throw failure('EROFS', operation);
    this.#store.ready();
  }

  #writing(handle: Handle, operation: string): OpenFile {
    const file = this.#open.at(handle, operation);
    if (!file.write) throw failure('EBADF', operation);
    this.#store.ready();
    return file;
  }

  #checkSize(operation: string, size: number): void {
    if (size > largestFile) throw failure('EFBIG', operation);
  }

  #checkSpace(operation: string, more: number): void {
    const { capacity } = this.#options;
    if (capacity === undefined || more === 0 || this.#store.usage().bytes + more <= capacity) return;
    throw failure('ENOSPC', operation, undefined, `the filesystem holds ${capacity} bytes`, 'raise its size');
  }

  #resize(record: InodeRecord, size: number, time: Time): void {
    if (!(size >= 0)) throw failure('EINVAL', 'setattr', undefined, 'expected a size of at least 0');
    if (record.kind === 'directory') throw failure('EISDIR', 'setattr');
    if (record.kind !== 'file') throw failure('EINVAL', 'setattr', undefined, 'only a file has a size');
    this.#checkSize('setattr', size);
    if (size < record.size) this.#store.erase(record.inode, size, record.size);
    record.size = size;
    record.modified = time;
  }

  #changed(kind: TreeChange['kind'], directory: Inode, name: Name): void {
    for (const watcher of this.#watchers) watcher({ kind, directory, name });
  }
}
