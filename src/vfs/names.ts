/**
 * File names are bytes. Inside the VFS a name is a string with one character a byte (latin1): it loses nothing, compares as the
 * kernel compares, and can be a key. At the edges it becomes text as everywhere else in ctxfs (`base/path-bytes`).
 */
import { ErrnoError } from '../base/errno.js';
import { decodePath, encodePath } from '../base/path-bytes.js';

/** One character a byte; an engine's names hold neither `/` nor NUL. A link's target is written in the same way. */
export type Name = string;

export const nameBytes = 255;
export const pathBytes = 4_095;
/** Links on one walk, as the kernel allows. */
export const linksFollowed = 40;

/** ASCII is the same in both forms, and is nearly everything. */
const ascii = /^[\x00-\x7f]*$/;

export function nameFromText(text: string): Name {
  return ascii.test(text) ? text : encodePath(text).toString('latin1');
}

export function textFromName(name: Name): string {
  return ascii.test(name) ? name : decodePath(Buffer.from(name, 'latin1'));
}

export function nameFromBytes(bytes: Uint8Array): Name {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

export function bytesFromName(name: Name): Buffer {
  return Buffer.from(name, 'latin1');
}

/** ENAMETOOLONG; EINVAL for what is not a name of an entry. */
export function checkName(operation: string, name: Name): void {
  if (name.length > nameBytes) {
    throw new ErrnoError('ENAMETOOLONG', {
      operation,
      path: textFromName(name.slice(0, 40)),
      reason: `expected a name of at most ${nameBytes} bytes, got ${name.length}`,
    });
  }
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw new ErrnoError('EINVAL', { operation, path: textFromName(name), reason: 'expected the name of an entry' });
  }
}
