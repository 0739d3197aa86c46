/** An apply and its undo: what is written of a fork, what stays where, and that no work of the person's is lost by either. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { findCheckpoint, rollBackFork, saveCheckpoint } from '../forks/checkpoint.js';
import { createFork } from '../forks/forks.js';
import { addRoots } from '../forks/roots.js';
import { syncFork } from '../forks/sync.js';
import { freshVault, lookAt, tree } from '../forks/vault-fixture.js';
import { type ForkMeta, readForkMeta } from '../store/fork-meta.js';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { cutMarkOf, isBeingWritten, isCutOff, markOf } from '../store/writing-marks.js';
import type { Step } from '../tree/tree.js';
import { inspectVault } from '../upkeep/fsck.js';
import { readSteps, stepsFile, writeSteps } from './applied-steps.js';
import { type ApplyRequest, applyFork } from './apply.js';
import { type UndoRequest, undoApply } from './undo-apply.js';

const { at, write, withFork, command, access, shown, writeLive } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const apply = (more: Partial<ApplyRequest> = {}) =>
  withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true, ...more }));
const undo = (more: UndoRequest = {}) => withFork((fork) => undoApply(fork, more));
const home = () => lookAt(at('project'));
const inFork = () => withFork((fork) => shown(fork));
const state = () => readForkMeta(access().paths.fork('main').directory) as ForkMeta;
const listed = (steps: readonly Step[]) => steps.map(({ action, path }) => `${action} ${path}`);

beforeEach(() => {
  tree.before = undefined;
  tree.done.length = 0;
});

/** The person has `own`, `both` and `dir/x`; the fork changes all, and the person `both` as well. */
async function conflict() {
  for (const name of ['own', 'both', 'dir/x']) write(`project/${name}`, 'mine');
  await command((directory) => {
    for (const name of ['own', 'both', 'new']) put(name, 'inside')(directory);
    rmSync(join(directory, 'dir'), { recursive: true });
  });
  write('project/both', 'edited');
}

describe('an apply', () => {
  it('with a conflict writes nothing at all, until a side is chosen for it', async () => {
    await conflict();
    const before = home();
    const refused = await apply();
    assert.deepEqual([refused.done, refused.undecided, refused.conflicts, home()], [false, ['both'], ['both'], before]);
    const planned = await apply({ dryRun: true, conflicts: 'theirs' });
    assert.deepEqual([planned.done, planned.undecided, home()], [false, [], before]);
    const all = ['remove dir/x', 'remove dir', 'put both', 'put new', 'put own'];
    assert.deepEqual(listed(planned.steps), all);
    const ours = await apply({ theirs: ['both'], dryRun: true, conflicts: 'ours' });
    assert.deepEqual(listed(ours.steps), all, 'the longest path decides');
    const steps: string[] = [];
    const plans: string[][] = [];
    const done = await apply({
      ours: ['both'],
      onStep: (step) => steps.push(listed([step])[0] ?? ''),
      onPlan: (plan) => plans.push(listed(plan)),
    });
    const written = all.filter((step) => step !== 'put both');
    assert.deepEqual([done.done, done.written, steps, plans], [true, [], written, [written]]);
    const expected = { both: 'edited', new: 'inside', own: 'inside' };
    assert.deepEqual([home(), await inFork()], [expected, expected]);
    assert.deepEqual([state().clashes, state().deltas, (await apply()).steps], [[], [], []]);
  });

  it('of some paths leaves the others in the fork, with their conflicts, and hides what it has written out', async () => {
    await conflict();
    await command(put('later', 'inside'));
    const partly = await apply({ only: ['new', 'later', 'none'] });
    assert.deepEqual(
      [partly.done, partly.heldBack, partly.unmatched],
      [true, ['both', 'dir', 'dir/x', 'own'], ['none']],
    );
    assert.deepEqual(home(), {
      both: 'edited',
      dir: '/',
      'dir/x': 'mine',
      later: 'inside',
      new: 'inside',
      own: 'mine',
    });
    assert.deepEqual(await inFork(), { both: 'inside', later: 'inside', new: 'inside', own: 'inside' });
    assert.deepEqual([state().clashes, state().deltas.length], [['both'], 1]);
    assert.deepEqual(
      state().checkpoints.map(({ undone }) => undone),
      [true, true, true],
    );
    const nothing = await apply({ only: ['none'] });
    assert.deepEqual([nothing.done, nothing.steps], [true, []]);
    assert.deepEqual(state().checkpoints.at(-1)?.undone, undefined, 'nothing was written out');
    assert.equal((await apply({ conflicts: 'theirs' })).complete, true);
    assert.deepEqual(home(), await inFork());
  });

  it('holds back what is sensitive, with the fork as it was for all else', async () => {
    write('project/own', 'mine');
    await command((directory) => {
      put('own', 'inside')(directory);
      mkdirSync(join(directory, '.husky'));
      put('.husky/pre-commit', 'evil')(directory);
    });
    const held = await apply({ allowSensitive: false });
    assert.deepEqual(
      [held.done, held.complete, held.sensitive.map(({ path }) => path)],
      [true, false, ['.husky/pre-commit']],
    );
    assert.deepEqual(home(), { own: 'inside', '.husky': '/' });
    assert.equal((await inFork())['.husky/pre-commit'], 'evil');
    assert.deepEqual((await apply()).withheld, []);
    assert.equal(home()['.husky/pre-commit'], 'evil');
  });

  it('keeps on the disk what it replaces before it writes, marks itself meanwhile, and is settled on the disk', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    const seen: unknown[] = [];
    tree.done.length = 0;
    await apply({
      onPlan: () => tree.done.push('plan'),
      onStep: () => {
        const layer = state().applied?.at(-1) ?? '';
        seen.push(
          existsSync(markOf(access(), layer)),
          lookAt(access().paths.tree(layer, workspaceRoot))['own'],
          readSteps(access(), layer)?.roots,
        );
      },
    });
    assert.deepEqual(seen, [true, 'mine', { [workspaceRoot]: [{ action: 'put', path: 'own' }] }]);
    const [store, project] = [at('store'), at('project')];
    const order = tree.done.filter((each) =>
      [`sync ${store}`, 'plan', `apply ${project}`, `mirror ${project}`].includes(each),
    );
    assert.deepEqual(order, [
      `mirror ${project}`,
      `sync ${store}`,
      'plan',
      `apply ${project}`,
      `mirror ${project}`,
      `sync ${store}`,
    ]);
    assert.equal(isBeingWritten(access(), state().applied?.at(-1) ?? ''), false);
    assert.deepEqual(await withFork((fork) => inspectVault(fork)), []);
  });

  it('begins again where the person saves before it writes, and gives up where they do not stop', async () => {
    for (const [saves, expected] of [
      [1, ['own']],
      [Number.POSITIVE_INFINITY, ['own']],
    ] as const) {
      write('project/own', 'mine');
      write('project/other', `mine ${saves}`);
      await command((directory) => {
        put('own', `inside ${saves}`)(directory);
        put('other', `inside ${saves}`)(directory);
      });
      let count = 0;
      tree.before = (job, directory) => {
        if (job !== 'mirror' || directory !== at('project') || count >= saves) return;
        count += 1;
        write('project/own', `saved ${count}`);
      };
      const found = await apply();
      tree.before = undefined;
      assert.deepEqual([found.done, found.undecided], [false, expected]);
      assert.deepEqual([home()['own'], home()['other']], [`saved ${count}`, `mine ${saves}`]);
      assert.ok(saves === 1 || (count > 1 && count < 20));
      assert.equal((await apply({ conflicts: 'theirs' })).done, true);
      assert.deepEqual(home(), await inFork());
    }
  });

  it('leaves what the person saves while it writes, says so, and the rest can be undone alone', async () => {
    for (const name of ['a', 'b', 'c']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['a', 'b', 'c']) put(name, 'inside')(directory);
    });
    const met = await apply({ onPlan: () => write('project/b', 'saved') });
    assert.deepEqual([met.done, met.undecided, listed(met.written)], [false, ['b'], ['put a', 'put c']]);
    assert.deepEqual(home(), { a: 'inside', b: 'saved', c: 'inside' });
    const layer = state().applied?.at(-1) ?? '';
    assert.deepEqual(listed(readSteps(access(), layer)?.roots[workspaceRoot] ?? []), ['put a', 'put c']);
    assert.deepEqual([isBeingWritten(access(), layer), isCutOff(access(), layer)], [false, false]);
    assert.deepEqual((await apply()).undecided, ['b']);
    const undone = await undo();
    assert.deepEqual(
      [undone.done, listed(undone.written), home()],
      [true, ['put a', 'put c'], { a: 'mine', b: 'saved', c: 'mine' }],
    );
    assert.deepEqual([await inFork(), state().clashes], [{ a: 'inside', b: 'inside', c: 'inside' }, ['b']]);
  });

  it('of two directories writes both, and tells each by its own paths', async () => {
    write('project/own', 'mine');
    write('more/own', 'mine');
    const key = rootKey(at('more'));
    await withFork(async (opened) => {
      const added = await addRoots(opened, { paths: [at('more')] });
      const { fork } = await syncFork(saveCheckpoint(added.fork, { automatic: true, reason: 'x' }).fork, [
        workspaceRoot,
        key,
      ]);
      await writeLive(fork, put('own', 'inside'));
      await writeLive(fork, put('own', 'inside'), key);
    });
    const other = join(at('more'), 'own');
    const partly = await apply({ only: [other], onStep: ({ path }) => assert.equal(path, other) });
    assert.deepEqual([listed(partly.steps), partly.heldBack], [[`put ${other}`], ['own']]);
    assert.deepEqual([lookAt(at('more')), home()], [{ own: 'inside' }, { own: 'mine' }]);
    await apply();
    assert.deepEqual(home(), { own: 'inside' });
    assert.deepEqual(listed((await undo()).written), ['put own']);
    assert.deepEqual(listed((await undo()).written), [`put ${other}`]);
    assert.deepEqual([lookAt(at('more')), home()], [{ own: 'mine' }, { own: 'mine' }]);
  });

  it('gives times alone where only they differ, and takes them back', async () => {
    write('project/own', 'mine');
    utimesSync(at('project/own'), 100, 100);
    const { paths, meta } = await command(() => undefined);
    const copy = join(paths.tree(meta.live, workspaceRoot), 'own');
    writeFileSync(copy, 'mine');
    utimesSync(copy, 200, 200);
    const before = Date.now() - 60_000;
    const found = await apply();
    assert.deepEqual([found.steps, found.done], [[], true]);
    assert.ok(statSync(at('project/own')).mtimeMs > before);
    const layer = state().applied?.at(-1) ?? '';
    assert.deepEqual(readSteps(access(), layer)?.touched, { [workspaceRoot]: ['own'] });
    assert.equal((await undo()).done, true);
    assert.equal((await apply()).done, true);
  });

  it('of a whole tree is one step that is told entry by entry, and is undone as one', async () => {
    for (const name of ['old/a', 'old/b/c', 'stays']) write(`project/${name}`, 'mine');
    await command((directory) => {
      rmSync(join(directory, 'old'), { recursive: true });
      mkdirSync(join(directory, 'new/deep'), { recursive: true });
      for (const name of ['new/a', 'new/deep/b']) put(name, 'inside')(directory);
      symlinkSync('a', join(directory, 'new/link'));
    });
    const told: string[] = [];
    const found = await apply({ treesFrom: 1, onStep: (step) => told.push(...listed([step])) });
    const removals = ['remove old/b/c', 'remove old/b', 'remove old/a', 'remove old'];
    const puts = ['put new', 'put new/a', 'put new/deep', 'put new/deep/b', 'put new/link'];
    assert.deepEqual([listed(found.steps), [...told].sort()], [[...removals, ...puts], [...removals, ...puts].sort()]);
    const steps = readSteps(access(), state().applied?.at(-1) ?? '')?.roots[workspaceRoot] ?? [];
    assert.deepEqual(
      steps.map(({ path, tree: whole }) => [path, whole?.entries]),
      [
        ['old', 3],
        ['new', 4],
      ],
    );
    write('project/new/deep/theirs', 'edited');
    const refused = await undo();
    assert.deepEqual([refused.done, refused.conflicts], [false, ['new/deep/theirs']]);
    const partly = await undo({ leaves: true });
    assert.deepEqual([partly.done, partly.left], [true, ['new/deep/theirs']]);
    assert.deepEqual(home(), {
      new: '/',
      'new/deep': '/',
      'new/deep/theirs': 'edited',
      old: '/',
      'old/a': 'mine',
      'old/b': '/',
      'old/b/c': 'mine',
      stays: 'mine',
    });
    assert.equal((await inFork())['new/a'], 'inside');
  });

  it('of a whole tree leaves out what is ctx’s own in it, what was not asked for, and what meets a conflict', async () => {
    write('project/stays', 'mine');
    const tree = (directory: string) => {
      mkdirSync(join(directory, 'new/own'), { recursive: true });
      for (const name of ['new/a', 'new/own/x']) put(name, 'inside')(directory);
    };
    await command(tree);
    const own = await apply({ treesFrom: 1, own: [at('project/new/own')] });
    assert.deepEqual(
      own.problems.map(({ path }) => path),
      ['new/own', 'new/own/x'],
    );
    assert.deepEqual(home(), { new: '/', 'new/a': 'inside', stays: 'mine' });
    assert.equal((await undo()).done, true);
    assert.deepEqual(listed((await apply({ treesFrom: 1, only: ['new/a'] })).steps), ['put new', 'put new/a']);
    assert.equal((await undo()).done, true);
    write('project/new/own/x', 'edited');
    const met = await apply({ treesFrom: 1 });
    assert.deepEqual([met.done, met.undecided], [false, ['new/own/x']]);
    assert.deepEqual((await apply({ treesFrom: 1, conflicts: 'ours' })).conflicts, ['new/own/x']);
    assert.deepEqual(home(), { new: '/', 'new/a': 'inside', 'new/own': '/', 'new/own/x': 'edited', stays: 'mine' });
  });

  it('that is cancelled before its first write leaves all as it was', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await assert.rejects(apply({ signal: AbortSignal.abort() }), { code: 'ECANCELED' });
    assert.deepEqual([home(), (await inFork())['own'], state().applied ?? []], [{ own: 'mine' }, 'inside', []]);
  });
});

describe('an undo', () => {
  it('brings back what was there, and the fork to where it stood, with its checkpoints and conflicts', async () => {
    await conflict();
    await command(put('later', 'inside'));
    const [before, fork, was] = [home(), await inFork(), state()];
    await apply({ conflicts: 'theirs' });
    const layers = readdirSync(access().paths.layers).length;
    const undone = await undo();
    // What it takes back in the trunk, what that is in the fork, and a live layer: what stood meanwhile is gone.
    assert.equal(readdirSync(access().paths.layers).length - layers, 3);
    assert.deepEqual([undone.done, undone.conflicts, undone.left, undone.later], [true, [], [], null]);
    assert.deepEqual(listed(undone.written), [
      'remove new',
      'remove later',
      'put both',
      'put dir',
      'put dir/x',
      'put own',
    ]);
    assert.deepEqual([home(), await inFork(), state().clashes], [before, fork, ['both']]);
    assert.deepEqual(
      was.checkpoints.map(({ id }) => state().checkpoints.find((each) => each.id === id)?.undone),
      [undefined, undefined],
    );
    assert.deepEqual(state().applied, []);
    await assert.rejects(undo(), { code: 'ENOENT' });
    assert.equal((await apply({ conflicts: 'theirs' })).done, true);
    assert.deepEqual(home(), fork);
  });

  it('writes nothing where the person has changed what it would, or leaves that and does the rest', async () => {
    for (const name of ['a', 'b', 'dir/x']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['a', 'b']) put(name, 'inside')(directory);
      rmSync(join(directory, 'dir'), { recursive: true });
      mkdirSync(join(directory, 'made'));
      put('made/x', 'inside')(directory);
    });
    await apply();
    write('project/b', 'edited');
    write('project/made/theirs', 'edited');
    write('project/dir', 'a file now');
    const now = home();
    const plans: string[][] = [];
    const refused = await undo({ onPlan: (plan) => plans.push(listed(plan)) });
    assert.deepEqual(
      [refused.done, [...refused.conflicts].sort(), refused.written, plans],
      [false, ['b', 'dir', 'made/theirs'], [], []],
    );
    assert.deepEqual(home(), now);
    const done = await undo({ leaves: true, onPlan: (plan) => plans.push(listed(plan)) });
    assert.deepEqual(
      [done.done, home()],
      [true, { a: 'mine', b: 'edited', dir: 'a file now', made: '/', 'made/theirs': 'edited' }],
    );
    assert.ok(plans[0]?.includes('put a') && !plans[0].includes('put b'));
    assert.ok(done.left.includes('b') && done.left.includes('made/theirs'));
    assert.ok(state().clashes.includes('b'));
    assert.equal((await inFork())['a'], 'inside');
  });

  it('puts nothing where its directory has gone, and nothing that is saved while it writes is lost', async () => {
    for (const name of ['d/a', 'e/a', 'f']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['d/a', 'e/a', 'f']) put(name, 'inside')(directory);
    });
    await apply();
    rmSync(at('project/d'), { recursive: true });
    assert.deepEqual((await undo()).conflicts, ['d/a']);
    mkdirSync(at('project/d'));
    write('project/d/a', 'inside');
    const met = await undo({ onPlan: () => write('project/e/a', 'saved') });
    assert.deepEqual(
      [met.done, met.left, home()['e/a'], home()['f'], home()['d/a']],
      [true, ['e/a'], 'saved', 'mine', 'mine'],
    );
    assert.deepEqual(listed(met.written), ['put d/a', 'put f']);
    assert.deepEqual(state().clashes, ['e/a']);
  });

  it('keeps what commands did after the apply in a checkpoint, and says which', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await apply();
    await command(put('later', 'inside'));
    const { later, done } = await undo();
    assert.ok(done && later !== null);
    assert.deepEqual([home(), await inFork()], [{ own: 'mine' }, { own: 'inside' }]);
    await withFork(async (fork) => {
      await rollBackFork(fork, findCheckpoint(fork, String(later)));
    });
    assert.equal((await inFork())['later'], 'inside');
  });

  it('is told that its list is damaged, and takes applies back in their order', async () => {
    for (const text of ['1', '2', '3']) {
      await command(put('own', text));
      await apply();
    }
    for (const text of ['2', '1']) {
      assert.equal((await undo()).done, true);
      assert.equal(home()['own'], text);
    }
    const layer = state().applied?.at(-1) ?? '';
    writeFileSync(stepsFile(access().paths.layer(layer)), '{}');
    await assert.rejects(undo(), { code: 'EIO' });
    assert.equal(home()['own'], '1');
  });

  it('that was cut off goes on to its end, whatever the person has changed since, and what is back is not theirs', async () => {
    for (const name of ['a', 'b', 'c', 'old/x']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['a', 'b', 'c']) put(name, 'inside')(directory);
      rmSync(join(directory, 'old'), { recursive: true });
    });
    await apply({ treesFrom: 1 });
    const layer = state().applied?.at(-1) ?? '';
    const about = readSteps(access(), layer) ?? assert.fail();
    // As a kill leaves it: one file and the tree are back, the others are not, and the person has changed one of them.
    writeSteps(access().paths.layer(layer), { ...about, undoing: true }, { durable: false });
    for (const name of ['a', 'old/x']) write(`project/${name}`, 'mine');
    write('project/c', 'edited');
    const undone = await undo();
    assert.deepEqual([undone.done, undone.left, undone.conflicts], [true, ['c'], []]);
    assert.deepEqual(home(), { a: 'mine', b: 'mine', c: 'edited', old: '/', 'old/x': 'mine' });
    assert.deepEqual([await inFork(), state().clashes], [{ a: 'inside', b: 'inside', c: 'inside' }, ['c']]);
  });

  it('forgets applies that were cut off before they wrote, also those that it would go on with', async () => {
    write('project/own', 'mine');
    for (const text of ['1', '2', '3']) {
      await command(put('own', text));
      await apply();
    }
    const [first = '', second = '', third = ''] = state().applied ?? [];
    // The second wrote nothing: what it was to replace is what the first had written, and so is what is there.
    for (const layer of [second, third]) writeFileSync(cutMarkOf(access(), layer), '');
    const about = readSteps(access(), third) ?? assert.fail();
    writeSteps(access().paths.layer(third), { ...about, after: second }, { durable: false });
    write('project/own', '2');
    const undone = await undo();
    assert.deepEqual([undone.done, home()['own'], state().applied], [true, '1', [first]]);
  });

  it('of a whole tree enters other forks path by path, and clashes with what they have there', async () => {
    write('project/stays', 'mine');
    write('project/gone/x', 'mine');
    await command(put('own', 'x'));
    await createFork(access(), 'other', 'trunk');
    await command(
      (directory) => {
        mkdirSync(join(directory, 'new/deep'), { recursive: true });
        for (const name of ['new/a', 'new/deep/b']) put(name, 'other')(directory);
        put('gone/x', 'other')(directory);
      },
      { fork: 'other' },
    );
    await command((directory) => {
      mkdirSync(join(directory, 'new/deep'), { recursive: true });
      for (const name of ['new/a', 'new/c', 'new/deep/b']) put(name, name === 'new/a' ? 'other' : 'inside')(directory);
      rmSync(join(directory, 'gone'), { recursive: true });
    });
    assert.equal((await apply({ treesFrom: 1 })).done, true);
    const synced = await withFork((fork) => syncFork(fork), { fork: 'other' });
    assert.deepEqual(synced.entered, ['own', 'gone', 'gone/x', 'new', 'new/a', 'new/c', 'new/deep', 'new/deep/b']);
    assert.deepEqual(synced.clashes, ['gone', 'gone/x', 'new/deep/b']);
    assert.equal((await withFork((fork) => shown(fork), { fork: 'other' }))['new/c'], 'inside');
  });

  it('takes an apply back together with the one that was cut off before it', async () => {
    for (const name of ['a', 'b']) write(`project/${name}`, 'mine');
    await command(put('a', 'inside'));
    await apply();
    const first = state().applied?.at(-1) ?? '';
    writeFileSync(markOf(access(), first), '');
    await command(put('b', 'inside'));
    await apply();
    const [, second = ''] = state().applied ?? [];
    assert.deepEqual([readSteps(access(), second)?.after, isCutOff(access(), second)], [first, false]);
    assert.deepEqual([existsSync(markOf(access(), first)), existsSync(cutMarkOf(access(), first))], [false, true]);
    const undone = await undo();
    assert.deepEqual(
      [undone.done, listed(undone.written).sort(), home()],
      [true, ['put a', 'put b'], { a: 'mine', b: 'mine' }],
    );
    assert.deepEqual(state().applied, []);
    assert.deepEqual(readdirSync(at('project')), ['a', 'b']);
  });
});
