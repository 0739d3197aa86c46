/**
 * `host:PATH`: a directory of this machine. Read-only unless opened as writable. Nothing outside of it is reached by any name: see
 * host-nodes. It acts with the rights of this process and gives new files its owner, or the asked one where it is root.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { fromSystemError, hasCode } from '../../../base/errno.js';
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
  Lock,
  LockRequest,
  OpenMode,
} from '../../filesystem.js';
import { checkLock, LockTable } from '../../locks.js';
import { checkName, type Name, nameBytes, nameFromBytes, textFromName } from '../../names.js';
import { readOnly } from '../readonly/readonly.js';
import { entryPath, openEntry, openRoot, ownPath, statOf, using } from './anchored.js';
import { accessOf, entryStat, kindOf, seconds, shown } from './host-attributes.js';
import { HostHandles } from './host-handles.js';
import { HostLocks } from './host-locks.js';
import { HostNodes } from './host-nodes.js';

export interface HostOptions {
  readonly path: string;
  readonly writable?: boolean | undefined;
  /** It is an overlay of the kernel's: a file that is copied up when it is first written gets another time of birth, and stays itself. */
  readonly copiesUp?: boolean | undefined;
  /** Path of `flock.node`: locks are the kernel's, and hold for every process that uses the directory. Without it, for this tree alone. */
  readonly lockLibrary?: string | undefined;
}

export function hostFileSystem(options: HostOptions): FileSystem {
  const engine = guarded(new HostFileSystem(options));
  return options.writable === true ? engine : readOnly(engine);
}

/** What the operating system says becomes the one error type. */
function guarded(engine: HostFileSystem): FileSystem {
  return new Proxy(engine, {
    get: (target, member) => {
      const value = Reflect.get(target, member, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]) => {
        try {
          return Reflect.apply(value, target, given) as unknown;
        } catch (error) {
          const name = given.find((each) => typeof each === 'string');
          throw fromSystemError(error, String(member), name === undefined ? engine.label : textFromName(name));
        }
      };
    },
  });
}

const capabilities: Capabilities = {
  writable: true,
  hardLinks: true,
  symlinks: true,
  devices: false,
  attributes: false,
  owners: process.geteuid?.() === 0,
  modes: true,
  byteNames: true,
  holes: false,
  exchange: false,
  watch: false,
  durable: true,
  sharedLocks: false,
  immediate: true,
};

class HostFileSystem implements FileSystem {
  readonly label: string;
  readonly root: Inode = 1;
  readonly capabilities: Capabilities;
  readonly #descriptor: number;
  readonly #nodes: HostNodes;
  readonly #handles = new HostHandles();
  readonly #locks: HostLocks | LockTable;

  constructor({ path, writable = false, copiesUp = false, lockLibrary }: HostOptions) {
    this.#locks = lockLibrary === undefined ? new LockTable() : new HostLocks(lockLibrary, writable);
    this.capabilities = { ...capabilities, sharedLocks: lockLibrary !== undefined };
    this.label = `host:${path}`;
    try {
      this.#descriptor = openRoot(path);
    } catch (error) {
      throw fromSystemError(error, 'open', path);
    }
    this.#nodes = new HostNodes(this.#descriptor, copiesUp);
  }

  lookup(directory: Inode, name: Name): Attributes | undefined {
    if (name.length > nameBytes) checkName('lookup', name);
    return this.#nodes.in(directory, 'lookup', (descriptor) => {
      const stat = entryStat(descriptor, name);
      return stat === undefined ? undefined : shown(this.#nodes.number(directory, name, stat), stat);
    });
  }

  getattr(inode: Inode): Attributes {
    return this.#onFile(inode, 'getattr', (descriptor) => shown(inode, statOf(descriptor)));
  }

  setattr(inode: Inode, changes: Changes): Attributes {
    const { mode, uid, gid, size, accessed, modified } = changes;
    const { kind, ...before } = this.getattr(inode);
    if (size !== undefined) {
      if (!(size >= 0)) throw failure('EINVAL', 'setattr', undefined, 'expected a size of at least 0');
      if (kind === 'directory') throw failure('EISDIR', 'setattr');
      if (kind !== 'file') throw failure('EINVAL', 'setattr', undefined, 'only a file has a size');
    }
    const times = accessed !== undefined || modified !== undefined;
    if (kind === 'symlink') {
      this.#nodes.beside(inode, 'setattr', (directory, name) => {
        const path = entryPath(directory, name);
        if (uid !== undefined || gid !== undefined) lchownSync(path, uid ?? before.uid, gid ?? before.gid);
        if (times) lutimesSync(path, seconds(accessed, before.accessed), seconds(modified, before.modified));
      });
      return this.getattr(inode);
    }
    return this.#onFile(inode, 'setattr', (descriptor) => {
      const path = ownPath(descriptor);
      if (size !== undefined) truncateSync(path, size);
      if (uid !== undefined || gid !== undefined) chownSync(path, uid ?? before.uid, gid ?? before.gid);
      if (mode !== undefined) chmodSync(path, mode & 0o7777);
      if (times) utimesSync(path, seconds(accessed, before.accessed), seconds(modified, before.modified));
      return shown(inode, statOf(descriptor));
    });
  }

  create(directory: Inode, name: Name, creation: Creation, mode: OpenMode) {
    checkName('create', name);
    return this.#nodes.in(directory, 'create', (descriptor) => {
      const { O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
      const flags = O_CREAT | O_EXCL | O_NOFOLLOW | accessOf(mode);
      const handle = openSync(entryPath(descriptor, name), flags, creation.mode & 0o7777);
      if (this.capabilities.owners) fchownSync(handle, creation.uid, creation.gid);
      chmodSync(ownPath(handle), creation.mode & 0o7777); // whatever the umask of this process took
      const stat = statOf(handle);
      const inode = this.#nodes.number(directory, name, stat);
      return { attributes: shown(inode, stat), handle: this.#handles.add(inode, handle, mode) };
    });
  }

  mkdir(directory: Inode, name: Name, creation: Creation): Attributes {
    return this.#make('mkdir', directory, name, creation, (path) => mkdirSync(path, 0o700));
  }

  mknod(directory: Inode, name: Name, creation: Creation, kind: Kind): Attributes {
    if (kind !== 'file') throw failure('EPERM', 'mknod', name, 'host trees cannot hold devices, pipes or sockets');
    const { attributes, handle } = this.create(directory, name, creation, { read: true, write: false });
    this.release(handle);
    return attributes;
  }

  open(inode: Inode, mode: OpenMode): Handle {
    return this.#nodes.on(inode, 'open', (place) => {
      const stat = statOf(place);
      if (stat.isDirectory() && mode.write) throw failure('EISDIR', 'open');
      if (stat.isSymbolicLink()) throw failure('ELOOP', 'open');
      if (!stat.isFile() && !stat.isDirectory()) throw failure('ENXIO', 'open');
      const truncate = mode.truncate === true && mode.write ? constants.O_TRUNC : 0;
      return this.#handles.add(inode, openSync(ownPath(place), accessOf(mode) | truncate), mode);
    });
  }

  read(handle: Handle, offset: number, length: number): Buffer {
    if (!this.#handles.mode(handle, 'read').read) throw failure('EBADF', 'read');
    if (offset < 0 || length < 0)
      throw failure('EINVAL', 'read', undefined, 'expected an offset and a length of at least 0');
    const size = Math.max(0, Math.min(length, fstatSync(handle).size - offset));
    const bytes = Buffer.allocUnsafe(size);
    let done = 0;
    while (done < size) {
      const count = readSync(handle, bytes, done, size - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    return bytes.subarray(0, done);
  }

  write(handle: Handle, offset: number, bytes: Uint8Array): number {
    const mode = this.#handles.mode(handle, 'write');
    if (!mode.write) throw failure('EBADF', 'write');
    if (offset < 0) throw failure('EINVAL', 'write', undefined, 'expected an offset and a length of at least 0');
    let done = 0;
    while (done < bytes.length) {
      done += writeSync(handle, bytes, done, bytes.length - done, mode.append === true ? null : offset + done);
    }
    return done;
  }

  allocate(): void {
    throw failure('ENOTSUP', 'allocate', undefined, 'host trees cannot make holes');
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): number {
    this.#handles.mode(handle, 'seek');
    const { size } = fstatSync(handle);
    if (offset < 0 || offset >= size) throw failure('ENXIO', 'seek');
    return wanted === 'data' ? offset : size;
  }

  fsync(handle: Handle): void {
    this.#handles.mode(handle, 'fsync');
    fsyncSync(handle);
  }

  lock(handle: Handle, request: LockRequest): Lock | undefined {
    checkLock(request, this.#handles.mode(handle, 'lock'));
    return this.#locks.lock(this.#handles.inode(handle, 'lock'), handle, request);
  }

  release(handle: Handle): void {
    this.#handles.mode(handle, 'release');
    this.#locks.released(handle);
    this.#handles.remove(handle);
    closeSync(handle);
  }

  readdir(directory: Inode): readonly Entry[] {
    return this.#nodes.in(directory, 'readdir', (descriptor) =>
      readdirSync(`${ownPath(descriptor)}/`, { encoding: 'buffer' }).flatMap((bytes) => {
        const name = nameFromBytes(bytes);
        const stat = entryStat(descriptor, name);
        if (stat === undefined) return []; // gone since
        return [{ name, inode: this.#nodes.number(directory, name, stat), kind: kindOf(stat) }];
      }),
    );
  }

  unlink(directory: Inode, name: Name): void {
    checkName('unlink', name);
    this.#nodes.in(directory, 'unlink', (descriptor) => {
      if (entryStat(descriptor, name)?.isDirectory() === true) throw failure('EISDIR', 'unlink', name);
      unlinkSync(entryPath(descriptor, name));
    });
  }

  rmdir(directory: Inode, name: Name): void {
    checkName('rmdir', name);
    this.#nodes.in(directory, 'rmdir', (descriptor) => rmdirSync(entryPath(descriptor, name)));
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: string): void {
    checkName('rename', name);
    checkName('rename', newName);
    if (rule === 'exchange') throw failure('ENOTSUP', 'rename', name, 'host trees cannot exchange two names');
    this.#nodes.in(directory, 'rename', (from) =>
      this.#nodes.in(to, 'rename', (into) => {
        const [path, newPath] = [entryPath(from, name), entryPath(into, newName)];
        const stat = entryStat(from, name);
        if (stat === undefined) throw failure('ENOENT', 'rename', name);
        // Without the kernel's own flag: a name is taken by what fails where it is taken already.
        if (rule === 'keep' && stat.isDirectory()) mkdirSync(newPath);
        else if (rule === 'keep') {
          linkSync(path, newPath);
          unlinkSync(path);
          return;
        }
        renameSync(path, newPath);
      }),
    );
    this.lookup(to, newName); // it is known by its new name from now on
  }

  link(inode: Inode, directory: Inode, name: Name): Attributes {
    checkName('link', name);
    if (this.getattr(inode).kind === 'directory') throw failure('EPERM', 'link', name, 'a directory has one name only');
    this.#nodes.beside(inode, 'link', (from, first) =>
      this.#nodes.in(directory, 'link', (into) => {
        linkSync(entryPath(from, first), entryPath(into, name));
        const made = entryStat(into, name);
        if (made === undefined || this.#nodes.number(directory, name, made) !== inode) {
          throw failure('ESTALE', 'link', name);
        }
      }),
    );
    return this.getattr(inode);
  }

  symlink(directory: Inode, name: Name, target: Name, creation: Creation): Attributes {
    if (target === '') throw failure('ENOENT', 'symlink', name, 'expected a target');
    return this.#make('symlink', directory, name, creation, (path) => symlinkSync(Buffer.from(target, 'latin1'), path));
  }

  readlink(inode: Inode): Name {
    return this.#nodes.beside(inode, 'readlink', (directory, name) =>
      nameFromBytes(readlinkSync(entryPath(directory, name), { encoding: 'buffer' })),
    );
  }

  getxattr(): never {
    throw failure('ENOTSUP', 'getxattr', undefined, 'host trees show no extended attributes');
  }

  setxattr(): never {
    throw failure('ENOTSUP', 'setxattr', undefined, 'host trees show no extended attributes');
  }

  listxattr(): readonly Name[] {
    return [];
  }

  removexattr(): never {
    throw failure('ENOTSUP', 'removexattr', undefined, 'host trees show no extended attributes');
  }

  forget(inode: Inode): void {
    this.#nodes.forget(inode);
  }

  statfs() {
    const { bsize, blocks, bavail, files, ffree } = statfsSync(`${ownPath(this.#descriptor)}/`);
    return { blockSize: bsize, blocks, freeBlocks: bavail, files, freeFiles: ffree, nameBytes };
  }

  watch(): never {
    throw failure('ENOTSUP', 'watch', undefined, 'host trees are not watched');
  }

  sync(): void {
    using(openSync(`${ownPath(this.#descriptor)}/`, constants.O_RDONLY | constants.O_DIRECTORY), fsyncSync);
  }

  close(): void {
    for (const handle of this.#handles.all()) this.release(handle);
    closeSync(this.#descriptor);
  }

  #make(
    operation: string,
    directory: Inode,
    name: Name,
    { mode, uid, gid }: Creation,
    act: (path: Buffer) => void,
  ): Attributes {
    checkName(operation, name);
    return this.#nodes.in(directory, operation, (descriptor) => {
      const path = entryPath(descriptor, name);
      act(path);
      if (this.capabilities.owners) lchownSync(path, uid, gid);
      return using(openEntry(descriptor, name), (made) => {
        if (statOf(made).isDirectory()) chmodSync(ownPath(made), mode & 0o7777);
        const stat = statOf(made);
        return shown(this.#nodes.number(directory, name, stat), stat);
      });
    });
  }

  /** By its name; where that is gone, by any descriptor that is open on it. */
  #onFile<T>(inode: Inode, operation: string, act: (descriptor: number) => T): T {
    try {
      return this.#nodes.on(inode, operation, act);
    } catch (error) {
      const handle = hasCode(error, 'ESTALE') ? this.#handles.of(inode) : undefined;
      if (handle === undefined) throw error;
      return act(handle);
    }
  }
}
