/** A directory as the kernel reads it: listed once when it is opened, and again where it is rewound. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { Dispatch } from './dispatch.js';
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
  const ask = (opcode: number, ...numbers: readonly number[]): Buffer => {
    const bytes = Buffer.alloc(inHeaderBytes + 64);
    bytes.writeUInt32LE(opcode, 4);
    bytes.writeUInt32LE(1, 16);
    for (const [at, number] of numbers.entries()) bytes.writeUInt32LE(number, inHeaderBytes + at * 4);
    const reply = dispatch.answer(bytes, bytes.length) as Buffer;
    return Buffer.from(reply.subarray(0, replyLength(reply)));
  };
  const names = (handle: number, offset = 0) => ask(opcodes.readdir, handle, 0, offset, 0, 4096).toString('latin1');
  return { inner, ask, names, listings: () => listings };
}

test('a directory is listed once when it is opened, and again where it is rewound', () => {
  const { inner, ask, names, listings } = served(true);
  inner.mkdir(inner.root, 'one', root);
  const handle = ask(opcodes.opendir).readUInt32LE(outHeaderBytes);
  assert.match(names(handle), /one/);
  assert.equal(listings(), 1);
  inner.mkdir(inner.root, 'two', root);
  assert.doesNotMatch(names(handle, 2), /two/);
  assert.match(names(handle), /two/);
  assert.equal(listings(), 2);
});

test('attributes come with a listing only where the kernel keeps its names', () => {
  for (const shared of [true, false]) {
    const { ask } = served(shared);
    const flags = ask(opcodes.init, 7, 38, 0, 0xffff_ffff).readUInt32LE(outHeaderBytes + 12);
    assert.equal((flags & initFlags.readdirPlus) !== 0, !shared);
  }
});
