/** A directory as the kernel reads it: listed once when it is opened, and again where it has changed before it is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import type { Attributes, FileSystem } from '../vfs/filesystem.js';
import { Dispatch } from './dispatch.js';
import { Listings } from './listings.js';
import { inHeaderBytes, initFlags, opcodes, outHeaderBytes, replyLength } from './wire.js';

const root = { mode: 0o755, uid: 0, gid: 0 };

function served(shared: boolean) {
  const inner = memoryFileSystem({ root });
  let listings = 0;
  const filesystem = new Proxy<FileSystem>(inner, {
    get: (target, key) => {
      if (key === 'readdir') listings += 1;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const dispatch = new Dispatch({ filesystem, mountedAt: '/m', shared, shift: 0 });
  const ask = (opcode: number, numbers: readonly number[] = [], node = 1, text = ''): Buffer => {
    const bytes = Buffer.alloc(inHeaderBytes + 64);
    bytes.writeUInt32LE(opcode, 4);
    bytes.writeUInt32LE(node, 16);
    for (const [at, number] of numbers.entries()) bytes.writeUInt32LE(number, inHeaderBytes + at * 4);
    bytes.write(text, inHeaderBytes + numbers.length * 4);
    const reply = dispatch.answer(bytes, bytes.length) as Buffer;
    return Buffer.from(reply.subarray(0, replyLength(reply)));
  };
  const make = (opcode: number, numbers: readonly number[], ...texts: readonly string[]) =>
    assert.equal(ask(opcode, numbers, 1, texts.join('\0')).readInt32LE(4), 0);
  const names = (handle: number, offset = 0, node = 1) =>
    ask(opcodes.readdir, [handle, 0, offset, 0, 4096], node).toString('latin1');
  return { inner, ask, make, names, listings: () => listings };
}

test('a directory is listed once when it is opened, and again where it is rewound', () => {
  const { inner, ask, names, listings } = served(false);
  inner.mkdir(inner.root, 'one', root);
  const handle = ask(opcodes.opendir).readUInt32LE(outHeaderBytes);
  assert.match(names(handle), /one/);
  assert.equal(listings(), 1);
  inner.mkdir(inner.root, 'two', root);
  assert.doesNotMatch(names(handle, 2), /two/);
  assert.match(names(handle), /two/);
  assert.equal(listings(), 2);
});

test('what users of the mount changed since a directory was opened is in what is read of it', () => {
  const changes: readonly (readonly [RegExp, (mount: ReturnType<typeof served>) => void])[] = [
    [/new/, ({ make }) => make(opcodes.mkdir, [0o755, 0], 'new')],
    [/new/, ({ make }) => make(opcodes.symlink, [], 'new', 'x')],
    [/new/, ({ make }) => make(opcodes.mknod, [0o100644, 0, 0, 0], 'new')],
    [/new/, ({ make }) => make(opcodes.create, [2, 0o100644, 0, 0], 'new')],
    [/new/, ({ make }) => make(opcodes.rename, [1, 0], 'one', 'new')],
    [/^((?!one).)*$/s, ({ make }) => make(opcodes.rmdir, [], 'one')],
    [/^((?!file).)*$/s, ({ make }) => make(opcodes.unlink, [], 'file')],
  ];
  for (const [index, [expected, change]] of changes.entries()) {
    const mount = served(true);
    const { inner, ask, names } = mount;
    inner.mkdir(inner.root, 'one', root);
    inner.mknod(inner.root, 'file', root, 'file', 0);
    const handle = ask(opcodes.opendir).readUInt32LE(outHeaderBytes);
    change(mount);
    assert.match(names(handle), expected, `${index}`);
  }
});

test('a directory that is read late, or was removed, is what it is then', () => {
  let now = 0;
  for (const [isShared, late, how] of [
    [true, 100, 'as it is'],
    [true, 101, 'again'],
    [false, 1e6, 'as it is'],
  ] as const) {
    const listings = new Listings(isShared, () => now);
    const handle = listings.add([]);
    now += late;
    assert.equal(listings.begun(handle), how);
    assert.equal(listings.begun(handle), 'rewound');
    listings.changed();
    assert.equal(listings.begun(listings.add([])), 'as it is');
  }
  const { inner, ask, make, names } = served(true);
  const { inode } = inner.mkdir(inner.root, 'd', root) as Attributes;
  inner.mkdir(inode, 'x', root);
  make(opcodes.lookup, [], 'd');
  const handle = ask(opcodes.opendir, [], inode).readUInt32LE(outHeaderBytes);
  inner.rmdir(inode, 'x');
  make(opcodes.rmdir, [], 'd');
  for (let times = 0; times < 2; times += 1) assert.doesNotMatch(names(handle, 0, inode), /x/);
});

test('attributes come with a listing only where the kernel keeps its names', () => {
  for (const shared of [true, false]) {
    const { ask } = served(shared);
    const flags = ask(opcodes.init, [7, 38, 0, 0xffff_ffff]).readUInt32LE(outHeaderBytes + 12);
    assert.equal((flags & initFlags.readdirPlus) !== 0, !shared);
  }
});
