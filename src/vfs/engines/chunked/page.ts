/**
 * Pages of a copy-on-write tree of sorted keys. A leaf has keys with values; a branch has children, and the key of each is the least
 * below it. Keys are bytes, one character each, so that they sort as they are written.
 */
import { ErrnoError } from '../../../base/errno.js';

export type PageNumber = number;

export interface Page {
  readonly number: PageNumber;
  /** Pages of an earlier one belong to a snapshot, too, and are copied before they change. */
  readonly generation: number;
  readonly isLeaf: boolean;
  readonly keys: string[];
  /** Of a leaf. */
  readonly values: Buffer[];
  /** Of a branch. */
  readonly children: PageNumber[];
  /** As it would be written. */
  bytes: number;
}

/** Past this a page is split. */
export const pageBytes = 8 * 1024;
const headBytes = 16;
const keyHead = 2;
const valueHead = 4;
const childBytes = 8;

export function emptyPage(number: PageNumber, generation: number, isLeaf: boolean): Page {
  return { number, generation, isLeaf, keys: [], values: [], children: [], bytes: headBytes };
}

export function leafEntryBytes(key: string, value: Buffer): number {
  return keyHead + key.length + valueHead + value.length;
}

export function branchEntryBytes(key: string): number {
  return keyHead + key.length + childBytes;
}

/** Index of the first key that is not less; `keys.length` where all are. */
export function findKey(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function encodePage(page: Page): Buffer {
  const bytes = Buffer.allocUnsafe(page.bytes);
  bytes.writeUInt32LE(page.isLeaf ? 1 : 0, 0);
  bytes.writeUInt32LE(page.keys.length, 4);
  bytes.writeDoubleLE(page.generation, 8);
  let at = headBytes;
  for (const [index, key] of page.keys.entries()) {
    at = bytes.writeUInt16LE(key.length, at);
    at += bytes.write(key, at, 'latin1');
    if (page.isLeaf) {
      const value = page.values[index] ?? Buffer.alloc(0);
      at = bytes.writeUInt32LE(value.length, at);
      at += value.copy(bytes, at);
    } else at = bytes.writeDoubleLE(page.children[index] ?? 0, at);
  }
  return bytes;
}

/** EIO where it is not a page. */
export function decodePage(number: PageNumber, bytes: Buffer): Page {
  try {
    const isLeaf = bytes.readUInt32LE(0) === 1;
    const page: Page = { ...emptyPage(number, bytes.readDoubleLE(8), isLeaf), bytes: bytes.length };
    const count = bytes.readUInt32LE(4);
    let at = headBytes;
    for (let index = 0; index < count; index += 1) {
      const length = bytes.readUInt16LE(at);
      page.keys.push(bytes.toString('latin1', at + keyHead, at + keyHead + length));
      at += keyHead + length;
      if (isLeaf) {
        const size = bytes.readUInt32LE(at);
        page.values.push(Buffer.from(bytes.subarray(at + valueHead, at + valueHead + size)));
        at += valueHead + size;
      } else {
        page.children.push(bytes.readDoubleLE(at));
        at += childBytes;
      }
    }
    if (at !== bytes.length || page.keys.length !== count) throw new RangeError('of another length');
    return page;
  } catch (cause) {
    throw new ErrnoError('EIO', {
      operation: 'chunked',
      reason: `page ${number} of the store is damaged`,
      remedy: 'ctx vfs check says what is damaged; an earlier snapshot may be whole',
      cause,
    });
  }
}
