/** What a lock's file says of its holder. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, it } from 'node:test';
import { tree } from '../tree/tree-fixture.js';
import { lockFoundFork, lockQuietFork } from './fork-lock.js';
import type { ForkPaths } from './layout.js';
import { takeLock } from './locks.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-locks-'));
after(() => rmSync(directory, { recursive: true }));

it('says who holds it, whatever was there before', async () => {
  const file = join(directory, 'fork', 'lock');
  for (const purpose of ['a longer command', 'short', 'äöü', 'a longer command than before', 'x'.repeat(2000), 'y']) {
    const descriptor = await takeLock(tree, file, { wait: false, purpose, what: 'main' });
    assert.equal(readFileSync(file, 'utf8'), `${process.pid} ${purpose}`.slice(0, 1000));
    closeSync(descriptor);
  }
});

it('is never without a holder’s words for those who look: the file keeps its block', async () => {
  const file = join(directory, 'kept');
  writeFileSync(file, '1 ctx gc');
  const { ino } = statSync(file);
  const descriptor = await takeLock(tree, file, { wait: false, purpose: 'true', what: 'main' });
  const refused = takeLock(tree, file, { wait: false, purpose: 'other', what: 'main' });
  await assert.rejects(refused, { code: 'EBUSY', message: new RegExp(`process ${process.pid} is using it: true`) });
  assert.equal(statSync(file).ino, ino);
  closeSync(descriptor);
});

it('is waited for where its file says that it is held briefly, but never by those who have the vault’s lock meanwhile', async () => {
  const file = join(directory, 'brief');
  // The next holder has not written its words yet: those of the last one are still there.
  writeFileSync(file, '1 ctx gc');
  const held = openSync(file, 'r+');
  await tree.lock({ descriptor: held, wait: false });
  for (const purpose of ['ctx gc', 'ctx fork create other'])
    await assert.rejects(takeLock(tree, file, { wait: false, purpose, what: 'main' }), { code: 'EBUSY' });
  const waiting = takeLock(tree, file, { wait: false, purpose: 'true', what: 'main' });
  closeSync(held);
  closeSync(await waiting);
});

it('names the file that cannot be opened', async () => {
  const refused = takeLock(tree, directory, { wait: false, purpose: 'true', what: 'main' });
  await assert.rejects(refused, { name: 'ErrnoError', code: 'EISDIR', path: directory });
});

it('whose directory is thrown away while somebody waits for it is the one that stands there then', async () => {
  const file = join(directory, 'deleted', 'lock');
  const options = { wait: true, purpose: 'true', what: 'main' };
  for (const isMade of [true, false]) {
    const held = await takeLock(tree, file, options);
    const waiting = takeLock(tree, file, { ...options, again: true });
    renameSync(dirname(file), join(directory, `trash-${isMade}`));
    const next = isMade ? await takeLock(tree, file, options) : undefined;
    closeSync(held);
    if (next === undefined) await assert.rejects(waiting, { code: 'ENOENT' });
    else {
      closeSync(next);
      const descriptor = await waiting;
      assert.equal(fstatSync(descriptor).ino, statSync(file).ino);
      closeSync(descriptor);
    }
  }
});

it('that was held before is not made again where the store was removed', async () => {
  const file = join(directory, 'removed', 'fork', 'lock');
  const options = { wait: true, purpose: 'true', what: 'main' };
  const again = () => takeLock(tree, file, { ...options, again: true });
  await assert.rejects(again(), { name: 'ErrnoError', code: 'ENOENT', path: dirname(file), reason: /was removed/ });
  assert.equal(existsSync(dirname(dirname(file))), false);
  closeSync(await takeLock(tree, file, options));
  closeSync(await again());
});

it('of a fork that was deleted is not made again by those who want the fork to be quiet', async () => {
  const fork = join(directory, 'deleted-fork');
  const place = { directory: fork, lock: join(fork, 'lock'), group: join(fork, 'group') } as ForkPaths;
  const options = { wait: false, purpose: 'ctx gc', what: 'main' };
  await assert.rejects(lockQuietFork(tree, place, options), { code: 'ENOENT' });
  assert.equal(await lockFoundFork(tree, place, options), undefined);
  assert.equal(existsSync(fork), false);
  mkdirSync(fork);
  const there = await lockFoundFork(tree, place, options);
  closeSync(there?.descriptor ?? assert.fail());
});
