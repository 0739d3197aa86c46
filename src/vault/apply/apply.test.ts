/** An apply: what is written of a fork, what stays where, and that nothing the person saves is lost by it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { saveCheckpoint } from '../forks/checkpoint.js';
import { addRoots } from '../forks/roots.js';
import { syncFork } from '../forks/sync.js';
import { lookAt, tree } from '../forks/vault-fixture.js';
import { readSteps } from '../store/applied-steps.js';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { isBeingWritten, isCutOff, markOf } from '../store/writing-marks.js';
import { inspectVault } from '../upkeep/fsck.js';
import { freshApplies, listed, put } from './apply-fixture.js';

const { at, write, withFork, command, access, writeLive, apply, undo, home, inFork, state, conflict } = freshApplies();

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

  it('takes the fork’s side as often as it may, and then says that the person goes on saving', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    let count = 0;
    tree.before = (job, directory) => {
      if (job !== 'mirror' || directory !== at('project')) return;
      count += 1;
      write('project/own', `saved ${count}`);
    };
    const found = await apply({ conflicts: 'theirs' });
    tree.before = undefined;
    assert.deepEqual(
      [found.done, found.undecided, home()['own'], (await inFork())['own']],
      [false, ['own'], `saved ${count}`, 'inside'],
    );
    // Three times what it would replace is kept, and twice what was saved meanwhile is taken in.
    assert.equal(count, 5);
    assert.deepEqual([(await apply({ conflicts: 'theirs' })).done, home()['own']], [true, 'inside']);
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
    let plans = 0;
    const onPlan = () => {
      plans += 1;
    };
    await assert.rejects(apply({ signal: AbortSignal.abort(), onPlan }), { code: 'ECANCELED' });
    assert.deepEqual([home(), (await inFork())['own'], state().applied ?? []], [{ own: 'mine' }, 'inside', []]);
    assert.equal(plans, 0, 'the record does not say that it would write');
  });
});
