/** The kernel's side of FUSE for tests: requests as `linux/fuse.h` lays them out, read and written apart from `wire.ts`. */
import type { Attributes, FileSystem } from '../vfs/filesystem.js';
import { Dispatch } from './dispatch.js';
import type { DispatchOptions } from './operations.js';

/** A part of a request: 4 bytes, 8 bytes, a text that ends with NUL, or bytes as they are. */
export type Part = number | bigint | string | Buffer;

function bytesOf(part: Part): Buffer {
  if (typeof part === 'string') return Buffer.from(`${part}\0`, 'latin1');
  if (typeof part !== 'number' && typeof part !== 'bigint') return part;
  const bytes = Buffer.alloc(typeof part === 'number' ? 4 : 8);
  if (typeof part === 'number') bytes.writeUInt32LE(part >>> 0);
  else bytes.writeBigUInt64LE(BigInt.asUintN(64, part));
  return bytes;
}

export interface Asked {
  readonly node?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly unique?: bigint;
}

export function requestOf(opcode: number, parts: readonly Part[], asked: Asked = {}): Buffer {
  const { node = 1, uid = 7, gid = 8, unique = 0x1_0000_0002n } = asked;
  const head = [0, opcode, unique, BigInt(node), uid, gid, 99, 0].map(bytesOf);
  const request = Buffer.concat([...head, ...parts.map(bytesOf)]);
  request.writeUInt32LE(request.length);
  return request;
}

export interface Reply {
  /** 0, or a negative errno. */
  readonly error: number;
  readonly unique: bigint;
  readonly body: Buffer;
}

export function readReply(bytes: Buffer): Reply {
  const body = Buffer.from(bytes.subarray(16, bytes.readUInt32LE(0)));
  return { error: bytes.readInt32LE(4), unique: bytes.readBigUInt64LE(8), body };
}

/** `struct fuse_attr`. */
export function readAttributes(bytes: Buffer, at: number) {
  const long = (offset: number) => bytes.readBigUInt64LE(at + offset);
  const time = (seconds: number, rest: number) =>
    bytes.readBigInt64LE(at + seconds) * 1_000_000_000n + BigInt(bytes.readUInt32LE(at + rest));
  const [mode, links, uid, gid, device, blockSize] = [60, 64, 68, 72, 76, 80].map((offset) =>
    bytes.readUInt32LE(at + offset),
  );
  return {
    node: long(0),
    size: long(8),
    blocks: long(16),
    accessed: time(24, 48),
    modified: time(32, 52),
    changed: time(40, 56),
    mode,
    links,
    uid,
    gid,
    device,
    blockSize,
  };
}

export const file: Attributes = {
  inode: 0x2_0000_0005,
  kind: 'file',
  mode: 0o4751,
  links: 3,
  uid: 1001,
  gid: 1002,
  device: 0x0803,
  size: 0x3_0000_0007,
  blocks: 0x1_0000_0009,
  accessed: 1_600_000_000_123_456_789n,
  modified: -1n,
  changed: 4_300_000_000_999_999_999n,
};

export type Call = readonly [method: string, ...args: readonly unknown[]];

const capabilities = {
  writable: true,
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
  durable: true,
  sharedLocks: false,
  immediate: true,
};

/** An engine that notes what it is asked, and answers what it was given for each method. */
export function notingFileSystem(
  answers: Readonly<Record<string, unknown>>,
  changed: Partial<typeof capabilities> = {},
) {
  const calls: Call[] = [];
  const own = { label: 'noting:', root: 1, capabilities: { ...capabilities, ...changed } };
  const methods = Object.entries(answers).map(([name, answer]) => [
    name,
    (...args: readonly unknown[]) => {
      calls.push([name, ...args.map((each) => (Buffer.isBuffer(each) ? each.toString('latin1') : each))]);
      const given: unknown = typeof answer === 'function' ? answer(...args) : answer;
      if (given instanceof Error) throw given;
      return given;
    },
  ]);
  return { calls, filesystem: { ...own, ...Object.fromEntries(methods) } as FileSystem };
}

/** A mount of a tree, asked as the kernel asks it. */
export function mounted(filesystem: FileSystem, options: Partial<DispatchOptions> = {}) {
  const dispatch = new Dispatch({ filesystem, mountedAt: '/m', shared: true, shift: 0, ...options });
  const answer = (request: Buffer) => dispatch.answer(request, request.length);
  /** Of an engine that answers at once. */
  const ask = (opcode: number, parts: readonly Part[] = [], asked: Asked = {}): Reply | undefined => {
    const reply = answer(requestOf(opcode, parts, asked));
    if (reply instanceof Promise) throw new Error('expected an answer at once');
    return reply === undefined ? undefined : readReply(reply);
  };
  return { dispatch, answer, ask };
}
