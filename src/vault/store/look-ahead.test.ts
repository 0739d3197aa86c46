/** The look that begins before a fork is locked: it counts only where it found nothing, a moment ago, and nobody had the lock. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, mock } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { until } from '../../../test/support/process.js';
import { lookAheadMilliseconds } from '../../base/limits/commands.js';
import { addRoots } from '../forks/roots.js';
import { syncFork } from '../forks/sync.js';
import { freshVault } from '../forks/vault-fixture.js';
import { Tree } from '../tree/tree.js';
import { program } from '../tree/tree-fixture.js';
import type { ScanOptions } from '../tree/tree-jobs.js';
import { closeFork, lookAhead, openExistingFork, openFork } from '../vault.js';
import { rootKey, workspaceRoot } from './layout.js';
import { takeFreeLock, takeLock } from './locks.js';
import type { LookAhead } from './look-ahead.js';

/** Counts its looks; the next one ends when it may, or fails. */
class LookingTree extends Tree {
  readonly looks: ScanOptions[] = [];
  before: (() => Promise<void>) | undefined;

  override async scan(options: ScanOptions) {
    this.looks.push(options);
    const before = this.before;
    this.before = undefined;
    await before?.();
    return super.scan(options);
  }
}

const { at, write, withFork, request, access, shown } = freshVault();

/** A vault with one file that its fork has. */
async function prepared() {
  write('project/own', 'mine');
  const tree = new LookingTree({ program });
  await withFork(syncFork, { look: true });
  return tree;
}

/** Opens the fork as `ctx exec` does, and says what it shows then. */
async function opened(tree: LookingTree, ahead: LookAhead | undefined) {
  const open = await openFork(request({ tree, look: true, ahead }));
  const { fork } = await syncFork(open);
  const found = await shown(fork);
  closeFork(fork);
  return found;
}

const begin = (tree: LookingTree) => lookAhead(request({ tree })) ?? assert.fail('a vault is there');

/** Whatever the machine takes for it, no time passes for the look. */
async function atOnce<T>(act: () => Promise<T>): Promise<T> {
  const now = process.hrtime();
  mock.method(process, 'hrtime', () => now);
  try {
    return await act();
  } finally {
    mock.restoreAll();
  }
}

describe('a look ahead', () => {
  it('that found nothing is the only one, writes nothing, and the fork is locked', async () => {
    const tree = await prepared();
    const open = await atOnce(() => {
      const ahead = begin(tree);
      assert.deepEqual([tree.looks.length, tree.looks[0]?.signatures, tree.looks[0]?.lock], [1, undefined, undefined]);
      return openFork(request({ tree, look: true, ahead }));
    });
    try {
      assert.equal(tree.looks.length, 1);
      assert.equal(existsSync(open.paths.fork('main').scanned(workspaceRoot)), false);
      assert.equal(
        await takeFreeLock(tree, open.paths.fork('main').lock, { wait: false, purpose: '', what: '' }),
        undefined,
      );
    } finally {
      closeFork(open);
    }
  });

  it('that found nothing lets the edits of another directory of the fork enter', async () => {
    const tree = await prepared();
    write('data/own', 'theirs');
    const roots = [workspaceRoot, rootKey(at('data'))];
    const open = async (ahead?: LookAhead) => {
      const fork = await openFork(request({ tree, look: true, ahead }));
      try {
        const { fork: rooted, imported } = await addRoots(fork, { paths: [at('data')] });
        return (await syncFork(rooted, roots, imported)).entered;
      } finally {
        closeFork(fork);
      }
    };
    await open();
    write('data/own', 'theirs, edited');
    // A look that found edits before had its signatures taken over.
    rmSync(access().paths.fork('main').scanned(workspaceRoot));
    assert.deepEqual(await atOnce(() => open(begin(tree))), [join(at('data'), 'own')]);
  });

  it('that found an edit leaves it to the look under the lock, which takes it in', async () => {
    for (const edit of ['an edit', 'another, longer edit']) {
      const tree = await prepared();
      write('project/own', edit);
      assert.deepEqual(await opened(tree, begin(tree)), { own: edit });
      assert.equal(tree.looks.length, 2);
    }
  });

  it('counts for a while: an edit made after that enters', async () => {
    const tree = await prepared();
    const ahead = begin(tree);
    await setTimeout(lookAheadMilliseconds + 20);
    write('project/own', 'made while a person was asked');
    assert.deepEqual(await opened(tree, ahead), { own: 'made while a person was asked' });
  });

  it('that takes long is waited for where it was asked in time', async () => {
    const tree = await prepared();
    tree.before = () => setTimeout(3 * lookAheadMilliseconds);
    const { found } = await atOnce(async () => ({ found: begin(tree).foundNothing() }));
    assert.equal(await found, true);
  });

  it('counts once', async () => {
    const tree = await prepared();
    const ahead = await atOnce(async () => {
      const begun = begin(tree);
      assert.equal(await begun.foundNothing(), true);
      return begun;
    });
    assert.equal(await ahead.foundNothing(), false);
    write('project/own', 'made since');
    assert.deepEqual(await opened(tree, ahead), { own: 'made since' });
  });

  it('that failed, or was stopped, is followed by the usual one', async () => {
    for (const spoil of ['fail', 'stop'] as const) {
      const tree = await prepared();
      tree.before = () => (spoil === 'fail' ? Promise.reject(new Error('no disk')) : Promise.resolve());
      const ahead = begin(tree);
      if (spoil === 'stop') ahead.stop();
      assert.equal(await ahead.foundNothing(), false);
      const again = begin(tree);
      if (spoil === 'stop') again.stop();
      write('project/own', spoil);
      assert.deepEqual(await opened(tree, again), { own: spoil });
    }
  });

  it('that nobody asks for ends, and no error is left over', async () => {
    const tree = await prepared();
    tree.before = () => Promise.reject(new Error('nobody hears of it'));
    begin(tree).stop();
    await setTimeout(10);
  });

  it('gives way to a process that has the lock: its edits are looked for after it', async () => {
    const tree = await prepared();
    const { lock } = access().paths.fork('main');
    const held = await takeLock(tree, lock, { wait: false, purpose: 'another', what: 'the fork' });
    const opening = opened(tree, begin(tree));
    const waits = new RegExp(`-> FLOCK .*:${statSync(lock).ino} `);
    await until(() => waits.test(readFileSync('/proc/locks', 'utf8')), 'it waits for the lock');
    write('project/own', 'made while it was held');
    closeSync(held);
    assert.deepEqual(await opening, { own: 'made while it was held' });
  });

  it('begins only where there is a vault that can be read', async () => {
    const tree = new LookingTree({ program });
    write('project/own', 'mine');
    assert.equal(lookAhead(request({ tree })), undefined);
    await withFork(syncFork, { look: true });
    write(`store/${access().paths.meta.split('/store/')[1]}`, 'damaged');
    assert.equal(lookAhead(request({ tree })), undefined);
    await assert.rejects(openExistingFork(request({ tree })), { code: 'EIO' });
    assert.equal(tree.looks.length, 0);
  });
});
