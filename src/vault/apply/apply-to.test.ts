/** A fork's changes onto another directory: what stands there decides, nothing of it is lost, and the fork stays as it was. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { saveCheckpoint } from '../forks/checkpoint.js';
import { addRoots } from '../forks/roots.js';
import { syncFork } from '../forks/sync.js';
import { freshVault, lookAt } from '../forks/vault-fixture.js';
import { readForkMeta } from '../store/fork-meta.js';
import { rootKey, workspaceRoot } from '../store/layout.js';
import type { Step } from '../tree/tree.js';
import type { ApplyRequest } from './apply.js';
import { applyForkTo } from './apply-to.js';

const { at, write, withFork, command, access, shown, writeLive } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const applyTo = (more: Partial<ApplyRequest> = {}) =>
  withFork((fork) => applyForkTo(fork, at('copy'), { conflicts: 'refuse', allowSensitive: true, ...more }));
const copy = () => lookAt(at('copy'));
const listed = (steps: readonly Step[]) => steps.map(({ action, path }) => `${action} ${path}`);

async function changed() {
  for (const name of ['own', 'gone/x', 'other']) for (const top of ['project', 'copy']) write(`${top}/${name}`, 'mine');
  await command((directory) => {
    put('own', 'inside')(directory);
    rmSync(join(directory, 'gone'), { recursive: true });
    mkdirSync(join(directory, 'dir'));
    put('dir/new', 'inside')(directory);
  });
}

it('what the other directory has as the trunk had it is replaced, and the fork and its own directory stay', async () => {
  await changed();
  const layers = readdirSync(access().paths.layers);
  const before = readForkMeta(access().paths.fork('main').directory);
  const dry = await applyTo({ dryRun: true });
  assert.deepEqual([dry.done, copy()['own']], [false, 'mine']);
  const steps: string[] = [];
  const done = await applyTo({
    onStep: (step) => steps.push(...listed([step])),
    onPlan: (plan) => assert.equal(plan.length, 5),
  });
  const all = ['remove gone/x', 'remove gone', 'put dir', 'put dir/new', 'put own'];
  assert.deepEqual([listed(dry.steps), listed(done.steps), steps, done.written], [all, all, all, []]);
  assert.deepEqual([done.done, done.complete, done.problems, done.conflicts], [true, true, [], []]);
  assert.deepEqual(copy(), { dir: '/', 'dir/new': 'inside', other: 'mine', own: 'inside' });
  assert.deepEqual(
    [readForkMeta(access().paths.fork('main').directory), readdirSync(access().paths.layers)],
    [before, layers],
  );
  assert.deepEqual(lookAt(at('project')), { gone: '/', 'gone/x': 'mine', other: 'mine', own: 'mine' });
  const again = await applyTo();
  assert.deepEqual([again.done, again.conflicts, listed(again.steps)], [true, [], []]);
  assert.deepEqual(await withFork((fork) => shown(fork)), copy());
});

it('anything else there is a conflict, and with one nothing is written until a side is chosen', async () => {
  await changed();
  write('copy/own', 'theirs');
  write('copy/gone/more', 'theirs');
  rmSync(at('copy/other'));
  const before = copy();
  const refused = await applyTo();
  assert.deepEqual([refused.done, [...refused.undecided].sort(), copy()], [false, ['gone', 'own'], before]);
  const ours = await applyTo({ conflicts: 'ours' });
  assert.deepEqual(
    [ours.done, copy()],
    [true, { dir: '/', 'dir/new': 'inside', gone: '/', 'gone/more': 'theirs', own: 'theirs' }],
  );
  await applyTo({ theirs: ['own'], conflicts: 'ours' });
  assert.equal(copy()['own'], 'inside');
  const only = await applyTo({ only: ['none', 'dir'] });
  assert.deepEqual([only.unmatched, only.steps], [['none'], []]);
});

it('a link or file in the place of a directory is not gone through', async () => {
  await changed();
  mkdirSync(at('elsewhere'));
  symlinkSync(at('elsewhere'), at('copy/dir'));
  const refused = await applyTo();
  assert.deepEqual([refused.done, readdirSync(at('elsewhere'))], [false, []]);
  await applyTo({ conflicts: 'ours' });
  assert.deepEqual(readdirSync(at('elsewhere')), []);
});

it('what somebody saves there meanwhile stays theirs, and the rest is told as written', async () => {
  await changed();
  const met = await applyTo({ onPlan: () => write('copy/own', 'saved') });
  assert.deepEqual([met.done, met.undecided, copy()['own']], [false, ['own'], 'saved']);
  assert.deepEqual(listed(met.written), ['remove gone/x', 'remove gone', 'put dir', 'put dir/new']);
  await assert.rejects(applyTo({ conflicts: 'theirs', signal: AbortSignal.abort() }), { code: 'ECANCELED' });
  assert.equal(copy()['own'], 'saved');
});

it('what is sensitive, or of another directory, stays, and is told', async () => {
  for (const top of ['project', 'copy', 'more']) write(`${top}/own`, 'mine');
  const key = rootKey(at('more'));
  await withFork(async (opened) => {
    const added = await addRoots(opened, { paths: [at('more')] });
    const { fork } = await syncFork(saveCheckpoint(added.fork, { automatic: true, reason: 'x' }).fork, [
      workspaceRoot,
      key,
    ]);
    await writeLive(fork, (directory) => {
      mkdirSync(join(directory, '.husky'));
      put('.husky/pre-commit', 'evil')(directory);
      put('own', 'inside')(directory);
    });
    await writeLive(
      fork,
      (directory) => {
        put('own', 'inside')(directory);
        mkdirSync(join(directory, '.husky'));
        put('.husky/pre-commit', 'evil')(directory);
      },
      key,
    );
  });
  const held = await applyTo({ allowSensitive: false });
  assert.deepEqual(
    [held.done, held.complete, held.withheld, held.sensitive.map(({ path }) => path)],
    [true, false, ['.husky/pre-commit'], ['.husky/pre-commit']],
  );
  assert.deepEqual(
    held.problems.map(({ path, code }) => [path, code]),
    ['.husky', '.husky/pre-commit', 'own'].map((name) => [join(at('more'), name), 'ENOTSUP']),
  );
  assert.deepEqual([copy(), lookAt(at('more'))], [{ '.husky': '/', own: 'inside' }, { own: 'mine' }]);
  await applyTo();
  assert.equal(copy()['.husky/pre-commit'], 'evil');
});

it('what the git of the other directory obeys there stays, and so does what a repository of its own has for itself', async () => {
  for (const top of ['project', 'copy'])
    for (const name of ['tools/a', 'own', 'bare/x']) write(`${top}/${name}`, 'mine');
  for (const directory of ['copy/.git', 'copy/bare']) {
    for (const name of ['objects', 'refs']) mkdirSync(at(`${directory}/${name}`), { recursive: true });
    write(`${directory}/HEAD`, 'ref: refs/heads/main\n');
  }
  write('copy/.git/config', '[core]\n\trepositoryFormatVersion = 0\n\thooksPath = tools\n');
  await command((directory) => {
    for (const name of ['tools/pre-commit', 'own', 'bare/config', 'bare/x']) put(name, 'inside')(directory);
  });
  const held = await applyTo({ allowSensitive: false });
  assert.deepEqual(
    [held.done, held.complete, held.withheld.slice().sort(), held.sensitive.map(({ path }) => path).sort()],
    [true, false, ['bare/config', 'bare/x', 'tools/pre-commit'], ['bare/config', 'bare/x', 'tools/pre-commit']],
  );
  assert.deepEqual([copy()['own'], copy()['bare/x'], copy()['tools/pre-commit']], ['inside', 'mine', undefined]);
  await applyTo();
  assert.equal(copy()['tools/pre-commit'], 'inside');
});
