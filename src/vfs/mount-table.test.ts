/** Names, and which tree has a path. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './answer.js';
import { joined } from './engines/joined/joined.js';
import { memoryFileSystem } from './engines/memory/memory.js';
import { overlayFileSystem } from './engines/overlay/overlay.js';
import type { FileSystem } from './filesystem.js';
import { componentsOf, isBelow, MountTable, pathOf, type TableMount } from './mount-table.js';
import { bytesFromName, checkName, nameBytes, nameFromBytes, nameFromText, textFromName } from './names.js';

const tree = (label: string) => ({ label, close: () => undefined }) as unknown as FileSystem;
type Placed = readonly [path: string, filesystem: FileSystem];
const mounts = (...list: readonly Placed[]): TableMount[] =>
  list.map(([path, filesystem]) => ({ path: componentsOf(path), filesystem }));

test('a name is one character a byte, of whatever bytes, and comes back from each of its forms', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  assert.equal(nameFromBytes(all).length, 256);
  for (const bytes of [
    all,
    Buffer.from('plain'),
    Buffer.from('ä€\u{1f600}'),
    Buffer.from([0x61, 0xff]),
    Buffer.alloc(0),
  ]) {
    const name = nameFromBytes(bytes);
    assert.deepEqual(bytesFromName(name), bytes);
    assert.equal(nameFromText(textFromName(name)), name);
  }
  assert.equal(nameFromText('ä'), '\xc3\xa4');
  assert.equal(textFromName('\xc3\xa4'), 'ä');
  assert.equal(nameFromBytes(Buffer.from('abc').subarray(1, 2)), 'b');
});

test('a name of an entry is not empty, no dots, without slash and NUL, and of so many bytes', () => {
  for (const name of ['a', '...', '.a', 'a..', ' ', 'x'.repeat(nameBytes)]) checkName('test', name);
  for (const name of ['', '.', '..', '/', 'a/b', 'a\0b'])
    assert.throws(() => checkName('test', name), { code: 'EINVAL' });
  assert.throws(() => checkName('test', 'x'.repeat(nameBytes + 1)), { code: 'ENAMETOOLONG', path: 'x'.repeat(40) });
});

test('a path is its components, and below one that begins it, name by name', () => {
  for (const [path, components] of [
    ['/', []],
    ['//a/', ['a']],
    ['/a//b', ['a', 'b']],
  ] as const) {
    assert.deepEqual(componentsOf(path), components);
    assert.equal(pathOf(components), `/${components.join('/')}`);
  }
  const paths = ['/', '/a', '/ab', '/a/b', '/a/b/c', '/b'].map(componentsOf);
  for (const one of paths) {
    for (const other of paths) {
      const expected = `${pathOf(one)}/`.startsWith(other.length === 0 ? '/' : `${pathOf(other)}/`);
      assert.equal(isBelow(one, other), expected, `${one} below ${other}`);
    }
  }
});

test('a table has a root, one tree a place, and none inside itself', () => {
  const [a, b] = [tree('a'), tree('b')];
  const refused = (...list: readonly Placed[]) =>
    assert.throws(() => new MountTable(mounts(...list)), { code: 'EINVAL' });
  refused();
  refused(['/a', a]);
  refused(['/', a], ['/', b]);
  refused(['/', a], ['/x', b], ['/x', tree('c')]);
  refused(['/', a], ['/x', a]);
  refused(['/x', a], ['/', a]);
  for (const dots of ['/x/..', '/.', '/../x', '/x/./y']) refused(['/', a], [dots, b]);
  // Inside any of its own places, not only the first.
  for (const order of [
    ['/x', '/y', '/y/z'],
    ['/y/z', '/x', '/y'],
    ['/y', '/y/z', '/x'],
  ]) {
    refused(['/', a], ...order.map((path) => [path, b] as const));
  }
  const table = new MountTable(mounts(['/', a], ['/x', b], ['/xy', b], ['/x/y', tree('c')]));
  assert.equal(table.root.filesystem, a);
  assert.equal(table.at([])?.filesystem, a);
  assert.equal(table.at(['x'])?.filesystem, b);
  assert.equal(table.at(['x', 'y'])?.filesystem.label, 'c');
  for (const path of [['y'], ['x', 'z'], ['x', 'y', 'z']]) assert.equal(table.at(path), undefined);
  const alone = new MountTable(mounts(['/', a]));
  assert.equal(alone.at([]), alone.root);
  assert.equal(alone.at(['x']), undefined);
});

test('trees are closed from the last to the first', () => {
  const closed: string[] = [];
  const closing = (label: string) => ({ label, close: () => void closed.push(label) }) as unknown as FileSystem;
  const steps = new MountTable(mounts(['/', closing('root')], ['/x', closing('x')], ['/y', closing('y')])).close();
  while (steps.next().done !== true);
  assert.deepEqual(closed, ['y', 'x', 'root']);
});

test('each of several trees is written and closed, also where one before it fails', async () => {
  const root = { mode: 0o755, uid: 0, gid: 0 };
  const full = () => Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const made = () => {
    const done: string[] = [];
    const failing = (label: string) => {
      const inner = memoryFileSystem({ writable: true, root });
      inner.mkdir(1, 'x', root);
      const act = (what: string) => () => {
        done.push(`${what} ${label}`);
        throw full();
      };
      return new Proxy(inner, {
        get: (target, member) => {
          if (member === 'sync' || member === 'close') return act(member);
          const value: unknown = Reflect.get(target, member, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    };
    return { done, table: new MountTable(mounts(['/', failing('root')], ['/x', failing('x')])), failing };
  };
  const rejected = (act: () => unknown) => assert.rejects(async () => act(), { code: 'ENOSPC' });
  const alone = made();
  await rejected(() => settle(alone.table.close()));
  assert.deepEqual(alone.done, ['close x', 'close root']);
  const one = made();
  const tree = await joined(one.table);
  await rejected(() => tree.sync());
  await rejected(() => tree.close());
  assert.deepEqual(one.done, ['sync root', 'sync x', 'close x', 'close root']);
  const { done, failing } = made();
  await rejected(() => overlayFileSystem({ upper: failing('upper'), lower: failing('lower') }).close());
  assert.deepEqual(done, ['close upper', 'close lower']);
});
