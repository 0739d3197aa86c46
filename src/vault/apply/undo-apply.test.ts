/** An undo of an apply: what comes back, and that nothing the person has changed since is lost by it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findCheckpoint, rollBackFork } from '../forks/checkpoint.js';
import { createFork } from '../forks/forks.js';
import { syncFork } from '../forks/sync.js';
import { readSteps, stepsFile, writeSteps } from '../store/applied-steps.js';
import { workspaceRoot } from '../store/layout.js';
import { stepsSince } from '../store/trunk-steps.js';
import { readVaultMeta, type VaultMeta } from '../store/vault-meta.js';
import { cutMarkOf, isCutOff, markOf } from '../store/writing-marks.js';
import { freshApplies, listed, put } from './apply-fixture.js';

const { at, write, withFork, command, access, shown, apply, undo, home, inFork, state, conflict } = freshApplies();

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

  it('puts nothing back where the directory that it was in has gone, or is something else by now', async () => {
    write('project/d/a', 'mine');
    write('project/d/deep/a', 'mine');
    write('project/d/stays', 'mine');
    mkdirSync(at('project/elsewhere'));
    await command((directory) => {
      for (const name of ['d/a', 'd/deep/a']) rmSync(join(directory, name));
    });
    await apply();
    const others: Readonly<Record<string, (path: string) => void>> = {
      nothing: () => undefined,
      'a file': (path) => writeFileSync(path, 'theirs'),
      'a link': (path) => symlinkSync(at('project/elsewhere'), path),
    };
    for (const [what, make] of Object.entries(others)) {
      for (const [directory, conflicts] of [
        ['d/deep', ['d/deep/a']],
        ['d', ['d/a', 'd/deep/a']],
      ] as const) {
        const path = at(`project/${directory}`);
        const aside = at('aside');
        renameSync(path, aside);
        make(path);
        const met = await undo();
        assert.deepEqual(
          [met.done, [...met.conflicts].sort()],
          [false, conflicts],
          `${what} in the place of ${directory}`,
        );
        rmSync(path, { recursive: true, force: true });
        renameSync(aside, path);
      }
    }
    assert.equal((await undo()).done, true);
    assert.deepEqual([home()['d/a'], home()['d/deep/a'], home()['d/stays']], ['mine', 'mine', 'mine']);
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
    const steps = stepsSince(access(), readVaultMeta(access().paths.meta) as VaultMeta, 0);
    const theirs = steps.flatMap((step) => (step?.by === undefined ? (step?.paths[workspaceRoot] ?? []) : []));
    assert.deepEqual(theirs, ['c'], 'what was back is the fork’s doing');
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

  it('of an apply that was cut off says what it took back, and not what had never been written', async () => {
    for (const name of ['a', 'b', 'gone/x']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['a', 'b', 'c', 'd']) put(name, 'inside')(directory);
      rmSync(join(directory, 'gone'), { recursive: true });
      mkdirSync(join(directory, 'new'));
      put('new/x', 'inside')(directory);
    });
    const before = home();
    await apply({ treesFrom: 1 });
    const layer = state().applied?.at(-1) ?? '';
    // As a kill leaves it: `a` and `c` are written, nothing else is.
    writeFileSync(cutMarkOf(access(), layer), '');
    for (const name of ['b', 'gone/x']) write(`project/${name}`, 'mine');
    for (const name of ['d', 'new']) rmSync(at('project', name), { recursive: true });
    const undone = await undo();
    assert.deepEqual([home(), listed(undone.written).sort()], [before, ['put a', 'remove c']]);
    assert.equal(undone.steps.length, 8);
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
