import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/process.js';
import { prepareRoot } from '../../vault/fork-trees.js';
import { freshVault, tree } from '../../vault/forks/vault-fixture.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { Member } from '../../vault/store/member.js';
import { Tree } from '../../vault/tree/tree.js';
import { program } from '../../vault/tree/tree-fixture.js';
import type { OpenFork } from '../../vault/vault.js';
import { EditsFollowed } from './follow-edits.js';

const vault = freshVault();
const facts = { command: 'make', roots: ['another'], owners: '', checkpoint: null };

/** Somebody at work on the fork, who looks for edits; how often, and what stops it. */
async function following(fork: OpenFork) {
  const member = await Member.enter(tree, fork.place, facts, []);
  let looks = 0;
  const others = member.others.bind(member);
  member.others = () => {
    looks += 1;
    return others();
  };
  const followed = new EditsFollowed(fork, new Tree({ program }), member);
  const stop = async () => {
    await followed.stop();
    member.leave();
  };
  return { followed, member, stop, looks: () => looks };
}

/** What took the fork's lock last. */
const holder = ({ place }: OpenFork) => readFileSync(place.lock, 'utf8').replace(/^\d+ /, '');

async function withFork(act: (fork: OpenFork) => Promise<void>): Promise<void> {
  vault.write('project/a', 'one');
  await vault.withFork(async (fork) => {
    prepareRoot(fork, workspaceRoot);
    // As a command that has started does.
    fork.lock?.letGo();
    await act(fork);
  });
}

describe('what the person edits while a command runs', { timeout: 120_000 }, () => {
  it('is looked for again and again, and enters; the fork is not locked for nothing', () =>
    withFork(async (fork) => {
      const { followed, stop, looks } = await following(fork);
      await until(() => looks() > 1, 'it was looked at');
      assert.deepEqual([holder(fork), [...followed.entered]], ['test', []]);
      vault.write('project/b', 'two');
      await until(() => followed.entered.has('b'), 'it enters');
      assert.equal(holder(fork), 'taking over edits');
      await stop();
      const seen = looks();
      vault.write('project/d', 'four');
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.deepEqual([looks(), [...followed.entered].sort()], [seen, ['b']], 'it has ended');
    }));

  it('is entered by the one who came first, and by the next when that one has left', () =>
    withFork(async (fork) => {
      const first = await Member.enter(tree, fork.place, facts, []);
      const second = await following(fork);
      vault.write('project/b', 'two');
      await until(() => second.looks() > 1, 'it was looked at');
      assert.deepEqual([...second.followed.entered], []);
      first.leave();
      await until(() => second.followed.entered.has('b'), 'it enters');
      await second.stop();
    }));

  it('goes on where a look fails', () =>
    withFork(async (fork) => {
      const { followed, stop, looks } = await following(fork);
      rmSync(vault.at('project'), { recursive: true });
      await until(() => looks() > 1, 'it goes on looking');
      vault.write('project/a', 'one');
      assert.deepEqual([...followed.entered], []);
      await stop();
    }));
});
