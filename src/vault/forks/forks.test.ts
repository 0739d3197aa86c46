/** Forks of the trunk, of forks in every state and of checkpoints: what each shows, and what is left of it when it goes. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { prepareHome, prepareTemporary } from '../fork-trees.js';
import { type ForkMeta, readForkMeta } from '../store/fork-meta.js';
import { workspaceRoot } from '../store/layout.js';
import { readNewest } from '../store/state-file.js';
import { readVaultMeta } from '../store/vault-meta.js';
import { tree } from '../tree/tree-fixture.js';
import { saveCheckpoint } from './checkpoint.js';
import { createFork, deleteFork, dropFork, existingVault, forkNames, listForks, useFork } from './forks.js';
import { syncFork } from './sync.js';
import { freshVault } from './vault-fixture.js';

const { at, write, access, withFork, command, shown } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const showing = (fork: string) => withFork((opened) => shown(opened), { fork });
const refused = (code: string, act: () => unknown) => assert.rejects(async () => act(), { code });

/** Main has two changes, a checkpoint between them that a person named, and a conflict. */
async function work() {
  write('project/own', 'mine');
  await command(put('one', '1'));
  await withFork((fork) => saveCheckpoint(fork, { automatic: false, reason: 'test', name: 'first' }));
  await command(put('two', '2'));
  write('project/one', 'theirs');
  await command(put('three', '3'));
}

it('where there is no vault, or none any more, nothing makes a directory of one', async () => {
  const { directory, lock } = access().paths;
  await refused('ENOENT', () => useFork(access(), 'main'));
  await refused('ENOENT', () => createFork(access(), 'a', 'trunk'));
  assert.equal(existsSync(directory), false);
  await command(() => undefined);
  const held = openSync(lock, 'r+');
  await tree.lock({ descriptor: held, wait: true });
  const waiting = [
    refused('ENOENT', () => createFork(access(), 'a', 'trunk')),
    refused('ENOENT', () => useFork(access(), 'main')),
  ];
  renameSync(directory, at('away'));
  closeSync(held);
  await Promise.all(waiting);
  assert.equal(existsSync(directory), false);
});

describe('a fork starts', () => {
  it('from the directory, from a fork, or from a checkpoint by number or name, with its layers and no copy', async () => {
    await work();
    const main = readForkMeta(access().paths.fork('main').directory);
    assert.deepEqual(main?.clashes, ['one']);
    const [, byName] = [
      await createFork(access(), 'a', 'trunk'),
      await createFork(access(), 'b', { fork: 'main', checkpoint: 'first' }),
    ];
    const byNumber = await createFork(access(), 'c', { fork: 'main', checkpoint: '1' });
    const whole = await createFork(access(), 'd', { fork: 'main' });
    assert.deepEqual(await showing('a'), { one: 'theirs', own: 'mine' });
    assert.deepEqual(await showing('b'), { one: '1', own: 'mine' });
    assert.deepEqual(await showing('c'), { own: 'mine' });
    assert.deepEqual(await showing('d'), { one: '1', own: 'mine', three: '3', two: '2' });
    assert.deepEqual(
      [byName.meta.from, byNumber.meta.from, whole.meta.from, whole.meta.clashes, byName.meta.clashes],
      ['main@first', 'main@1', 'main', ['one'], []],
    );
    const after = readForkMeta(access().paths.fork('main').directory);
    assert.notEqual(after?.live, main?.live, 'what both show is written by neither');
    assert.deepEqual(whole.meta.deltas, after?.deltas);
    await command(put('three', 'other'), { fork: 'd' });
    assert.equal((await showing('main'))['three'], '3');
  });

  it('from one that somebody uses with a copy of what is written there', async () => {
    await work();
    await withFork(async (fork) => {
      const before = fork.meta;
      const { meta, problems } = await createFork(access(), 'copy', { fork: 'main' });
      assert.deepEqual([meta.from, meta.clashes, meta.position, problems], ['main', ['one'], before.position, []]);
      assert.deepEqual(meta.deltas.slice(0, -1), before.deltas);
      assert.ok(!meta.deltas.includes(before.live), 'its live layer is mounted, and goes on changing');
      assert.deepEqual(readForkMeta(fork.place.directory), before);
      // In its place, as a program writes: what was copied is another file.
      put('three', 'later')(fork.paths.tree(before.live, workspaceRoot));
    });
    assert.deepEqual(await showing('copy'), { one: '1', own: 'mine', three: '3', two: '2' });
    await createFork(access(), 'new', 'trunk');
    const ofNew = () => createFork(access(), 'of-new', { fork: 'new' });
    const { meta } = await withFork(ofNew, { fork: 'new' });
    assert.deepEqual(meta.deltas, [], 'nobody has mounted it yet');
  });

  it('with the first name that is free where none was given', async () => {
    await work();
    const names = [];
    for (let count = 0; count < 3; count += 1) names.push((await createFork(access(), undefined, 'trunk')).name);
    await deleteFork(access(), 'fork-2');
    names.push((await createFork(access(), undefined, 'trunk')).name);
    assert.deepEqual(names, ['fork-1', 'fork-2', 'fork-3', 'fork-2']);
  });

  it('from nothing else, and under no name that is taken or that leads out of the store', async () => {
    await refused('ENOENT', () => createFork(access(), 'a', 'trunk'));
    await work();
    for (const name of ['', '.', '..', '../a', 'a/b', '.a', '-a', 'origin', 'x'.repeat(65), 'a\nb', 'a b'])
      await refused('EINVAL', () => createFork(access(), name, 'trunk'));
    await refused('EEXIST', () => createFork(access(), 'main', 'trunk'));
    for (const fork of ['none', '../main', '']) {
      await refused('ENOENT', () => createFork(access(), 'a', { fork }));
      await refused('ENOENT', () => createFork(access(), 'a', { fork, checkpoint: '1' }));
    }
    await refused('ENOENT', () => createFork(access(), 'a', { fork: 'main', checkpoint: '99' }));
    await createFork(access(), 'x'.repeat(64), 'trunk');
    assert.deepEqual(forkNames(access()), ['main', 'x'.repeat(64)]);
  });

  it('under the name of one whose state is lost only when that was deleted: what it made is kept for it', async () => {
    await withFork(() => undefined);
    const { name } = await createFork(access(), undefined, 'trunk');
    const { directory } = access().paths.fork(name);
    for (const each of readdirSync(directory)) if (each.startsWith('state')) truncateSync(join(directory, each));
    await refused('EEXIST', () => createFork(access(), name, 'trunk'));
    assert.notEqual((await createFork(access(), undefined, 'trunk')).name, name);
    await deleteFork(access(), name);
    assert.equal((await createFork(access(), undefined, 'trunk')).name, name);
  });
});

describe('forks are listed', () => {
  it('by name, with what each has', async () => {
    assert.deepEqual(forkNames(access()), []);
    assert.throws(() => existingVault(access()), { code: 'ENOENT' });
    await work();
    await createFork(access(), 'b', { fork: 'main', checkpoint: 'first' });
    await createFork(access(), 'a', 'trunk');
    mkdirSync(join(access().paths.forks, 'empty'));
    mkdirSync(join(access().paths.forks, '.hidden'));
    const about = listForks(access()).map(({ created: _created, ...each }) => each);
    const { base, deltas } = readForkMeta(access().paths.fork('main').directory) as ForkMeta;
    const trunk = existingVault(access()).trunk.length;
    assert.deepEqual(about, [
      { name: 'a', current: false, from: undefined, layers: trunk, checkpoints: 0 },
      { name: 'b', current: false, from: 'main@first', layers: 2, checkpoints: 0 },
      { name: 'main', current: true, from: undefined, layers: base.length + deltas.length, checkpoints: 4 },
    ]);
  });

  it('and the one in use is the one that was chosen, and main again when that is deleted', async () => {
    await work();
    for (const name of ['a', 'b']) await createFork(access(), name, 'trunk');
    const current = () => readVaultMeta(access().paths.meta)?.current;
    await refused('ENOENT', () => useFork(access(), 'none'));
    await refused('ENOENT', () => useFork(access(), '../forks/a'));
    await useFork(access(), 'a');
    await deleteFork(access(), 'b');
    assert.deepEqual([current(), listForks(access()).find((each) => each.current)?.name], ['a', 'a']);
    await command(put('here', 'x'));
    assert.equal((await showing('a'))['here'], 'x');
    await deleteFork(access(), 'a');
    assert.equal(current(), 'main');
    assert.deepEqual(forkNames(access()), ['main']);
  });
});

describe('a fork is deleted', () => {
  it('but neither main, nor one that is not there, nor one that somebody uses', async () => {
    await work();
    await createFork(access(), 'a', 'trunk');
    await refused('EINVAL', () => deleteFork(access(), 'main'));
    for (const name of ['none', '../main', '.']) await refused('ENOENT', () => deleteFork(access(), name));
    let ended = false;
    const deleted = await withFork(
      async () => {
        const waiting = deleteFork(access(), 'a').then(() => assert.ok(ended, 'it was in use'));
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.ok(existsSync(access().paths.fork('a').directory));
        ended = true;
        return [waiting];
      },
      { fork: 'a' },
    );
    await Promise.all(deleted);
    assert.ok(!existsSync(access().paths.fork('a').directory));
  });

  it('also where its state is damaged', async () => {
    await work();
    await createFork(access(), 'a', 'trunk');
    const { directory } = access().paths.fork('a');
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
    await deleteFork(access(), 'a');
    assert.ok(!existsSync(directory));
  });
});

it('a fork that is dropped has no change, no checkpoint, and none of what its commands left beside it', async () => {
  await work();
  const left = await withFork(async (fork) => {
    const { home, temporary, caches, runs } = fork.place;
    prepareHome(fork);
    prepareTemporary(fork);
    for (const directory of [home, temporary, caches, runs]) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'left'), 'x');
    }
    const dropped = await dropFork(fork);
    assert.equal(readForkMeta(fork.place.directory)?.live, dropped.meta.live);
    assert.equal(readNewest(fork.place.directory)?.boot, undefined, 'a power cut does not bring it back');
    const { created, from, deltas, checkpoints, clashes, base, position, nextCheckpoint } = dropped.meta;
    const { trunk, position: now } = dropped.vault;
    assert.deepEqual(
      { created, from, deltas, checkpoints, clashes, base, position, nextCheckpoint },
      {
        created: fork.meta.created,
        from: undefined,
        deltas: [],
        checkpoints: [],
        clashes: [],
        base: trunk,
        position: now,
        nextCheckpoint: 1,
      },
    );
    assert.deepEqual([existsSync(caches), existsSync(runs)], [false, false]);
    return [home, temporary].map((directory) => readdirSync(directory));
  });
  assert.deepEqual(left, [[], []]);
  assert.deepEqual(await showing('main'), { one: 'theirs', own: 'mine' });
  await withFork((fork) => syncFork(fork));
  assert.equal(existsSync(at('project/two')), false);
});
