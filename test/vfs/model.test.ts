/** Random operations on every engine of this machine are those of a plain model; s3.test and webdav.test do the same with servers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../src/vfs/answer.js';
import { directoryMode, engines, fileMode } from './engines.js';
import { outcome, playModel, treeOf, writeTo } from './model.js';
import { overlaysOfFiles } from './overlays.js';

for (const [name, make] of Object.entries({ ...engines, ...overlaysOfFiles })) {
  test(`random operations on ${name} are those of the model`, () => playModel(make, 25));
}

test('answers that come later run the same code', async () => {
  const { filesystem, end } = (await engines['memory']?.()) ?? assert.fail('no memory');
  const slow = new Proxy(filesystem, {
    get: (target, member) => {
      const value = Reflect.get(target, member, target) as unknown;
      if (typeof value !== 'function' || member === 'watch') return value;
      return async (...given: readonly unknown[]) => Reflect.apply(value, target, given) as unknown;
    },
  });
  const tree = treeOf(slow);
  await tree.mkdir('/d', directoryMode);
  await writeTo(tree, '/d/f', 0, Buffer.from('later'));
  await tree.symlink('d/f', '/l', fileMode);
  assert.equal((await tree.stat('/l', true)).size, 5);
  assert.equal(await outcome(() => tree.rmdir('/d')), 'ENOTEMPTY');
  await settle(tree.table.close());
  await end();
});
