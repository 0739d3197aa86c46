/** An apply that was stopped before its first write: none for an undo to take back. And what the undo of an earlier one leaves out. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { prepareRoot } from '../fork-trees.js';
import { saveCheckpoint } from '../forks/checkpoint.js';
import { workspaceRoot } from '../store/layout.js';
import { openStore } from '../store/store.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, type OpenFork, openFork } from '../vault.js';
import { type ApplyRequest, applyFork } from './apply.js';
import { undoApply } from './undo-apply.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };

async function withFork<T>(use: (fork: OpenFork) => Promise<T>): Promise<T> {
  const store = openStore(at('store'));
  const fork = await openFork({ store, tree, origin: at('project'), owner, wait: true, purpose: 'test' });
  try {
    return await use(fork);
  } finally {
    closeFork(fork);
  }
}

/** As a command would. */
const work = (name: string, text: string) =>
  withFork(async (opened) => {
    const { fork } = saveCheckpoint(opened, { automatic: true, reason: `write ${name}` });
    prepareRoot(fork, workspaceRoot);
    writeFileSync(`${fork.paths.tree(fork.meta.live, workspaceRoot)}/${name}`, text);
  });

const apply = (request: Partial<ApplyRequest> = {}) =>
  withFork((fork) => applyFork(fork, { allowSensitive: true, conflicts: 'refuse', ...request }));

describe('an apply that was stopped before its first write', () => {
  const stops: readonly (readonly [when: string, stop: (stopping: AbortController) => Partial<ApplyRequest>])[] = [
    [
      'before it was to write',
      (stopping) => {
        stopping.abort();
        return {};
      },
    ],
    ['when it was to write', (stopping) => ({ onPlan: () => stopping.abort() })],
  ];
  for (const [when, stop] of stops)
    it(`${when}, is not undone: the one before is`, async () => {
      write('project/one', 'mine');
      await work('one', 'first');
      assert.equal((await apply()).done, true);
      await work('two', 'second');
      const stopping = new AbortController();
      await assert.rejects(apply({ ...stop(stopping), signal: stopping.signal }), { code: 'ECANCELED' });
      const undone = await withFork((fork) => undoApply(fork));
      assert.deepEqual(
        undone.written.map(({ path }) => path),
        ['one'],
      );
      assert.equal(readFileSync(at('project/one'), 'utf8'), 'mine');
      const checkpoints = undone.fork.meta.checkpoints.map(({ id }) => id);
      assert.ok(undone.later !== null && checkpoints.includes(undone.later), 'what came after it is in a checkpoint');
      await assert.rejects(
        withFork((fork) => undoApply(fork)),
        { code: 'ENOENT' },
      );
      assert.equal((await apply()).done, true);
      const again = await withFork((fork) => undoApply(fork));
      assert.deepEqual([again.written.length, again.later], [1, null]);
    });
});
