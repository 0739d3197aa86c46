/** Where a walk ends: what is missing at its end may be made, what is missing on its way may not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './answer.js';
import { memoryFileSystem } from './engines/memory/memory.js';
import { MountTable } from './mount-table.js';
import { resolve } from './resolve.js';

test('a path ends at what is there, at a name that could be, or nowhere', async () => {
  const filesystem = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
  const creation = { mode: 0o755, uid: 0, gid: 0 };
  const { inode } = await filesystem.mkdir(filesystem.root, 'd', creation);
  await filesystem.create(inode, 'f', creation, { read: true, write: true });
  await filesystem.symlink(inode, 'out', '../d/f', creation);
  await filesystem.symlink(inode, 'up', '..', creation);
  await filesystem.symlink(inode, 'gone', 'none/x', creation);
  const table = new MountTable([{ path: [], filesystem }]);
  const at = async (path: string, follow = true) => settle(resolve(table, path, { follow }));
  for (const [path, found, name] of [
    ['/', '/', ''],
    ['/d', '/d', 'd'],
    ['/d/f', '/d/f', 'f'],
    ['/d/out', '/d/f', 'f'],
    ['/d/up', '/', ''],
    ['/d/..', '/', ''],
    ['/d/.', '/d', ''],
    ['/../d/./f', '/d/f', 'f'],
  ] as const) {
    const resolved = await at(path);
    assert.deepEqual(
      [`/${resolved.path.join('/')}`, resolved.name, resolved.found !== undefined],
      [found, name, true],
      path,
    );
  }
  const missing = await at('/d/new');
  assert.deepEqual([missing.found, missing.name, missing.path], [undefined, 'new', ['d', 'new']]);
  assert.equal((await at('/d/out', false)).found?.attributes.kind, 'symlink');
  for (const [path, code] of [
    ['', 'ENOENT'],
    ['/none/x', 'ENOENT'],
    ['/none/..', 'ENOENT'],
    ['/d/gone', 'ENOENT'],
    ['/d/f/x', 'ENOTDIR'],
    ['/d/f/', 'ENOTDIR'],
    ['/d/f/..', 'ENOTDIR'],
    ['/d\0', 'EINVAL'],
    [`/${'x'.repeat(256)}`, 'ENAMETOOLONG'],
    [`/${'d/'.repeat(2_048)}`, 'ENAMETOOLONG'],
  ] as const) {
    await assert.rejects(at(path), { code }, path.slice(0, 20));
  }
});
