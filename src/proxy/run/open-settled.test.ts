import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/support/process.js';

import { ErrnoError } from '../../base/errno.js';
import { commandsAtWork } from '../../base/limits/commands.js';
import { changesShownToPeople } from '../../base/limits/store.js';
import { prepareRoot } from '../../vault/fork-trees.js';
import { freshVault, tree } from '../../vault/forks/vault-fixture.js';
import { lockQuietFork } from '../../vault/store/fork-lock.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { isLocked, takeLock } from '../../vault/store/locks.js';
import { Member } from '../../vault/store/member.js';
import type { Worker } from '../../vault/store/worker-file.js';
import { closeFork, type OpenFork, openFork } from '../../vault/vault.js';
import { driftWarnings } from '../report/drift-warnings.js';
import { enterBeside } from './join-fork.js';
import { openSettled, untilJoined } from './settled-fork.js';

const facts = { command: 'make', roots: [workspaceRoot], owners: 'mine', checkpoint: 3 };

const vault = freshVault();

/** A fork that others are at work on, and how it was opened: each time whether the directory was looked at. */
async function opening() {
  vault.write('project/a', 'one');
  const place = await vault.withFork((fork) => fork.place);
  const looks: boolean[] = [];
  const open = async (look: boolean) => {
    const fork = await openFork(vault.request({ beside: true, look }));
    looks.push(look);
    return fork;
  };
  return { place, looks, open, enter: () => Member.enter(tree, place, facts, []) };
}

const worker = (name: string): Worker => ({
  ...{ name, pid: 7, command: 'make', since: '2026-01-01T00:00:00.000Z' },
  ...{ jail: null, roots: [], owners: '', checkpoint: null, runs: [] },
});

/** Whether it is still waited for: a turn of the event loop alone says little, so some looks are waited for, too. */
async function pending<T>(opened: Promise<T>): Promise<boolean> {
  let done = false;
  const set = () => {
    done = true;
  };
  opened.then(set, set);
  await sleep(60);
  return !done;
}

/** Whoever waits does not hold the fork meanwhile; on a busy machine the look before it takes a while. */
const letGo = (lock: string) => until(async () => !(await isLocked(tree, lock)), 'the fork is not held');

describe('a fork that is opened beside others', () => {
  it('is open at once where no one is at work on it, or each has its mounts', async () => {
    const { looks, open, enter } = await opening();
    closeFork(await openSettled([workspaceRoot], open));
    const member = await enter();
    member.mounted(process.pid);
    const opened = await openSettled([workspaceRoot], open);
    assert.deepEqual([opened.others.map(({ command }) => command), looks], [['make'], [true, true]]);
    closeFork(opened);
    member.leave();
  });

  it('waits for one that is about to mount, not holding the fork meanwhile, and has what it found at first', async () => {
    const { place, looks, open, enter } = await opening();
    const member = await enter();
    vault.write('project/b', 'edited');
    const opened = openSettled([workspaceRoot], open);
    await until(() => looks.length > 0, 'it was looked at');
    assert.equal(await pending(opened), true);
    await letGo(place.lock);
    member.mounted(process.pid);
    const { others, drift } = await opened;
    assert.deepEqual([others.length, drift?.map(({ path }) => path), looks], [1, ['b'], [true, false]]);
    closeFork(await opened);
    member.leave();
  });

  it('does not wait for one that mounts something else', async () => {
    const { open, enter } = await opening();
    const member = await enter();
    const opened = await openSettled(['another root'], open);
    assert.equal(opened.others.length, 1);
    closeFork(opened);
    member.leave();
  });

  it('waits for the jail of one that has left, and has the fork to itself then', async () => {
    const { place, open, enter } = await opening();
    const member = await enter();
    member.leave();
    const held = async () => {
      const descriptor = openSync(join(place.group, member.name), 'r');
      await tree.lock({ descriptor, wait: false });
      return descriptor;
    };
    const jail = await held();
    const opened = openSettled([workspaceRoot], open);
    assert.equal(await pending(opened), true);
    await letGo(place.lock);
    closeSync(jail);
    assert.deepEqual((await opened).others, []);
    closeFork(await opened);
    for (const take of [
      () => openFork(vault.request({ wait: false })).then(({ lockDescriptor }) => ({ descriptor: lockDescriptor })),
      () => lockQuietFork(tree, place, { wait: true, purpose: 'test', what: 'main' }),
    ]) {
      const last = await held();
      const taken = take();
      assert.equal(await pending(taken), true);
      closeSync(last);
      closeSync((await taken).descriptor);
    }
  });

  it('is looked at again where the one that it waited for has left', async () => {
    const { looks, open, enter } = await opening();
    const member = await enter();
    const opened = openSettled([workspaceRoot], open);
    await until(() => looks.length > 0, 'it was looked at');
    vault.write('project/late', 'edited');
    member.leave();
    const { others, drift } = await opened;
    assert.deepEqual([others, looks], [[], [true, false, true]]);
    assert.deepEqual(
      drift?.map(({ path }) => path),
      ['late'],
    );
    closeFork(await opened);
  });
});

describe('a fork with as many commands as there may be', () => {
  it('lets the next one in when one has left, in the order in which they came', async () => {
    const { place, open } = await opening();
    let atWork = commandsAtWork;
    const seen: string[] = [];
    const closed: string[] = [];
    const by = (who: string) => async (): Promise<OpenFork> => {
      const fork = await open(false);
      seen.push(who);
      const unlock = () => {
        closed.push(who);
        fork.unlock();
      };
      return { ...fork, unlock, others: Array.from({ length: atWork }, (_, index) => worker(String(index))) };
    };
    const first = openSettled([], by('first'));
    await until(() => seen.length > 2, 'it looks again');
    assert.deepEqual([await isLocked(tree, place.queue), seen.length - closed.length <= 1], [true, true]);
    atWork = commandsAtWork - 1;
    const entered = await first;
    assert.equal(entered.others.length, atWork);
    closeFork(entered);
    assert.equal(await isLocked(tree, place.queue), false, 'the next may come');
    assert.equal(seen.length, closed.length, 'none stays open but the one that was given');
    const last = await openSettled([], by('last'));
    assert.equal(seen.filter((who) => who === 'last').length, 1, 'no one waits: there is room for one more');
    closeFork(last);
  });

  it('is behind whoever waits already, unless no one is at work', async () => {
    const { place, open } = await opening();
    const held = await takeLock(tree, place.queue, { wait: true, purpose: 'test', what: 'main' });
    const having = (count: number) => async (): Promise<OpenFork> => ({
      ...(await open(false)),
      others: Array.from({ length: count }, (_, index) => worker(String(index))),
    });
    closeFork(await openSettled([], having(0)));
    const behind = openSettled([], having(1));
    assert.equal(await pending(behind), true);
    closeSync(held);
    closeFork(await behind);
  });

  it('is not waited for after a failure: the next one in the queue gets its turn', async () => {
    const { place, open } = await opening();
    let looks = 0;
    const failing = async (): Promise<OpenFork> => {
      looks += 1;
      if (looks > 1) throw new RangeError('of a test');
      return { ...(await open(false)), others: Array.from({ length: commandsAtWork }, (_, at) => worker(String(at))) };
    };
    await assert.rejects(openSettled([], failing), RangeError);
    assert.deepEqual([looks, await isLocked(tree, place.queue)], [2, false]);
  });
});

describe('edits of the person’s, beside others', () => {
  it('wait where any of them was approved once, for what it finds, and enter where none was', async () => {
    const { open } = await opening();
    vault.write('project/b', 'edited');
    const fork = await open(true);
    const [free, bound] = [worker('free'), { ...worker('bound'), bound: true }];
    for (const others of [[bound], [free, bound], [bound, free], [bound, bound]]) {
      const {
        entered,
        waiting,
        fork: after,
        clashes,
      } = await enterBeside({ ...fork, others }, [workspaceRoot], undefined);
      assert.deepEqual([entered, waiting, clashes, after.meta], [[], ['b'], fork.meta.clashes, fork.meta]);
    }
    prepareRoot(fork, workspaceRoot);
    const { entered, waiting = [] } = await enterBeside({ ...fork, others: [free] }, [workspaceRoot], undefined);
    assert.deepEqual([entered, waiting], [['b'], []]);
    closeFork(fork);
  });
});

describe('an attempt to join', () => {
  it('is made again where those it would join had ended by then, and for no other reason', async () => {
    let made = 0;
    const gone = (operation: string, code: 'ESRCH' | 'EIO') => async () => {
      made += 1;
      if (made < 3) throw new ErrnoError(code, { operation, reason: 'of a test' });
      return 'joined';
    };
    assert.deepEqual([await untilJoined(gone('jail start', 'ESRCH')), made], ['joined', 3]);
    for (const [operation, code] of [
      ['jail start', 'EIO'],
      ['open', 'ESRCH'],
    ] as const) {
      made = 0;
      await assert.rejects(untilJoined(gone(operation, code)), { code });
      assert.equal(made, 1);
    }
  });
});

describe('a directory that is not copied', () => {
  it('is said to have changed under a command: before it, while it ran, both or not at all', async () => {
    vault.write('project/a', 'one');
    await vault.withFork(async (fork) => {
      const uncopied: OpenFork = { ...fork, vault: { ...fork.vault, uncopied: true } };
      assert.deepEqual(await driftWarnings(uncopied, []), []);
      const [before, ...none] = await driftWarnings(uncopied, ['x', 'y']);
      assert.match(before ?? '', /changed since it was last looked at: x, y$/);
      assert.deepEqual(none, []);
      vault.write('project/b', 'two');
      assert.deepEqual(await driftWarnings(fork, ['x']), [], 'a copy does not change');
      const [during, ...no] = await driftWarnings(uncopied, []);
      assert.match(during ?? '', /changed while the command ran: b$/);
      assert.deepEqual(no, []);
      assert.equal((await driftWarnings(uncopied, ['x'])).length, 2, 'what was seen is not forgotten');
      for (const [count, end] of [
        [changesShownToPeople, new RegExp(`p${changesShownToPeople - 1}$`)],
        [changesShownToPeople + 2, new RegExp(`p${changesShownToPeople - 1} and 2 more$`)],
      ] as const) {
        const paths = Array.from({ length: count }, (_, index) => `p${index}`);
        assert.match((await driftWarnings(uncopied, paths))[0] ?? '', end);
      }
    });
  });
});
