/** Refusals of engines: one sentence an errno, so that every engine says the same. */
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import { type Name, textFromName } from './names.js';

const reasons: Partial<Record<ErrnoCode, string>> = {
  EBADF: 'the handle is not open for this',
  EEXIST: 'it exists already',
  EFBIG: 'the file would be larger than this filesystem holds',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link, or the path leads through too many of them',
  EMLINK: 'it has as many links as it can have',
  ENOLCK: 'it has as many locks as it can have',
  ENODATA: 'it has no such attribute',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'expected a directory',
  ENOTEMPTY: 'expected an empty directory',
  ENXIO: 'it is not a file that can be opened, or no data follows',
  EROFS: 'the filesystem is read-only',
  ESTALE: 'the inode is gone',
};

const remedies: Partial<Record<ErrnoCode, string>> = {
  EROFS: 'open it as writable: --writable, or writable: true in the SDK',
};

export function failure(code: ErrnoCode, operation: string, name?: Name, reason?: string, remedy?: string): ErrnoError {
  return new ErrnoError(code, {
    operation,
    path: name === undefined ? undefined : textFromName(name),
    reason: reason ?? reasons[code] ?? code,
    remedy: remedy ?? remedies[code],
  });
}
