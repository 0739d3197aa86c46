/**
 * Quotas of a tree: bytes, inodes, the size of one file, open files. An engine around an engine, so that nothing that is written
 * goes past it. What is used is what the engine itself says, so only engines that count their own can have a quota of bytes or inodes.
 */
import { ErrnoError } from '../base/errno.js';
import type { Answer } from '../vfs/answer.js';
import type { FileSystem, Handle, Inode } from '../vfs/filesystem.js';

export interface VfsQuota {
  readonly bytes?: number | undefined;
  readonly inodes?: number | undefined;
  readonly fileBytes?: number | undefined;
  readonly openFiles?: number | undefined;
}

export interface QuotaEvent {
  readonly setting: keyof VfsQuota;
  readonly used: number;
  readonly limit: number;
}

/** The share of a limit at which somebody is told. */
export const warningShare = 0.8;

export function withQuota(inner: FileSystem, quota: VfsQuota, near: (event: QuotaEvent) => void): FileSystem {
  const warned = new Set<keyof VfsQuota>();
  /** With the inode where writes go to its end, wherever they say. */
  const open = new Map<Handle, Inode | undefined>();
  const check = (setting: keyof VfsQuota, used: number, operation: string) => {
    const limit = quota[setting];
    if (limit === undefined) return;
    if (used > limit) {
      throw new ErrnoError('EDQUOT', {
        operation,
        reason: `${setting} would be ${used} of the ${limit} that the quota allows`,
        remedy: `raise quota.${setting}, or delete something`,
      });
    }
    if (used >= limit * warningShare && !warned.has(setting)) {
      warned.add(setting);
      near({ setting, used, limit });
    }
  };
  const used = () => {
    const space = inner.statfs();
    if (space instanceof Promise) {
      throw new ErrnoError('ENOTSUP', {
        operation: 'quota',
        reason: `${inner.label} does not report how much it holds, so a quota cannot be enforced`,
      });
    }
    const { blockSize, blocks, freeBlocks, files, freeFiles } = space;
    return { bytes: (blocks - freeBlocks) * blockSize, inodes: files - freeFiles };
  };
  const grow = (operation: string, end: number, more: number) => {
    check('fileBytes', end, operation);
    if (quota.bytes !== undefined && more > 0) check('bytes', used().bytes + more, operation);
  };
  const make = (operation: string) => {
    if (quota.inodes !== undefined) check('inodes', used().inodes + 1, operation);
  };
  const after = <T, R>(answer: Answer<T>, then: (value: T) => R): Answer<R> =>
    answer instanceof Promise ? answer.then(then) : then(answer);
  const limited: Partial<FileSystem> = {
    setattr: (inode, changes) => {
      if (changes.size !== undefined) check('fileBytes', changes.size, 'setattr');
      return inner.setattr(inode, changes);
    },
    create: (directory, name, creation, mode) => {
      check('openFiles', open.size + 1, 'create');
      make('create');
      return after(inner.create(directory, name, creation, mode), (opened) => {
        open.set(opened.handle, mode.append === true ? opened.attributes.inode : undefined);
        return opened;
      });
    },
    mkdir: (directory, name, creation) => {
      make('mkdir');
      return inner.mkdir(directory, name, creation);
    },
    mknod: (directory, name, creation, kind, device) => {
      make('mknod');
      return inner.mknod(directory, name, creation, kind, device);
    },
    symlink: (directory, name, target, creation) => {
      make('symlink');
      return inner.symlink(directory, name, target, creation);
    },
    open: (inode, mode) => {
      check('openFiles', open.size + 1, 'open');
      return after(inner.open(inode, mode), (handle) => {
        open.set(handle, mode.append === true ? inode : undefined);
        return handle;
      });
    },
    release: (handle) => {
      open.delete(handle);
      return inner.release(handle);
    },
    write: (handle, offset, bytes) => {
      const appended = open.get(handle);
      const write = (from: number) => {
        grow('write', from + bytes.length, bytes.length);
        return inner.write(handle, offset, bytes);
      };
      if (appended === undefined) return write(offset);
      const attributes = inner.getattr(appended);
      return attributes instanceof Promise ? attributes.then(({ size }) => write(size)) : write(attributes.size);
    },
    setxattr: (inode, name, value, rule) => {
      grow('setxattr', 0, name.length + value.length);
      return inner.setxattr(inode, name, value, rule);
    },
    allocate: (handle, offset, length, how) => {
      if (how === 'extend') grow('allocate', offset + length, length);
      return inner.allocate(handle, offset, length, how);
    },
  };
  return new Proxy(inner, {
    get: (target, member) => {
      const own = limited[member as keyof FileSystem];
      if (own !== undefined) return own;
      const value = Reflect.get(target, member, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
