/**
 * `host:PATH`: a directory of this machine. Read-only unless opened as writable. Nothing outside of it is reached by any name: see
 * host-nodes. It acts with the rights of this process and gives new files its owner, or the asked one where it is root.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  statfsSync,
  truncateSync,
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
  RenameRule,
} from '../../filesystem.js';
import { checkLock, LockTable } from '../../locks.js';
import { checkName, type Name, nameBytes, nameFromBytes, textFromName } from '../../names.js';
import { readOnly } from '../readonly/readonly.js';
import { HostCalls, justThePath, ownPath, places } from './anchored.js';
import { accessOf, at, kindOf, shown, split } from './host-attributes.js';
import { HostHandles } from './host-handles.js';
import { HostLocks } from './host-locks.js';
import { HostNodes } from './host-nodes.js';
import { Newcomers } from './newcomers.js';

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
  const translated = (member: string, act: (...given: readonly unknown[]) => unknown) => {
    return (...given: readonly unknown[]) => {
      try {
        return act.apply(engine, given as unknown[]);
      } catch (error) {
        const name = given.find((each) => typeof each === 'string');
        throw fromSystemError(error, member, name === undefined ? engine.label : textFromName(name));
      }
    };
  };
  const { label, root, capabilities } = engine;
  const methods = Object.getOwnPropertyNames(HostFileSystem.prototype).filter((name) => name !== 'constructor');
  const acts = methods.map((name) => [name, translated(name, Reflect.get(engine, name))]);
  return { ...(Object.fromEntries(acts) as FileSystem), label, root, capabilities };
}

/** What was moved by others is not opened by the name it had: it may be where its users have no right. */
const isNameless = (found: Float64Array) => at(found, places.links) === 0;

/** Up to so many bytes room is made without looking how much there is. */
const smallRead = 64 * 1024;

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
  readonly #calls = new HostCalls();
  readonly #descriptor: number;
  readonly #nodes: HostNodes;
  readonly #handles = new HostHandles();
  readonly #locks: HostLocks | LockTable;
  readonly #newcomers: Newcomers;

  constructor({ path, writable = false, copiesUp = false, lockLibrary }: HostOptions) {
    this.#locks = lockLibrary === undefined ? new LockTable() : new HostLocks(lockLibrary, writable);
    this.capabilities = { ...capabilities, sharedLocks: lockLibrary !== undefined };
    this.#newcomers = new Newcomers(this.#calls, this.capabilities.owners);
    this.label = `host:${path}`;
    try {
      this.#descriptor = openSync(path, justThePath | constants.O_DIRECTORY);
    } catch (error) {
      throw fromSystemError(error, 'open', path);
    }
    this.#nodes = new HostNodes(this.#calls, this.#descriptor, copiesUp);
  }

  lookup(directory: Inode, name: Name): Attributes | undefined {
    if (name.length > nameBytes) checkName('lookup', name);
    return this.#nodes.in(directory, 'lookup', (descriptor) => {
      const found = this.#calls.entry('lookup', descriptor, name);
      return found === undefined ? undefined : shown(this.#nodes.number(directory, name, found), found);
    });
  }

  getattr(inode: Inode): Attributes {
    return this.#onFile(inode, 'getattr', () => shown(inode, this.#calls.found));
  }

  setattr(inode: Inode, changes: Changes): Attributes {
    const { mode, uid, gid, size, accessed, modified } = changes;
    return this.#onFile(inode, 'setattr', (descriptor) => {
      const before = shown(inode, this.#calls.found);
      if (size !== undefined) {
        if (!(size >= 0)) throw failure('EINVAL', 'setattr', undefined, 'expected a size of at least 0');
        if (before.kind === 'directory') throw failure('EISDIR', 'setattr');
        if (before.kind !== 'file') throw failure('EINVAL', 'setattr', undefined, 'only a file has a size');
        truncateSync(ownPath(descriptor), size);
      }
      if (uid !== undefined || gid !== undefined) {
        this.#calls.owner('setattr', descriptor, uid ?? before.uid, gid ?? before.gid);
      }
      // A link has no mode of its own.
      if (mode !== undefined && before.kind !== 'symlink') chmodSync(ownPath(descriptor), mode & 0o7777);
      if (accessed !== undefined || modified !== undefined) {
        this.#calls.times('setattr', descriptor, split(accessed), split(modified));
      }
      return shown(inode, this.#calls.stat('setattr', descriptor));
    });
  }

  create(directory: Inode, name: Name, creation: Creation, mode: OpenMode) {
    checkName('create', name);
    return this.#nodes.in(directory, 'create', (descriptor) => {
      const { O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
      const inherits = this.#newcomers.handsGroupOn('create', descriptor);
      const flags = O_CREAT | O_EXCL | O_NOFOLLOW | accessOf(mode);
      const handle = this.#calls.open('create', descriptor, name, flags, creation.mode & 0o7777);
      try {
        const found = this.#newcomers.give('create', handle, creation, inherits);
        const inode = this.#nodes.number(directory, name, found);
        return { attributes: shown(inode, found), handle: this.#handles.add(inode, handle, mode) };
      } catch (error) {
        this.#newcomers.takeBack('create', descriptor, name, handle);
        this.#calls.close(handle);
        throw error;
      }
    });
  }

  mkdir(directory: Inode, name: Name, creation: Creation): Attributes {
    return this.#make('mkdir', directory, name, creation, (into) => this.#calls.mkdir(into, name, 0o700));
  }

  mknod(directory: Inode, name: Name, creation: Creation, kind: Kind): Attributes {
    if (kind !== 'file') throw failure('EPERM', 'mknod', name, 'host trees cannot hold devices, pipes or sockets');
    const { attributes, handle } = this.create(directory, name, creation, { read: true, write: false });
    this.release(handle);
    return attributes;
  }

  open(inode: Inode, mode: OpenMode): Handle {
    const open = (place: number) => {
      const kind = kindOf(this.#calls.found);
      if (kind === 'directory' && mode.write) throw failure('EISDIR', 'open');
      if (kind === 'symlink') throw failure('ELOOP', 'open');
      if (kind !== 'file' && kind !== 'directory') throw failure('ENXIO', 'open');
      const truncate = mode.truncate === true && mode.write ? constants.O_TRUNC : 0;
      return this.#handles.add(inode, this.#calls.reopen('open', place, accessOf(mode) | truncate), mode);
    };
    return this.#onFile(inode, 'open', open, isNameless);
  }

  read(handle: Handle, offset: number, length: number): Buffer {
    if (!this.#handles.mode(handle, 'read').read) throw failure('EBADF', 'read');
    if (offset < 0 || length < 0)
      throw failure('EINVAL', 'read', undefined, 'expected an offset and a length of at least 0');
    // Of a long read it is seldom known that there is so much.
    const size = length <= smallRead ? length : Math.max(0, Math.min(length, this.#sizeOf(handle) - offset));
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
    const size = this.#sizeOf(handle);
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
        const found = this.#calls.entry('readdir', descriptor, name);
        if (found === undefined) return []; // gone since
        return [{ name, inode: this.#nodes.number(directory, name, found), kind: kindOf(found) }];
      }),
    );
  }

  unlink(directory: Inode, name: Name): void {
    checkName('unlink', name);
    this.#nodes.in(directory, 'unlink', (descriptor) => this.#calls.unlink(descriptor, name));
  }

  rmdir(directory: Inode, name: Name): void {
    checkName('rmdir', name);
    this.#nodes.in(directory, 'rmdir', (descriptor) => this.#calls.rmdir(descriptor, name));
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): void {
    checkName('rename', name);
    checkName('rename', newName);
    if (rule === 'exchange') throw failure('ENOTSUP', 'rename', name, 'host trees cannot exchange two names');
    const between = (from: number, into: number) => {
      if (rule === 'replace') this.#calls.rename(from, name, into, newName);
      else this.#calls.renameNew(from, name, into, newName);
      // It is known by its new name from now on.
      const found = this.#calls.entry('rename', into, newName);
      if (found !== undefined) this.#nodes.number(to, newName, found);
    };
    this.#nodes.in(directory, 'rename', (from) =>
      to === directory ? between(from, from) : this.#nodes.in(to, 'rename', (into) => between(from, into)),
    );
  }

  link(inode: Inode, directory: Inode, name: Name): Attributes {
    checkName('link', name);
    return this.#onFile(inode, 'link', (descriptor) => {
      if (kindOf(this.#calls.found) === 'directory') {
        throw failure('EPERM', 'link', name, 'a directory has one name only');
      }
      return this.#nodes.in(directory, 'link', (into) => {
        this.#calls.link(descriptor, into, name);
        return shown(inode, this.#calls.stat('link', descriptor));
      });
    });
  }

  symlink(directory: Inode, name: Name, target: Name, creation: Creation): Attributes {
    if (target === '') throw failure('ENOENT', 'symlink', name, 'expected a target');
    return this.#make('symlink', directory, name, creation, (into) => this.#calls.symlink(target, into, name));
  }

  readlink(inode: Inode): Name {
    return this.#nodes.on(inode, 'readlink', (descriptor) => this.#calls.readlink(descriptor));
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
    const flags = constants.O_RDONLY | constants.O_DIRECTORY;
    this.#calls.using(openSync(`${ownPath(this.#descriptor)}/`, flags), fsyncSync);
  }

  close(): void {
    for (const handle of this.#handles.all()) this.release(handle);
    closeSync(this.#descriptor);
  }

  #make(operation: string, directory: Inode, name: Name, creation: Creation, act: (into: number) => void): Attributes {
    checkName(operation, name);
    return this.#nodes.in(directory, operation, (into) => {
      const inherits = this.#newcomers.handsGroupOn(operation, into);
      act(into);
      const made = this.#calls.open(operation, into, name, justThePath | constants.O_NOFOLLOW);
      return this.#calls.using(made, (descriptor) => {
        try {
          const found = this.#newcomers.give(operation, descriptor, creation, inherits);
          return shown(this.#nodes.number(directory, name, found), found);
        } catch (error) {
          this.#newcomers.takeBack(operation, into, name, descriptor);
          throw error;
        }
      });
    });
  }

  #sizeOf(handle: Handle): number {
    return at(this.#calls.stat('read', handle), places.size);
  }

  /** By its name; where that is gone, by any descriptor that is open on it, if what that finds will do. */
  #onFile<T>(
    inode: Inode,
    operation: string,
    act: (descriptor: number) => T,
    willDo: (found: Float64Array) => boolean = () => true,
  ): T {
    try {
      return this.#nodes.on(inode, operation, act);
    } catch (error) {
      const handle = hasCode(error, 'ESTALE') ? this.#handles.of(inode) : undefined;
      if (handle === undefined || !willDo(this.#calls.stat(operation, handle))) throw error;
      return act(handle);
    }
  }
}
