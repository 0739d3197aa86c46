/** Whole trees in the walker's lists: `D/` is the directory D with all that the layers show in it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import type { TreeStep } from './tree.js';
import { differences, freshPlace, program, tree } from './tree-fixture.js';

describe('a whole tree', () => {
  const { at, write } = freshPlace();

  function prepare(): void {
    for (const name of ['d/a', 'd/e/b', 'd/e/c', 'd/f/g/h', 'single']) write(`upper/${name}`);
    symlinkSync('a', at('upper/d/link'));
    // Below, and deleted above.
    write('below/d/e/gone');
    assert.equal(spawnSync('mknod', [at('upper/d/e/gone'), 'c', '0', '0']).status, 0);
    mkdirSync(at('origin'));
  }

  const names = ['d', 'd/a', 'd/e', 'd/e/b', 'd/e/c', 'd/f', 'd/f/g', 'd/f/g/h', 'd/link'];
  const uppers = () => [at('upper'), at('below')];
  const put = (path: string): TreeStep => ({ action: 'put', path });

  it('is named, put, compared, mirrored and removed as its entries are one by one', {
    skip: process.getuid?.() !== 0,
  }, async () => {
    prepare();
    assert.deepEqual(await tree.names(uppers(), ['d', 'missing']), names);
    mkdirSync(at('kept'));
    const done: string[] = [];
    const root = at('origin');
    const options = { root, expected: [at('kept')], durable: true, onDone: (path: string) => done.push(path) };
    await tree.apply({ ...options, uppers: uppers(), plan: [put('d/')] });
    assert.deepEqual(done.sort(), [...names].sort());
    mkdirSync(at('single-steps'));
    await tree.apply({ ...options, root: at('single-steps'), uppers: uppers(), plan: names.map(put) });
    assert.deepEqual(await differences(at('origin'), at('single-steps')), []);

    const compare = () => tree.compare({ layers: uppers(), root, paths: ['d/'], differing: true });
    assert.deepEqual([...(await compare())], []);
    await tree.mirror({ root, into: at('mirrored'), layers: [], paths: ['d/'], shown: uppers() });
    assert.deepEqual(await differences(at('mirrored'), at('origin')), []);

    writeFileSync(at('origin/d/e/stranger'), 'theirs');
    writeFileSync(at('origin/d/a'), 'changed');
    rmSync(at('origin/d/f/g/h'));
    assert.deepEqual(Object.fromEntries(await compare()), {
      'd/a': 'different',
      'd/e/stranger': 'only-root',
      'd/f/g/h': 'only-layers',
    });
    // What is not what was looked at stays, and so does what holds it.
    const { clashes } = await tree.apply({
      root,
      uppers: [at('kept')],
      plan: [{ action: 'remove', path: 'd/' }],
      expected: uppers(),
    });
    assert.deepEqual([...clashes].sort(), ['d', 'd/a', 'd/e']);
    assert.equal(readFileSync(at('origin/d/a'), 'utf8'), 'changed');
    assert.deepEqual(readdirSync(at('origin/d')).sort(), ['a', 'e']);
    assert.deepEqual(readdirSync(at('origin/d/e')), ['stranger']);
  });

  it('is what the one or the other layers show of it, among paths of which each is itself, in their order', async () => {
    const kept = ['t/in', 't/in/a', 't/in/b'];
    for (const path of ['t/in/a', 't/in/b', 'first', 'last', 'only/x']) write(`kept/${path}`);
    for (const path of ['t/in/c', 'first', 'last']) write(`upper/${path}`);
    const told = async (action: TreeStep['action'], paths: readonly string[], expected: readonly string[]) => {
      for (const side of ['origin', 'made']) spawnSync('rm', ['-rf', at(side)]);
      assert.equal(spawnSync('cp', ['-a', at(action === 'remove' ? 'kept' : 'upper'), at('origin')]).status, 0);
      const done: string[] = [];
      const plan = paths.map((path) => ({ action, path }));
      await tree.apply({
        uppers: [at('upper')],
        root: at('origin'),
        plan,
        expected,
        onDone: (path) => done.push(path),
      });
      return done;
    };
    const list = ['first', 't/', 'last', 't/in/'];
    const put = ['first', 't', 't/in', 't/in/c', 'last', 't/in', 't/in/c'];
    assert.deepEqual(await told('put', list, []), put, 'of the layers that are put');
    const removed = ['first', ...[...kept].reverse(), 't', 'last'];
    assert.deepEqual(await told('remove', ['first', 't/', 'last'], [at('kept')]), removed, 'of what was looked at');
    assert.deepEqual(await told('remove', ['missing/'], []), ['missing'], 'itself, where none shows it');
    await tree.mirror({
      root: at('kept'),
      into: at('made'),
      layers: [],
      paths: list,
      shown: [at('kept')],
    });
    assert.deepEqual(await differences(at('kept'), at('made')).then((all) => all.map(({ path }) => path)), [
      'only',
      'only/x',
    ]);
    const names = await tree.names([at('upper'), at('kept')], ['t', 'missing', 'first', 'only']);
    assert.deepEqual(names, ['t', 't/in', 't/in/a', 't/in/b', 't/in/c', 'only', 'only/x']);
    for (const words of [
      ['names', '--layer', at('kept')],
      ['scan', at('kept'), '--trees'],
      ['diff', '--upper', at('kept'), '--trees'],
    ])
      for (const path of ['t', '/', 't//', '../', './', 't/../']) {
        const { status, stderr } = spawnSync(program, words, { input: `${path}\0` });
        assert.deepEqual([status, stderr.toString().split('\0')[0]], [1, 'EINVAL'], `${words[0]} ${path}`);
      }
  });

  it('is left out of a look but for what else is there, and not entered by a list that is closed to it', async () => {
    for (const name of ['d/a', 'd/b']) write(`upper/${name}`);
    mkdirSync(at('origin'));
    await tree.scan({ root: at('origin'), signatures: at('before') });
    for (const name of ['d/a', 'd/b', 'd/c', 'e']) write(`origin/${name}`);
    const known = { trees: ['d/'], written: [at('upper')], kept: [] };
    const drift = await tree.scan({ root: at('origin'), signatures: at('after'), against: at('before'), known });
    assert.deepEqual(
      drift.map(({ path }) => path),
      ['d/c', 'e'],
    );
    const list = await tree.diff({ uppers: [at('origin')], lowers: [], closed: ['d/'] });
    assert.deepEqual(
      list.map(({ path }) => path),
      ['d', 'e'],
    );
  });

  it('follows no link, and one that cannot be read differs', async () => {
    write('upper/d/a');
    write('outside/a');
    mkdirSync(at('origin'));
    symlinkSync(at('outside'), at('origin/d'));
    const compare = () => tree.compare({ layers: [at('upper')], root: at('origin'), paths: ['d/'], differing: true });
    assert.deepEqual(
      [...(await compare())],
      [
        ['d', 'different'],
        ['d/a', 'only-layers'],
      ],
    );
    mkdirSync(at('none'));
    await tree.apply({
      root: at('origin'),
      uppers: [at('none')],
      plan: [{ action: 'remove', path: 'd/' }],
      expected: [at('upper')],
    });
    assert.ok(existsSync(at('outside/a')));
    rmSync(at('origin/d'));
    mkdirSync(at('origin/d'));
    chmodSync(at('origin/d'), 0o755);
    assert.deepEqual([...(await compare())], [['d/a', 'only-layers']]);
  });
});
