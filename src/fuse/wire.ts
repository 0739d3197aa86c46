/**
 * The kernel's FUSE protocol as bytes, version 7.31 and later: requests are read in place, replies are written into one buffer.
 * Layouts are those of `linux/fuse.h`; both of our machines are little-endian. Pure.
 */
import type { Attributes, Kind, Space } from '../vfs/filesystem.js';

export const opcodes = {
  lookup: 1,
  forget: 2,
  getattr: 3,
  setattr: 4,
  readlink: 5,
  symlink: 6,
  mknod: 8,
  mkdir: 9,
  unlink: 10,
  rmdir: 11,
  rename: 12,
  link: 13,
  open: 14,
  read: 15,
  write: 16,
  statfs: 17,
  release: 18,
  fsync: 20,
  setxattr: 21,
  getxattr: 22,
  listxattr: 23,
  removexattr: 24,
  flush: 25,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  fsyncdir: 30,
  getlk: 31,
  setlk: 32,
  setlkw: 33,
  create: 35,
  interrupt: 36,
  destroy: 38,
  batchForget: 42,
  fallocate: 43,
  readdirplus: 44,
  rename2: 45,
  lseek: 46,
} as const;

export const inHeaderBytes = 40;
export const outHeaderBytes = 16;
export const entryBytes = 128;
export const attributesBytes = 104;
export const mostWriteBytes = 1024 * 1024;
/** A request with its largest payload. */
export const requestBytes = mostWriteBytes + 4096;

export const initFlags = {
  asyncRead: 1 << 0,
  posixLocks: 1 << 1,
  atomicTruncate: 1 << 3,
  bigWrites: 1 << 5,
  flockLocks: 1 << 10,
  autoInvalidateData: 1 << 12,
  readdirPlus: 1 << 13,
  readdirPlusAuto: 1 << 14,
  parallelDirectories: 1 << 18,
  maxPages: 1 << 22,
} as const;

const typeBits: Readonly<Record<Kind, number>> = {
  fifo: 0o010000,
  character: 0o020000,
  directory: 0o040000,
  block: 0o060000,
  file: 0o100000,
  symlink: 0o120000,
  socket: 0o140000,
};

export function kindOfMode(mode: number): Kind | undefined {
  const bits = mode & 0o170000;
  return (Object.keys(typeBits) as Kind[]).find((kind) => typeBits[kind] === bits);
}

/** As in a directory's entries. */
export function entryType(kind: Kind): number {
  return typeBits[kind] >>> 12;
}

/** What of an inode is not the engine's to say. */
export interface Presentation {
  readonly node: number;
  /** Added to owners. */
  readonly shift: number;
  readonly owners?: Owners | undefined;
  /** Seconds that the kernel may keep the attributes; less than one is as short as its clock can tell. */
  readonly valid: number;
  /** Of the name, where that differs. */
  readonly nameValid?: number | undefined;
}

/** Two ids that stand for each other: the tree's, and its users'. */
export type Exchange = readonly [number, number];

export interface Owners {
  readonly uid: Exchange;
  readonly gid: Exchange;
}

export function exchanged(id: number, exchange: Exchange | undefined): number {
  if (exchange === undefined) return id;
  const [one, other] = exchange;
  return id === one ? other : id === other ? one : id;
}

export function writeNumber(bytes: Buffer, value: number, at: number): number {
  bytes.writeUInt32LE(value >>> 0, at);
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
  return at + 8;
}

export function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/** Of a reply or a notice, in bytes: the buffer it is in may be longer. */
export function replyLength(reply: Buffer): number {
  return reply.readUInt32LE(0);
}

const [asTime, asHalves] = halves();

function halves(): readonly [BigInt64Array, Uint32Array] {
  const time = new BigInt64Array(1);
  return [time, new Uint32Array(time.buffer)];
}

/**
 * Writes the whole seconds of a time and returns the nanoseconds that are left, by numbers alone: division of large ones costs more
 * than the rest of a reply. The estimate of the seconds is at most one beside them, and what is left shows which.
 */
function writeSeconds(bytes: Buffer, time: bigint, at: number): number {
  asTime[0] = time;
  const [low = 0, high = 0] = asHalves;
  const estimate = Math.floor((high | 0) * 4.294967296 + low / 1e9);
  const left = (low - Math.imul(estimate | 0, 1e9)) | 0;
  const beside = left < 0 ? -1 : left >= 1e9 ? 1 : 0;
  const seconds = estimate + beside;
  bytes.writeUInt32LE(seconds >>> 0, at);
  bytes.writeInt32LE(Math.floor(seconds / 2 ** 32), at + 4);
  return left - beside * 1e9;
}

/** `struct fuse_attr`: 88 bytes. */
function writeAttributes(bytes: Buffer, attributes: Attributes, shown: Presentation, start: number): number {
  const { node, shift, owners } = shown;
  let at = writeNumber(bytes, node, start);
  at = writeNumber(bytes, attributes.size, at);
  at = writeNumber(bytes, attributes.blocks, at);
  const accessed = writeSeconds(bytes, attributes.accessed, at);
  const modified = writeSeconds(bytes, attributes.modified, at + 8);
  const changed = writeSeconds(bytes, attributes.changed, at + 16);
  at = bytes.writeUInt32LE(accessed, at + 24);
  at = bytes.writeUInt32LE(modified, at);
  at = bytes.writeUInt32LE(changed, at);
  at = bytes.writeUInt32LE(typeBits[attributes.kind] | attributes.mode, at);
  at = bytes.writeUInt32LE(attributes.links, at);
  at = bytes.writeUInt32LE((exchanged(attributes.uid, owners?.uid) + shift) >>> 0, at);
  at = bytes.writeUInt32LE((exchanged(attributes.gid, owners?.gid) + shift) >>> 0, at);
  at = bytes.writeUInt32LE(attributes.device >>> 0, at);
  at = bytes.writeUInt32LE(4096, at);
  return bytes.writeUInt32LE(0, at);
}

/** Nanoseconds beyond whole seconds. */
function rest(seconds: number): number {
  return Math.ceil((seconds % 1) * 1e9);
}

/** `struct fuse_entry_out`. */
export function writeEntry(bytes: Buffer, attributes: Attributes, shown: Presentation, start: number): number {
  const { node, valid, nameValid = valid } = shown;
  let at = writeNumber(bytes, node, start);
  at = writeNumber(bytes, 0, at);
  at = writeNumber(bytes, Math.floor(nameValid), at);
  at = writeNumber(bytes, Math.floor(valid), at);
  at = bytes.writeUInt32LE(rest(nameValid), at);
  at = bytes.writeUInt32LE(rest(valid), at);
  return writeAttributes(bytes, attributes, shown, at);
}

/** That there is no such name, to be kept. */
export function writeNegativeEntry(bytes: Buffer, valid: number, start: number): number {
  bytes.fill(0, start, start + entryBytes);
  writeNumber(bytes, Math.floor(valid), start + 16);
  bytes.writeUInt32LE(rest(valid), start + 32);
  return start + entryBytes;
}

/** `struct fuse_attr_out`. */
export function writeAttributesReply(
  bytes: Buffer,
  attributes: Attributes,
  shown: Presentation,
  start: number,
): number {
  let at = writeNumber(bytes, Math.floor(shown.valid), start);
  at = writeNumber(bytes, rest(shown.valid), at);
  return writeAttributes(bytes, attributes, shown, at);
}

export function writeSpace(bytes: Buffer, space: Space, start: number): number {
  let at = start;
  for (const number of [space.blocks, space.freeBlocks, space.freeBlocks, space.files, space.freeFiles]) {
    at = writeNumber(bytes, number, at);
  }
  for (const word of [space.blockSize, space.nameBytes, space.blockSize, 0, 0, 0, 0, 0, 0, 0]) {
    at = bytes.writeUInt32LE(word, at);
  }
  return at;
}

/** `struct fuse_dirent`, padded; undefined where it does not fit before `end`. */
export function writeDirectoryEntry(
  bytes: Buffer,
  entry: { readonly node: number; readonly offset: number; readonly kind: Kind; readonly name: string },
  start: number,
  end: number,
): number | undefined {
  const length = 24 + entry.name.length;
  const padded = (length + 7) & ~7;
  if (start + padded > end) return undefined;
  let at = writeNumber(bytes, entry.node, start);
  at = writeNumber(bytes, entry.offset, at);
  at = bytes.writeUInt32LE(entry.name.length, at);
  at = bytes.writeUInt32LE(entryType(entry.kind), at);
  at += bytes.write(entry.name, at, 'latin1');
  bytes.fill(0, at, start + padded);
  return start + padded;
}

/** The text that ends with NUL at `at`. */
export function readName(bytes: Buffer, at: number, end: number): string {
  const nul = bytes.indexOf(0, at);
  return bytes.toString('latin1', at, nul < 0 || nul > end ? end : nul);
}

export interface InitReply {
  readonly minor: number;
  readonly flags: number;
}

export function writeInit(bytes: Buffer, { minor, flags }: InitReply, start: number): number {
  bytes.fill(0, start, start + 64);
  bytes.writeUInt32LE(7, start);
  bytes.writeUInt32LE(minor, start + 4);
  bytes.writeUInt32LE(mostWriteBytes, start + 8); // read ahead
  bytes.writeUInt32LE(flags >>> 0, start + 12);
  bytes.writeUInt16LE(64, start + 16);
  bytes.writeUInt16LE(48, start + 18);
  bytes.writeUInt32LE(mostWriteBytes, start + 20);
  bytes.writeUInt32LE(1, start + 24); // times to the nanosecond
  bytes.writeUInt16LE(mostWriteBytes / 4096, start + 28);
  return start + 64;
}
