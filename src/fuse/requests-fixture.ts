/** A table of requests of the kernel: what each asks of an engine, and what it is answered. */
import assert from 'node:assert/strict';
import { type Asked, type Call, file, type Part, type Reply, readAttributes } from './kernel-fixture.js';
import { opcodes } from './wire.js';

const { inode } = file;
const shownFile = {
  node: BigInt(inode),
  size: 0x3_0000_0007n,
  blocks: 0x1_0000_0009n,
  accessed: file.accessed,
  modified: file.modified,
  changed: file.changed,
  mode: 0o104751,
  links: 3,
  uid: 1001,
  gid: 1002,
  device: 0x0803,
  blockSize: 4096,
};
export const opened = { attributes: file, handle: 0x1_0000_0055 };
export const handle = BigInt(opened.handle);
export const answers = {
  lookup: file,
  getattr: file,
  setattr: file,
  create: opened,
  mkdir: file,
  mknod: file,
  open: opened.handle,
  read: Buffer.from('content'),
  write: 5,
  allocate: undefined,
  seek: 0x1_0000_0000,
  fsync: undefined,
  flush: undefined,
  release: undefined,
  lock: undefined,
  readdir: [{ name: 'one', inode: 12, kind: 'file' }],
  unlink: undefined,
  rmdir: undefined,
  rename: undefined,
  link: file,
  symlink: file,
  readlink: 'target',
  getxattr: Buffer.from('value'),
  setxattr: undefined,
  listxattr: ['user.a', 'user.\u00e9'],
  removexattr: undefined,
  statfs: { blockSize: 4096, blocks: 2 ** 33, freeBlocks: 5, files: 6, freeFiles: 7, nameBytes: 255 },
  sync: undefined,
};
export type Answers = typeof answers;

interface Row {
  readonly parts?: readonly Part[];
  readonly asked?: Asked;
  readonly calls: readonly Call[];
  readonly reply?: (reply: Reply) => void;
  readonly answers?: Partial<Record<keyof Answers, unknown>>;
}

const creation = (mode: number) => ({ mode, uid: 7, gid: 8 });
const isEntry = ({ body }: Reply) => {
  assert.equal(body.length, 128);
  assert.equal(body.readBigUInt64LE(0), BigInt(inode));
  assert.deepEqual(readAttributes(body, 40), shownFile);
};
const isAttributes = ({ body }: Reply) => {
  assert.equal(body.length, 104);
  assert.deepEqual(readAttributes(body, 16), shownFile);
};
const hasText = (text: string) => (reply: Reply) => assert.equal(reply.body.toString('latin1'), text);
const hasNumber = (number: bigint) => (reply: Reply) => assert.equal(reply.body.readBigUInt64LE(0), number);
const openMode = { read: true, write: false, append: false, truncate: false };
const { O_WRONLY, O_RDWR, O_APPEND, O_TRUNC, O_EXCL } = {
  O_WRONLY: 1,
  O_RDWR: 2,
  O_APPEND: 0o2000,
  O_TRUNC: 0o1000,
  O_EXCL: 0o200,
};
export const setattr = (valid: number): readonly Part[] => [
  ...[valid, 0, 0n, 0x1_0000_0003n, 0n],
  ...[11n, -2n, 0n, 22, 33, 0, 0o107644, 0, 901, 902, 0],
];
export const unchanged = {
  mode: undefined,
  uid: undefined,
  gid: undefined,
  size: undefined,
  accessed: undefined,
  modified: undefined,
};
export const lockOf = (start: bigint, end: bigint, kind: number, flags = 0): readonly Part[] => [
  ...[handle, 0x1122n, start, end, kind, 5, flags, 0],
];
const owner = '2211000000000000';

export const rows: Readonly<Record<string, Row>> = {
  lookup: { parts: ['n\u00e4me'], asked: { node: 9 }, calls: [['lookup', 9, 'n\u00e4me']], reply: isEntry },
  getattr: { asked: { node: 9 }, calls: [['getattr', 9]], reply: isAttributes },
  'setattr of nothing': { parts: setattr(0), calls: [['setattr', 1, unchanged]], reply: isAttributes },
  'setattr of a mode': { parts: setattr(1), calls: [['setattr', 1, { ...unchanged, mode: 0o7644 }]] },
  'setattr of a user': { parts: setattr(2), calls: [['setattr', 1, { ...unchanged, uid: 901 }]] },
  'setattr of a group': { parts: setattr(4), calls: [['setattr', 1, { ...unchanged, gid: 902 }]] },
  'setattr of a size': { parts: setattr(8), calls: [['setattr', 1, { ...unchanged, size: 0x1_0000_0003 }]] },
  'setattr of when it was read': {
    parts: setattr(16),
    calls: [['setattr', 1, { ...unchanged, accessed: 11_000_000_022n }]],
  },
  'setattr of when it was changed': {
    parts: setattr(32),
    calls: [['setattr', 1, { ...unchanged, modified: -1_999_999_967n }]],
  },
  'setattr of being read now': { parts: setattr(16 + 128), calls: [['setattr', 1, { ...unchanged, accessed: 'now' }]] },
  'setattr of being changed now': {
    parts: setattr(32 + 256),
    calls: [['setattr', 1, { ...unchanged, modified: 'now' }]],
  },
  readlink: {
    asked: { node: 9 },
    calls: [
      ['readlink', 9],
      ['getattr', 9],
    ],
    reply: hasText('target'),
  },
  symlink: { parts: ['name', '../to'], calls: [['symlink', 1, 'name', '../to', creation(0o777)]], reply: isEntry },
  'mknod of a file': {
    parts: [0o100640, 0, 0, 0, 'n'],
    calls: [['mknod', 1, 'n', creation(0o640), 'file', 0]],
    reply: isEntry,
  },
  'mknod of a pipe': { parts: [0o010640, 0, 0, 0, 'n'], calls: [['mknod', 1, 'n', creation(0o640), 'fifo', 0]] },
  'mknod of a socket': { parts: [0o140640, 0, 0, 0, 'n'], calls: [['mknod', 1, 'n', creation(0o640), 'socket', 0]] },
  'mknod of a device': {
    parts: [0o020640, 0x103, 0, 0, 'n'],
    calls: [['mknod', 1, 'n', creation(0o640), 'character', 0x103]],
  },
  mkdir: {
    parts: [0o2755, 0o22, 'd'],
    asked: { node: 9 },
    calls: [['mkdir', 9, 'd', creation(0o2755)]],
    reply: isEntry,
  },
  unlink: { parts: ['n'], calls: [['unlink', 1, 'n']] },
  rmdir: {
    parts: ['n'],
    calls: [
      ['lookup', 1, 'n'],
      ['rmdir', 1, 'n'],
    ],
  },
  rename: {
    parts: [9n, 'from', 'to'],
    calls: [
      ['rename', 1, 'from', 9, 'to', 'replace'],
      ['lookup', 9, 'to'],
    ],
  },
  rename2: {
    parts: [9n, 0, 0, 'from', 'to'],
    calls: [
      ['rename', 1, 'from', 9, 'to', 'replace'],
      ['lookup', 9, 'to'],
    ],
  },
  'rename2 that replaces nothing': {
    parts: [9n, 1, 0, 'from', 'to'],
    calls: [
      ['rename', 1, 'from', 9, 'to', 'keep'],
      ['lookup', 9, 'to'],
    ],
  },
  'rename2 that exchanges': {
    parts: [9n, 2, 0, 'from', 'to'],
    calls: [
      ['rename', 1, 'from', 9, 'to', 'exchange'],
      ['lookup', 9, 'to'],
      ['lookup', 1, 'from'],
    ],
  },
  link: { parts: [13n, 'second'], asked: { node: 9 }, calls: [['link', 13, 9, 'second']], reply: isEntry },
  'open to read': { parts: [0, 0], asked: { node: 9 }, calls: [['open', 9, openMode]], reply: hasNumber(handle) },
  'open to write': { parts: [O_WRONLY, 0], calls: [['open', 1, { ...openMode, read: false, write: true }]] },
  'open to read and append': {
    parts: [O_RDWR | O_APPEND, 0],
    calls: [['open', 1, { ...openMode, write: true, append: true }]],
  },
  'open to read, with a flag of writers': { parts: [O_APPEND, 0], calls: [['open', 1, openMode]] },
  'open and empty': {
    parts: [O_RDWR | O_TRUNC, 0],
    calls: [['open', 1, { ...openMode, write: true, truncate: true }]],
  },
  'open to read, and empty': {
    parts: [O_TRUNC, 0],
    calls: [
      ['setattr', 1, { size: 0 }],
      ['open', 1, { ...openMode, truncate: true }],
    ],
  },
  'create anew': {
    parts: [O_EXCL | O_RDWR, 0o644, 0, 0, 'n'],
    calls: [['create', 1, 'n', creation(0o644), { ...openMode, write: true }]],
    reply(reply) {
      isEntry({ ...reply, body: reply.body.subarray(0, 128) });
      assert.deepEqual([reply.body.length, reply.body.readBigUInt64LE(128)], [144, handle]);
    },
  },
  'create what is there': {
    parts: [O_RDWR, 0o644, 0, 0, 'n'],
    calls: [
      ['lookup', 1, 'n'],
      ['open', inode, { ...openMode, write: true }],
      ['getattr', inode],
    ],
  },
  'create what is not there': {
    parts: [O_RDWR, 0o644, 0, 0, 'n'],
    answers: { lookup: undefined },
    calls: [
      ['lookup', 1, 'n'],
      ['create', 1, 'n', creation(0o644), { ...openMode, write: true }],
    ],
  },
  read: {
    parts: [handle, 0x1_0000_0000n, 100, 0],
    calls: [['read', opened.handle, 2 ** 32, 100]],
    reply: hasText('content'),
  },
  'read of more than a reply holds': {
    parts: [handle, 0n, 0xffff_ffff, 0],
    calls: [['read', opened.handle, 0, 1 << 20]],
  },
  write: {
    parts: [handle, 0x1_0000_0000n, 5, 0, 0n, 0, 0, Buffer.from('bytes')],
    calls: [['write', opened.handle, 2 ** 32, 'bytes']],
    reply: hasNumber(5n),
  },
  'write of fewer bytes than came': {
    parts: [handle, 0n, 2, 0, 0n, 0, 0, Buffer.from('bytes')],
    calls: [['write', opened.handle, 0, 'by']],
  },
  'write of more bytes than came': {
    parts: [handle, 0n, 99, 0, 0n, 0, 0, Buffer.from('bytes')],
    calls: [['write', opened.handle, 0, 'bytes']],
  },
  statfs: {
    calls: [['statfs']],
    reply({ body }) {
      const longs = [0, 8, 16, 24, 32].map((at) => body.readBigUInt64LE(at));
      assert.deepEqual(longs, [2n ** 33n, 5n, 5n, 6n, 7n]);
      assert.deepEqual(
        [40, 44, 48].map((at) => body.readUInt32LE(at)),
        [4096, 255, 4096],
      );
      assert.ok(body.length === 80 && body.subarray(52).every((byte) => byte === 0));
    },
  },
  release: { parts: [handle, 0, 0, 0n], calls: [['release', opened.handle]] },
  flush: { parts: [handle, 0, 0, 0n], calls: [['flush', opened.handle]] },
  fsync: { parts: [handle, 0, 0], calls: [['fsync', opened.handle]] },
  fsyncdir: { parts: [handle, 0, 0], calls: [['sync']] },
  destroy: { calls: [['sync']] },
  setxattr: { parts: [3, 0, 'user.n', Buffer.from('abcd')], calls: [['setxattr', 1, 'user.n', 'abc', 'any']] },
  'setxattr of a new one': {
    parts: [3, 1, 'user.n', Buffer.from('abc')],
    calls: [['setxattr', 1, 'user.n', 'abc', 'create']],
  },
  'setxattr of a known one': {
    parts: [3, 2, 'user.n', Buffer.from('abc')],
    calls: [['setxattr', 1, 'user.n', 'abc', 'replace']],
  },
  getxattr: {
    parts: [5, 0, 'user.a'],
    calls: [
      ['listxattr', 1],
      ['getxattr', 1, 'user.a'],
    ],
    reply: hasText('value'),
  },
  'getxattr of its size': {
    parts: [0, 0, 'user.a'],
    calls: [
      ['listxattr', 1],
      ['getxattr', 1, 'user.a'],
    ],
    reply: hasNumber(5n),
  },
  listxattr: { parts: [15, 0], calls: [['listxattr', 1]], reply: hasText('user.a\0user.\u00e9\0') },
  'listxattr of its size': { parts: [0, 0], calls: [['listxattr', 1]], reply: hasNumber(14n) },
  removexattr: { parts: ['user.n'], calls: [['removexattr', 1, 'user.n']] },
  opendir: { asked: { node: 9 }, calls: [['readdir', 9]], reply: hasNumber(1n) },
  releasedir: { parts: [1n, 0, 0, 0n], calls: [] },
  fallocate: { parts: [handle, 0x1_0000_0000n, 9n, 0, 0], calls: [['allocate', opened.handle, 2 ** 32, 9, 'extend']] },
  'fallocate within': { parts: [handle, 1n, 9n, 1, 0], calls: [['allocate', opened.handle, 1, 9, 'keep']] },
  'fallocate of a hole': { parts: [handle, 1n, 9n, 3, 0], calls: [['allocate', opened.handle, 1, 9, 'punch']] },
  'lseek to data': {
    parts: [handle, 4n, 3, 0],
    calls: [['seek', opened.handle, 4, 'data']],
    reply: hasNumber(2n ** 32n),
  },
  'lseek to a hole': { parts: [handle, 4n, 4, 0], calls: [['seek', opened.handle, 4, 'hole']] },
  'getlk of what is free': {
    parts: lockOf(2n, 5n, 1),
    calls: [['lock', opened.handle, { family: 'ranges', owner, kind: 'exclusive', start: 2, end: 6, test: true }]],
    reply: ({ body }) => assert.deepEqual([body.length, body.readUInt32LE(16)], [24, 2]),
  },
  'getlk of what is held': {
    parts: lockOf(0n, 0x7fff_ffff_ffff_ffffn, 0),
    answers: { lock: { kind: 'exclusive', start: 3, end: 8 } },
    calls: [['lock', opened.handle, { family: 'ranges', owner, kind: 'shared', start: 0, end: Infinity, test: true }]],
    reply: ({ body }) =>
      assert.deepEqual([body.readBigUInt64LE(0), body.readBigUInt64LE(8), body.readUInt32LE(16)], [3n, 7n, 1]),
  },
  'getlk of what is held to the end': {
    parts: lockOf(0n, 1n, 1),
    answers: { lock: { kind: 'shared', start: 3, end: Infinity } },
    calls: [['lock', opened.handle, { family: 'ranges', owner, kind: 'exclusive', start: 0, end: 2, test: true }]],
    reply: ({ body }) =>
      assert.deepEqual([body.readBigUInt64LE(8), body.readUInt32LE(16)], [0x7fff_ffff_ffff_ffffn, 0]),
  },
  setlk: {
    parts: lockOf(2n, 5n, 0),
    calls: [['lock', opened.handle, { family: 'ranges', owner, kind: 'shared', start: 2, end: 6 }]],
  },
  'setlk that gives back': {
    parts: lockOf(2n, 2n, 2),
    calls: [['lock', opened.handle, { family: 'ranges', owner, kind: 'none', start: 2, end: 3 }]],
  },
  'setlk of the whole file': {
    parts: lockOf(2n, 5n, 1, 1),
    calls: [['lock', opened.handle, { family: 'whole', owner, kind: 'exclusive', start: 0, end: Infinity }]],
  },
};

export const opcodeOf = (row: string) => opcodes[row.split(' ', 1)[0] as keyof typeof opcodes];
