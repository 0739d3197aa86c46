/** Another engine that nothing can be written to: held here, whatever is asked and by whom. */
import type { Answer } from '../../answer.js';
import { failure } from '../../failure.js';
import type { FileSystem, Handle, Inode, OpenMode } from '../../filesystem.js';

const refuse = (operation: string) => (): never => {
  throw failure('EROFS', operation);
};

export function readOnly(inner: FileSystem): FileSystem {
  return {
    label: inner.label,
    root: inner.root,
    capabilities: { ...inner.capabilities, writable: false },
    changesOutside: inner.changesOutside,
    lookup: (directory, name) => inner.lookup(directory, name),
    getattr: (inode) => inner.getattr(inode),
    setattr: refuse('setattr'),
    create: refuse('create'),
    mkdir: refuse('mkdir'),
    mknod: refuse('mknod'),
    open: (inode: Inode, mode: OpenMode): Answer<number> => {
      if (mode.write || mode.truncate === true || mode.append === true) throw failure('EROFS', 'open');
      return inner.open(inode, mode);
    },
    read: (handle, offset, length) => inner.read(handle, offset, length),
    write: refuse('write'),
    allocate: refuse('allocate'),
    seek: (handle, offset, wanted) => inner.seek(handle, offset, wanted),
    fsync: (handle) => inner.fsync(handle),
    ...(inner.flush === undefined ? {} : { flush: (handle: Handle) => inner.flush?.(handle) }),
    lock: (handle, request) => inner.lock(handle, request),
    release: (handle) => inner.release(handle),
    readdir: (directory) => inner.readdir(directory),
    unlink: refuse('unlink'),
    rmdir: refuse('rmdir'),
    rename: refuse('rename'),
    link: refuse('link'),
    symlink: refuse('symlink'),
    readlink: (inode) => inner.readlink(inode),
    getxattr: (inode, name) => inner.getxattr(inode, name),
    setxattr: refuse('setxattr'),
    listxattr: (inode) => inner.listxattr(inode),
    removexattr: refuse('removexattr'),
    ...(inner.region === undefined
      ? {}
      : { region: (inode: Inode) => inner.region?.(inode) ?? { root: inner.root, path: '/' } }),
    forget: (inode) => inner.forget?.(inode),
    statfs: () => inner.statfs(),
    watch: (changed) => inner.watch(changed),
    sync: () => inner.sync(),
    close: () => inner.close(),
  };
}
