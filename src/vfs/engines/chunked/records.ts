/** Keys and values of the chunk store's tree, as bytes. Pure. */
import type { Inode, Kind } from '../../filesystem.js';
import type { Name } from '../../names.js';
import type { InodeRecord } from '../inodes/inode-store.js';

/** With how many chunks its content has. */
export interface ChunkedRecord extends InodeRecord {
  chunks: number;
}

/** Six bytes, the greatest first, so that keys sort as numbers do. */
export function packed(number: number): string {
  const high = Math.floor(number / 2 ** 24);
  return String.fromCharCode(
    (high >>> 16) & 255,
    (high >>> 8) & 255,
    high & 255,
    (number >>> 16) & 255,
    (number >>> 8) & 255,
    number & 255,
  );
}

export function unpacked(key: string, at: number): number {
  let number = 0;
  for (let index = at; index < at + 6; index += 1) number = number * 256 + key.charCodeAt(index);
  return number;
}

export const inodeKey = (inode: Inode) => `i${packed(inode)}`;
export const childKey = (directory: Inode, name: Name) => `d${packed(directory)}${name}`;
export const chunkKey = (inode: Inode, index: number) => `c${packed(inode)}${packed(index)}`;
/** An inode without a name that was open when this was written. */
export const orphanKey = (inode: Inode) => `o${packed(inode)}`;
/** Past every key that begins with `prefix` and a packed number. */
export const after = (kind: string, inode: Inode) => `${kind}${packed(inode + 1)}`;

export const kinds: readonly Kind[] = ['file', 'directory', 'symlink', 'fifo', 'socket', 'character', 'block'];
const fixedBytes = 1 + 2 + 4 * 3 + 8 * 3 + 8 * 3 + 8 + 2 + 2;

export function encodeRecord(record: ChunkedRecord): Buffer {
  const attributes = [...(record.attributes ?? [])];
  const target = record.target ?? '';
  const more = attributes.reduce((sum, [name, value]) => sum + 6 + name.length + value.length, target.length);
  const bytes = Buffer.allocUnsafe(fixedBytes + more);
  let at = bytes.writeUInt8(kinds.indexOf(record.kind), 0);
  at = bytes.writeUInt16LE(record.mode, at);
  for (const word of [record.links, record.uid, record.gid]) at = bytes.writeUInt32LE(word, at);
  for (const number of [record.size, record.device, record.chunks]) at = bytes.writeDoubleLE(number, at);
  for (const time of [record.accessed, record.modified, record.changed]) at = bytes.writeBigInt64LE(time, at);
  at = bytes.writeDoubleLE(record.parent, at);
  at = bytes.writeUInt16LE(target.length, at);
  at = bytes.writeUInt16LE(attributes.length, at);
  at += bytes.write(target, at, 'latin1');
  for (const [name, value] of attributes) {
    at = bytes.writeUInt16LE(name.length, at);
    at = bytes.writeUInt32LE(value.length, at);
    at += bytes.write(name, at, 'latin1');
    at += value.copy(bytes, at);
  }
  return bytes;
}

export function decodeRecord(inode: Inode, bytes: Buffer): ChunkedRecord {
  const kind = kinds[bytes.readUInt8(0)] ?? 'file';
  const targetLength = bytes.readUInt16LE(fixedBytes - 4);
  const count = bytes.readUInt16LE(fixedBytes - 2);
  let at = fixedBytes + targetLength;
  const attributes = new Map<Name, Buffer>();
  for (let index = 0; index < count; index += 1) {
    const nameLength = bytes.readUInt16LE(at);
    const valueLength = bytes.readUInt32LE(at + 2);
    const name = bytes.toString('latin1', at + 6, at + 6 + nameLength);
    at += 6 + nameLength;
    attributes.set(name, Buffer.from(bytes.subarray(at, at + valueLength)));
    at += valueLength;
  }
  return {
    inode,
    kind,
    mode: bytes.readUInt16LE(1),
    links: bytes.readUInt32LE(3),
    uid: bytes.readUInt32LE(7),
    gid: bytes.readUInt32LE(11),
    size: bytes.readDoubleLE(15),
    device: bytes.readDoubleLE(23),
    chunks: bytes.readDoubleLE(31),
    accessed: bytes.readBigInt64LE(39),
    modified: bytes.readBigInt64LE(47),
    changed: bytes.readBigInt64LE(55),
    parent: bytes.readDoubleLE(63),
    target: kind === 'symlink' ? bytes.toString('latin1', fixedBytes, fixedBytes + targetLength) : undefined,
    attributes: count === 0 ? undefined : attributes,
  };
}
