/** What the person edits meanwhile: how it enters a fork at rest or at work, when it waits, and what it clashes with. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { editsEnteredLive } from '../../base/limits/store.js';
import { prepareRoot } from '../fork-trees.js';
import { writeIndex } from '../git/git-index-file.js';
import { makeLayer } from '../store/layer-pool.js';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { readVaultMeta } from '../store/vault-meta.js';
import { type OpenFork, withMeta } from '../vault.js';
import { saveCheckpoint } from './checkpoint.js';
import { enterLive } from './enter-live.js';
import { createFork } from './forks.js';
import { addRoots } from './roots.js';
import { stateAfter, stateBefore } from './state-digest.js';
import { syncFork } from './sync.js';
import { enteredByLayers, lookAtRoots } from './trunk.js';
import { freshVault, lookAt } from './vault-fixture.js';

const { at, write, withFork, command, access, shown, writeLive } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const sync = (fork = 'main', roots?: readonly string[]) => withFork((opened) => syncFork(opened, roots), { fork });
const meta = () => readVaultMeta(access().paths.meta) ?? assert.fail();

describe('edits of the person', () => {
  it('enter once, whichever fork sees them first, and every fork later', async () => {
    write('project/own', 'mine');
    await command(put('made', 'inside'));
    await createFork(access(), 'other', 'trunk');
    write('project/own', 'edited');
    write('project/deep/new', 'new');
    const first = await sync();
    assert.deepEqual([first.entered, first.clashes, first.problems], [['deep', 'deep/new', 'own'], [], []]);
    const { position, trunk } = meta();
    const second = await sync('other');
    assert.deepEqual(second.entered, ['deep', 'deep/new', 'own']);
    assert.deepEqual([meta().position, meta().trunk, second.fork.meta.position], [position, trunk, position]);
    assert.deepEqual([(await sync()).entered, meta().position], [[], position]);
    for (const fork of ['main', 'other'])
      assert.equal((await withFork((opened) => shown(opened), { fork }))['own'], 'edited');
    rmSync(at('project/deep'), { recursive: true });
    assert.deepEqual((await sync()).entered, ['deep', 'deep/new']);
    assert.equal((await withFork((opened) => shown(opened)))['deep'], undefined);
  });

  it('clash with what the fork changed to something else, and with nothing that is the same by now', async () => {
    for (const name of ['both', 'same', 'mode', 'gone', 'touched']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['both', 'same']) put(name, 'inside')(directory);
      chmodSync(join(directory, 'mode'), 0o600);
      rmSync(join(directory, 'gone'));
      utimesSync(join(directory, 'touched'), 1, 1);
    });
    write('project/both', 'edited');
    write('project/same', 'inside');
    chmodSync(at('project/same'), 0o644);
    write('project/mode', 'edited');
    write('project/gone', 'edited');
    write('project/touched', 'edited');
    const { clashes, fork } = await sync();
    assert.deepEqual(clashes, ['both', 'gone', 'mode']);
    assert.deepEqual(fork.meta.clashes, clashes);
    const now = await withFork((opened) => shown(opened));
    assert.deepEqual(now, { both: 'inside', mode: 'mine', same: 'inside', touched: 'edited' });
    write('project/both', 'again');
    assert.deepEqual((await sync()).clashes, clashes);
  });

  it('of times alone are no news to anybody, and enter nevertheless', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    utimesSync(at('project/own'), 5, 5);
    const { entered, clashes } = await sync();
    assert.deepEqual([entered, clashes], [[], []]);
    const { position } = meta();
    assert.equal(position, 1);
    const step = JSON.parse(readFileSync(access().paths.edits(1), 'utf8'));
    assert.deepEqual(step, { paths: {}, touched: { [workspaceRoot]: ['own'] } });
  });

  it('of the top directory are followed by a fork that left it as it was', async () => {
    write('project/own', 'mine');
    await command(() => undefined);
    await createFork(access(), 'other', 'trunk');
    await command((directory) => chmodSync(directory, 0o711), { fork: 'other' });
    chmodSync(at('project'), 0o750);
    await createFork(access(), 'third', 'trunk');
    await command(put('made', 'inside'), { fork: 'third' });
    chmodSync(at('project'), 0o705);
    const third = await sync('third');
    assert.deepEqual(third.clashes, []);
    const top = third.fork.paths.tree(third.fork.meta.deltas.at(-1) ?? '', workspaceRoot);
    assert.deepEqual([statSync(top).mode & 0o777, readdirSync(top)], [0o705, ['made']]);
    chmodSync(at('project'), 0o750);
    await sync();
    await sync('other');
    const modeOf = (fork: string) =>
      withFork(({ paths, meta: { live } }) => statSync(paths.tree(live, workspaceRoot)).mode & 0o777, { fork });
    assert.equal(await modeOf('main'), 0o750);
    assert.equal((await sync()).clashes.length, 0);
    assert.deepEqual(readdirSync(at('project')), ['own']);
  });

  it('of an index that git only refreshed clash with no change of it, and what apply was making is none', async () => {
    const index = (id: string, stat: number) => {
      const flags = { stage: 0, assumeUnchanged: false, skipWorktree: false, intentToAdd: false };
      const entry = { ...flags, name: 'a', id: id.repeat(40), mode: 0o100644, stat: Buffer.alloc(40, stat) };
      return writeIndex([entry], 'sha1');
    };
    const { index: staged, other } = { index: '.git/index', other: 'sub/index' };
    const all = [staged, other];
    for (const path of all) {
      write(`project/${path}`);
      writeFileSync(at('project', path), index('a', 0));
    }
    await command((directory) => {
      for (const path of all) writeFileSync(join(directory, path), index('b', 0));
    });
    writeFileSync(at('project', staged), index('a', 1));
    writeFileSync(at('project', other), index('c', 0));
    write(`project/.ctx-${'0'.repeat(16)}.new`);
    write(`project/.ctx-${'0'.repeat(16)}.old`);
    const { entered, clashes } = await sync();
    assert.deepEqual([entered, clashes], [[`.ctx-${'0'.repeat(16)}.old`, staged, other], [other]]);
  });

  it('that have no record any more are found by the layers, and clash all the same', async () => {
    for (const name of ['a', 'b']) write(`project/${name}`, 'mine');
    await command(put('a', 'inside'));
    await createFork(access(), 'other', 'trunk');
    for (const name of ['a', 'b']) write(`project/${name}`, 'edited');
    await sync('other');
    rmSync(access().paths.edits(1));
    const { entered, clashes } = await sync();
    assert.deepEqual([entered, clashes], [['a', 'b'], ['a']]);
    await withFork(async (fork) => {
      const [base] = fork.meta.base;
      const stack = { position: 0, base: [base ?? ''], deltas: fork.meta.deltas };
      assert.deepEqual([...(await enteredByLayers(fork, fork.vault, stack))], [[workspaceRoot, ['a', 'b']]]);
      const uncopied = { ...fork.vault, uncopied: true } as const;
      assert.deepEqual([...(await enteredByLayers(fork, uncopied, stack))], [[workspaceRoot, ['a']]]);
    });
  });
});

it('a checkpoint of the state that a fork is in moves along, unless an apply of it was cut off', async () => {
  write('project/own', 'mine');
  await command(put('made', 'inside'));
  const layer = await withFork((opened) => {
    const { fork } = saveCheckpoint(opened, { automatic: true, reason: 'x' });
    const applied = makeLayer(fork.paths, { fork: 'main' });
    withMeta(fork, { ...fork.meta, applied: [applied] }, { durable: false });
    return applied;
  });
  const mark = (name: string) => access().paths.tree(layer, name);
  let position = 0;
  for (const [name, moves] of [
    ['', true],
    ['writing', false],
    ['cut', false],
  ] as const) {
    if (name !== '') writeFileSync(mark(name), '');
    const before = await withFork((fork) => saveCheckpoint(fork, { automatic: true, reason: 'x' }).checkpoint);
    write('project/own', `edited ${name}`);
    const { fork } = await sync();
    position += 1;
    assert.equal(fork.meta.position, position);
    const after = fork.meta.checkpoints.find(({ id }) => id === before.id);
    const { base, deltas } = moves ? fork.meta : before;
    const expected = [moves ? position : position - 1, base, deltas];
    assert.deepEqual([after?.position, after?.base, after?.deltas], expected, name);
    if (name !== '') rmSync(mark(name));
  }
});

describe('a further directory', () => {
  it('is imported once, with its own edits, conflicts and paths, and is a part of every fork', async () => {
    write('project/own', 'mine');
    write('more/own', 'mine');
    await otherFork();
    const key = rootKey(at('more'));
    const added = await withFork((fork) => addRoots(fork, { paths: [at('more')] }));
    assert.deepEqual([added.keys, added.imported, added.problems], [[key], [key], []]);
    assert.deepEqual(added.fork.vault.roots, { [workspaceRoot]: at('project'), [key]: at('more') });
    assert.ok(added.fork.vault.known?.[key] !== undefined);
    const again = await withFork((fork) => addRoots(fork, { paths: [at('more')] }));
    assert.deepEqual([again.keys, again.imported], [[key], []]);
    const work = (act: (directory: string) => void) =>
      withFork(async (opened) => {
        const { fork } = await syncFork(saveCheckpoint(opened, { automatic: true, reason: 'x' }).fork, [
          workspaceRoot,
          key,
        ]);
        await writeLive(fork, act, key);
        return fork;
      });
    await work(put('own', 'inside'));
    write('more/own', 'edited');
    write('more/new', 'edited');
    write('project/new', 'edited');
    const only = await sync('main', [key]);
    assert.deepEqual([only.entered, only.clashes], [[`${at('more')}/new`, `${at('more')}/own`], [`${at('more')}/own`]]);
    assert.deepEqual((await sync()).entered, ['new']);
    await sync('other', [workspaceRoot, key]);
    assert.deepEqual(await withFork((fork) => shown(fork, key), { fork: 'other' }), { new: 'edited', own: 'edited' });
    assert.deepEqual(lookAt(at('more')), { new: 'edited', own: 'edited' });
  });

  it('that cannot be taken in is no root', async () => {
    write('project/own', 'mine');
    await assert.rejects(
      withFork((fork) => addRoots(fork, { paths: [at('none')] })),
      { code: 'ENOENT' },
    );
    assert.deepEqual(Object.keys(meta().roots), [workspaceRoot]);
  });
});

async function otherFork() {
  await sync();
  await createFork(access(), 'other', 'trunk');
}

describe('a fork at work', () => {
  const enter = (
    fork: OpenFork,
    looked: readonly string[] | undefined,
    holders: readonly number[] | undefined = [],
    more = {},
  ) =>
    lookAtRoots(fork, [workspaceRoot], looked === undefined ? undefined : new Map([[workspaceRoot, looked]])).then(
      (found) => enterLive(fork, { looked: found, holders: () => holders, ...more }),
    );

  it('takes over edits where nothing of it is mounted, and stands on the newer trunk with its mounts', async () => {
    write('project/own', 'mine');
    await command(put('made', 'inside'));
    await withFork(async (fork) => {
      assert.deepEqual(await enter(fork, undefined), { fork, entered: [], clashes: [], problems: [], waiting: [] });
      write('project/own', 'edited');
      const entered = await enter(fork, undefined);
      assert.deepEqual([entered.entered, entered.waiting, entered.clashes], [['own'], [], []]);
      const { position, base, deltas, live, mounted } = entered.fork.meta;
      assert.deepEqual([position, base, deltas, live], [1, meta().trunk, fork.meta.deltas, fork.meta.live]);
      assert.deepEqual(mounted, [...fork.meta.base, ...fork.meta.deltas], 'what is mounted are the layers of before');
      write('project/own', 'again');
      const later = await enter(entered.fork, undefined);
      assert.deepEqual([later.entered, later.fork.meta.mounted], [['own'], mounted]);
    });
  });

  it('leaves edits waiting where it is not settled who has it mounted, where they are many, and where nothing is copied', async () => {
    write('project/own', 'mine');
    await command(() => undefined);
    write('project/own', 'edited');
    await withFork(async (fork) => {
      const unsettled = await enterLive(fork, {
        looked: await lookAtRoots(fork, [workspaceRoot]),
        holders: () => undefined,
      });
      assert.deepEqual([unsettled.entered, unsettled.waiting, unsettled.fork.meta.position], [[], ['own'], 0]);
      const seen = await enter(fork, undefined);
      assert.deepEqual([seen.entered, seen.waiting], [['own'], []], 'what an earlier look found is not forgotten');
      const many = Array.from({ length: editsEnteredLive + 1 }, (_, index) => `n${index}`);
      for (const [paths, vault] of [
        [many, fork.vault],
        [['own'], { ...fork.vault, uncopied: true }],
      ] as const) {
        const found = await enterLive(
          { ...fork, vault },
          { looked: new Map([[workspaceRoot, paths]]), holders: () => [] },
        );
        assert.deepEqual([found.entered, found.waiting], [[], paths]);
      }
    });
  });

  it('keeps the conflicts that it has', async () => {
    for (const name of ['both', 'own']) write(`project/${name}`, 'mine');
    await command(put('both', 'inside'));
    write('project/both', 'edited');
    assert.deepEqual((await sync()).clashes, ['both']);
    await withFork(async (fork) => {
      prepareRoot(fork, workspaceRoot);
      write('project/own', 'edited');
      const { clashes, entered, fork: after } = await enter(fork, undefined);
      assert.deepEqual([entered, clashes, after.meta.clashes], [['own'], ['both'], ['both']]);
    });
  });

  it('says what could not be put into it, and is cancelled with its caller', async () => {
    write('project/own', 'mine');
    await command(() => undefined);
    write('project/own', 'edited');
    await withFork(async (fork) => {
      // Of no process that has it mounted.
      const looked = await lookAtRoots(fork, [workspaceRoot]);
      const found = await enterLive(fork, { looked, holders: () => [process.pid] });
      assert.deepEqual([found.entered, found.waiting, found.fork.meta.position], [[], ['own'], 0]);
      const signal = AbortSignal.abort();
      await assert.rejects(enterLive(fork, { looked: new Map(), holders: () => [process.pid], signal }), {
        code: 'ECANCELED',
      });
    });
  });
});

describe('the digest of a state', () => {
  it('is another one by any layer, the vault, and what was written last, and null where a layer cannot be read', async () => {
    write('project/own', 'mine');
    await command(put('a', 'a'));
    const found = await withFork(async (fork) => {
      const all = [await stateBefore(fork), await stateAfter(fork), await stateAfter(fork, false)];
      assert.equal(all[0], all[2]);
      const frozen = saveCheckpoint(fork, { automatic: true, reason: 'x' }).fork;
      assert.deepEqual(
        [await stateBefore(frozen), await stateAfter(frozen)],
        [all[1], all[1]],
        'a layer is the same frozen or not',
      );
      await writeLive(frozen, put('b', 'b'));
      all.push(await stateAfter(frozen), await stateBefore({ ...frozen, id: '0'.repeat(16) }));
      all.push(await stateBefore({ ...frozen, meta: { ...frozen.meta, base: ['other'] } }));
      const file = access().paths.tree(frozen.meta.deltas[0] ?? '', 'digest');
      assert.match(readFileSync(file, 'utf8'), /^[0-9a-f]{64}\n$/);
      return all;
    });
    for (const digest of found) assert.match(digest ?? '', /^[0-9a-f]{64}$/);
    assert.equal(new Set(found).size, found.length - 1);
    await withFork(async (fork) => {
      const [delta = ''] = saveCheckpoint(fork, { automatic: true, reason: 'x' }).fork.meta.deltas.slice(-1);
      const next = { ...fork, meta: { ...fork.meta, deltas: [delta] } };
      const file = access().paths.tree(delta, 'digest');
      writeFileSync(file, 'large\n');
      assert.equal(await stateBefore(next), null);
      mkdirSync(access().paths.layer('damaged'));
      const damaged = { ...fork, meta: { ...fork.meta, deltas: ['damaged'] } };
      const digestFile = access().paths.tree('damaged', 'digest');
      writeFileSync(digestFile, 'x\n');
      assert.match((await stateBefore(damaged)) ?? '', /^[0-9a-f]{64}$/);
      assert.ok(existsSync(digestFile));
    });
  });
});
