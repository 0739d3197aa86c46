/** What a guest learns of what it is not granted: nothing, whatever path it asks by. */
import assert from 'node:assert/strict';
import { constants } from 'node:fs';
import { it } from 'node:test';
import { inspect } from 'node:util';
import { nativeProgram } from '../../base/native-program.js';
import { makeVfs } from './create.js';

const codeOf = (act: Promise<unknown>) => act.then(() => 'done').catch(({ code }: { code?: string }) => code);

it('hidden names are not there for a guest, nor what is behind them, and say neither kind nor place', async () => {
  const vfs = await makeVfs({ mounts: { '/': 'memory:' } }, '');
  for (const directory of ['/docs', '/hidden', '/hidden/d']) await vfs.mkdir(directory);
  for (const file of ['/docs/a', '/hidden/file']) await vfs.writeFile(file, 'text');
  await vfs.symlink('/docs/a', '/hidden/link');
  await vfs.symlink('/hidden/file', '/docs/out');
  await vfs.symlink('loop', '/hidden/loop');
  const asked: string[] = [];
  const guest = vfs.restricted({ 'fs.read': ['/docs'], 'fs.create': ['/docs'] }, ({ path }) => void asked.push(path));
  const paths = ['none', 'file', 'file/', 'file/x', 'd/x', 'link', 'link/x', 'loop', '../docs/a', 'file/../../docs/a'];
  for (const path of paths.map((each) => `/hidden/${each}`)) {
    asked.length = 0;
    assert.equal(await codeOf(guest.stat(path)), 'ENOENT', path);
    assert.deepEqual(asked, [path.replace(/\/$/, '')]);
    for (const act of [guest.readFile(path), guest.realpath(path), guest.writeFile(path, 'x')])
      assert.match((await codeOf(act)) ?? '', /^(?:ENOENT|EACCES)$/, path);
  }
  assert.equal(await codeOf(guest.stat('/docs/out')), 'ENOENT');
  assert.equal(await codeOf(guest.stat('/docs/a/x')), 'ENOTDIR');
  assert.equal(await codeOf(guest.stat('/docs/../docs/a')), 'done');
  await vfs.close();
});

it('a second name of a file gives a guest no right that it does not have by the first', async () => {
  const vfs = await makeVfs({ mounts: { '/': 'memory:' } }, '');
  for (const directory of ['/docs', '/out']) await vfs.mkdir(directory);
  await vfs.writeFile('/docs/a', 'text');
  await vfs.link('/docs/a', '/docs/b');
  const both = ['/docs', '/out'];
  for (const scope of ['fs.metadata', 'fs.write'] as const) {
    const most = { 'fs.read': both, 'fs.write': both, 'fs.create': ['/out'], 'fs.delete': both };
    const guest = vfs.restricted({ ...most, [scope]: ['/out'] });
    assert.equal(await codeOf(guest.link('/docs/a', '/out/a')), 'EACCES');
    assert.equal(await codeOf(guest.rename('/docs/a', '/out/a')), 'EACCES');
  }
  await vfs.close();
});

it('a guest empties nothing by opening it that it may only read', async () => {
  const vfs = await makeVfs({ mounts: { '/': 'memory:' } }, '');
  await vfs.writeFile('/a', 'text');
  const { O_RDONLY, O_TRUNC } = constants;
  for (const others of [{}, { 'fs.write': ['/elsewhere'] }])
    assert.equal(
      await codeOf(vfs.restricted({ 'fs.read': ['/'], ...others }).open('/a', O_RDONLY | O_TRUNC)),
      'EACCES',
    );
  assert.equal(await vfs.readFile('/a', 'utf8'), 'text');
  await (await vfs.restricted({ 'fs.read': ['/'], 'fs.write': ['/a'] }).open('/a', O_RDONLY | O_TRUNC)).close();
  assert.equal(await vfs.readFile('/a', 'utf8'), '');
  await vfs.close();
});

it('what cannot be read names no path of the machine, but the code and the call', async () => {
  const vfs = await makeVfs({ mounts: { '/': 'memory:', '/shown': 'host:/usr/share' } }, nativeProgram('flock.node'));
  const guest = vfs.restricted({ 'fs.read': ['/shown'] });
  const directory = await guest.open('/shown');
  for (const act of [() => guest.readFile('/shown'), () => directory.read(Buffer.alloc(1))]) {
    const said = await act().then(
      () => assert.fail('it was read'),
      (error: unknown) => error as { code: string; syscall: string; path?: string },
    );
    assert.deepEqual([said.code, said.syscall, said.path], ['EISDIR', 'read', undefined]);
    assert.doesNotMatch(inspect({ ...said, stack: '' }), /usr\/share/);
    assert.doesNotMatch(String(said), /usr\/share/);
  }
  await directory.close();
  await vfs.close();
});
