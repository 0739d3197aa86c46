import assert from 'node:assert/strict';
import { it } from 'node:test';
import { namesByMounts, otherNames } from './mounted-names.js';

const line = (device: string, root: string, at: string) => `30 1 ${device} ${root} ${at} rw shared:1 - ext4 /dev/x rw`;
const named = (path: string, ...lines: readonly string[]) =>
  namesByMounts(path, `${lines.join('\n')}\n`).map(({ name, of }) => `${name} = ${of}`);

it('a directory has a name wherever its file system, a part around it or one of it is mounted', () => {
  const [root, data] = [line('8:1', '/', '/'), line('8:2', '/', '/data')];
  assert.deepEqual(named('/home/ada/store', root), []);
  assert.deepEqual(named('/home/ada/store', root, data, line('8:2', '/home', '/home')), [
    '/data/home/ada/store = /home/ada/store',
  ]);
  assert.deepEqual(named('/data/home/ada/store', root, data, line('8:2', '/home', '/home')), [
    '/home/ada/store = /data/home/ada/store',
  ]);
  assert.deepEqual(named('/store', root, line('8:1', '/store/secret', '/mnt/a\\040b')), ['/mnt/a b = /store/secret']);
  assert.deepEqual(named('/store', root, line('8:1', '/store', '/mnt')), ['/mnt = /store']);
  assert.deepEqual(named('/store', root, line('8:1', '/stores', '/mnt'), line('8:3', '/store', '/n')), []);
  // Another part of it, which lies below it anyway.
  assert.deepEqual(named('/store', root, line('8:1', '/store/a', '/store/b')), []);
  // The topmost of several at one place is the one that is seen.
  assert.deepEqual(
    named('/home/store', root, line('8:2', '/', '/home'), line('8:3', '/x', '/home'), line('8:3', '/', '/all')),
    ['/all/x/store = /home/store'],
  );
  assert.deepEqual([named('/store'), named('/store', '', 'x')], [[], []]);
});

it('a name counts where the directory is there', () => {
  const mounts = [line('8:1', '/', '/'), line('8:1', '/usr', '/nowhere'), line('8:1', '/', '/proc/self/root')].join(
    '\n',
  );
  assert.deepEqual(otherNames(['/usr/bin'], mounts), ['/proc/self/root/usr/bin']);
  assert.deepEqual(otherNames([], mounts), []);
});
