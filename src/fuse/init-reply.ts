/** The kernel's first request of a mount, and what it is answered with: the same whatever the tree is. Pure. */
import { failure } from '../vfs/failure.js';
import { inHeaderBytes, initFlags, outHeaderBytes, writeInit } from './wire.js';

export interface InitOptions {
  /** Others may change the tree: the kernel keeps nothing. */
  readonly shared: boolean;
  readonly servesLocks: boolean;
  /** A file is made empty by being opened, and not by a request of its own. */
  readonly truncates: boolean;
  /** The kernel keeps names for a while: a listing is worth its attributes, which it would ask for again with each name otherwise. */
  readonly keepsNames: boolean;
}

/** Where the reply ends. ENOSYS of a kernel that is too old. */
export function writeInitReply(bytes: Buffer, reply: Buffer, options: InitOptions): number {
  const { shared, servesLocks, truncates, keepsNames } = options;
  const [major, minor, offered] = [0, 4, 12].map((at) => bytes.readUInt32LE(inHeaderBytes + at)) as [
    number,
    number,
    number,
  ];
  if (major !== 7 || minor < 31) throw failure('ENOSYS', 'init', undefined, `FUSE ${major}.${minor} is too old`);
  const { asyncRead, atomicTruncate, bigWrites, autoInvalidateData } = initFlags;
  const { readdirPlus, readdirPlusAuto, parallelDirectories, maxPages } = initFlags;
  const truncation = truncates ? atomicTruncate : 0;
  const listing = parallelDirectories | (keepsNames ? readdirPlus | readdirPlusAuto : 0);
  const wanted = asyncRead | truncation | bigWrites | listing | maxPages;
  const locks = servesLocks ? initFlags.posixLocks | initFlags.flockLocks : 0;
  const flags = (wanted | locks | (shared ? autoInvalidateData : 0)) & offered;
  return writeInit(reply, { minor: Math.min(minor, 38), flags }, outHeaderBytes);
}

/** The whole reply, by itself. */
export function initReply(bytes: Buffer, options: InitOptions): Buffer {
  const reply = Buffer.alloc(outHeaderBytes + 64);
  const end = writeInitReply(bytes, reply, options);
  reply.writeUInt32LE(end, 0);
  reply.writeBigUInt64LE(bytes.readBigUInt64LE(8), 8);
  return reply.subarray(0, end);
}
