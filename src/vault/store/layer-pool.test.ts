import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { freshPlace, isRoot } from '../tree/tree-fixture.js';
import { copyTop, isTouched, makeDirectoryWhole, makeLayer, makerOf, rootsOf, sameTop } from './layer-pool.js';
import { vaultPaths } from './layout.js';

const { at, write } = freshPlace();

it('a top directory is another one by any bit of its mode, its owner or its group alone', () => {
  for (const name of ['one', 'other']) mkdirSync(at(name));
  const same = () => sameTop(at('one'), at('other'));
  chmodSync(at('one'), 0o1751);
  utimesSync(at('one'), 1, 2);
  copyTop(at('one'), at('other'));
  assert.ok(same());
  assert.equal(statSync(at('other')).mtimeMs, 2000);
  for (let bit = 1; bit <= 0o1000; bit *= 2) {
    chmodSync(at('other'), 0o1751 ^ bit);
    assert.ok(!same(), bit.toString(8));
    assert.ok(isTouched(at('other'), [at('one')]), 'an empty tree that shows another top');
    copyTop(at('one'), at('other'));
    assert.ok(!isTouched(at('other'), [at('one')]));
  }
  chmodSync(at('one'), 0o7751);
  assert.ok(same(), 'setgid is the person’s');
  copyTop(at('one'), at('other'));
  assert.equal(statSync(at('other')).mode & 0o7777, 0o3751);
  chmodSync(at('one'), 0o1751);
  copyTop(at('one'), at('other'));
  if (isRoot) {
    for (const [uid, gid] of [
      [1, 0],
      [0, 1],
    ] as const) {
      chownSync(at('other'), uid, gid);
      chmodSync(at('other'), 0o1751);
      assert.ok(!same(), `${uid}:${gid}`);
    }
    copyTop(at('one'), at('other'));
    assert.ok(same());
  }
  assert.ok(sameTop(undefined, undefined) && !sameTop(undefined, at('one')) && !sameTop(at('one'), undefined));
});

it('a tree is touched by what it holds, and not by being there', () => {
  assert.ok(!isTouched(at('none'), []));
  mkdirSync(at('tree'));
  assert.ok(!isTouched(at('tree'), []));
  write('tree/file', '');
  assert.ok(isTouched(at('tree'), []));
  assert.ok(isTouched(at('tree'), [at('tree')]));
});

it('a layer knows who made it, and what is no tree is none of its roots', () => {
  const paths = vaultPaths(at('store'), '0123456789abcdef');
  mkdirSync(paths.layers, { recursive: true });
  const [own, trunk] = [makeLayer(paths, { fork: 'of-trunk' }), makeLayer(paths, { trunk: true })];
  assert.deepEqual([makerOf(paths, own), makerOf(paths, trunk)], [{ fork: 'of-trunk' }, { trunk: true }]);
  for (const name of ['workspace', 'r1', 'r1.work', 'R2']) mkdirSync(paths.tree(own, name));
  writeFileSync(paths.tree(own, 'digest'), '');
  assert.deepEqual(rootsOf(paths, own).sort(), ['r1', 'workspace']);
  assert.deepEqual(rootsOf(paths, 'none'), []);
  rmSync(paths.tree(own, 'of-fork-of-trunk'));
  assert.equal(makerOf(paths, own), undefined);
});

it('a directory is there whole or not at all, also after a making that was cut off', () => {
  mkdirSync(at('made.new'));
  write('made.new/half');
  assert.throws(() =>
    makeDirectoryWhole(at('made'), (draft) => {
      assert.deepEqual(readdirSync(draft), []);
      writeFileSync(`${draft}/secret`, '');
      throw new Error('no');
    }),
  );
  assert.deepEqual(readdirSync(at()), []);
  mkdirSync(at('made.new'));
  write('made.new/half');
  makeDirectoryWhole(at('made'), (draft) => writeFileSync(`${draft}/whole`, ''));
  assert.deepEqual([readdirSync(at()), readdirSync(at('made'))], [['made'], ['whole']]);
  makeDirectoryWhole(at('made'), () => assert.fail('it is there'));
});
