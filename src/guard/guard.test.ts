import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Guard, scopes, type VfsGrants } from './guard.js';

it('a directory on the way to what is granted can be read, and nothing else', () => {
  const everything = Object.fromEntries(scopes.map((scope) => [scope, ['/a/b/c']])) as VfsGrants;
  const guard = new Guard(everything);
  for (const scope of scopes) {
    for (const path of [[], ['a'], ['a', 'b']]) {
      assert.equal(guard.allows(scope, path), scope === 'fs.read', `${scope} ${path.join('/')}`);
      if (scope !== 'fs.read') assert.throws(() => guard.pass(scope, 'act', path), { code: 'EACCES' });
    }
    for (const path of [['x'], ['a', 'x'], ['a', 'b', 'cc']]) {
      assert.equal(guard.allows(scope, path), false);
      assert.throws(() => guard.pass(scope, 'act', path), { code: 'ENOENT' });
    }
    for (const path of [
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'd'],
    ])
      assert.ok(guard.allows(scope, path));
  }
});

it('of several places each is shown, with what leads there, and nothing beside them', () => {
  const guard = new Guard({ 'fs.read': ['/a/b', '/c'], 'fs.write': ['/d/e'] });
  const shown = ['', 'a', 'a/b', 'a/b/x', 'c', 'c/x', 'd', 'd/e', 'd/e/x'];
  const hidden = ['x', 'a/x', 'd/x', 'aa', 'c2', 'd/e2'];
  const names = (path: string) => path.split('/').filter(Boolean);
  for (const path of shown) assert.ok(guard.shows(names(path)), path);
  for (const path of hidden) assert.ok(!guard.shows(names(path)), path);
  assert.deepEqual(
    shown.filter((path) => guard.allows('fs.write', names(path))),
    ['d/e', 'd/e/x'],
  );
});

it('moving is no way to read: neither a file, nor a directory above what may be read', () => {
  const guard = new Guard({ 'fs.read': ['/read', '/dir/sub'] });
  const move = (from: string, to: string) =>
    guard.move('rename', from.split('/').filter(Boolean), to.split('/').filter(Boolean), false);
  for (const [from, to] of [
    ['/other', '/read/x'],
    ['/dir', '/read/x'],
    ['/other', '/dir'],
    ['/', '/read/x'],
  ] as const) {
    assert.throws(() => move(from, to), { code: 'EACCES' }, `${from} ${to}`);
  }
  for (const [from, to] of [
    ['/read/x', '/read/y'],
    ['/dir/sub', '/read/x'],
    ['/read/x', '/other'],
    ['/other', '/more'],
    ['/dir', '/more'],
  ] as const) {
    move(from, to);
  }
});

it('moving what has other names is no way to write to those, nor to change their modes', () => {
  for (const scope of ['fs.write', 'fs.metadata'] as const) {
    const guard = new Guard({ 'fs.read': ['/in', '/out'], [scope]: ['/out'] });
    assert.throws(() => guard.move('rename', ['in', 'f'], ['out', 'f'], true), { code: 'EACCES' });
    guard.move('rename', ['in', 'f'], ['out', 'f'], false);
    guard.move('rename', ['out', 'f'], ['out', 'g'], true);
    guard.move('rename', ['out', 'f'], ['in', 'g'], true);
  }
});
