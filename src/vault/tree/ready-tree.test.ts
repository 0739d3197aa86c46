/** A tree program that was started before its call: who finds it, what it is asked, and what becomes of it. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processesCalled, until } from '../../../test/support/process.js';
import { isReady, keepReady, takeReady } from '../../base/ready-program.js';
import { Starter } from '../../base/starter.js';
import { Tree } from './tree.js';
import { startServer } from './tree-channel.js';
import { freshPlace, program } from './tree-fixture.js';

const native = (name: string) => fileURLToPath(new URL(`../../../../native/${name}`, import.meta.url));
const starter = new Starter(native('start.node'));
const place = freshPlace();
const look = () => ({ root: place.at('origin'), signatures: place.at('signatures') });
beforeEach(() => place.write('origin/a', 'one'));

const servers = () =>
  processesCalled(program, 'serve').filter((pid) => /^PPid:\t(\d+)/m.exec(statusOf(pid))?.[1] === `${process.pid}`);
const statusOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return ''; // ended meanwhile
  }
};

/** The one that is ready, and no other runs. */
function makeReady(): number {
  const started = startServer(program, starter);
  keepReady(program, started);
  return started.pid;
}

const trees: Tree[] = [];
function treeHere(isOneCommand = true): Tree {
  const tree = new Tree({ program, lockLibrary: native('flock.node'), ...(isOneCommand ? { starter } : {}) });
  trees.push(tree);
  return tree;
}

afterEach(async () => {
  for (const tree of trees.splice(0)) tree.release();
  const started = takeReady(program);
  if (started !== undefined) {
    for (const end of [0, 1]) closeSync(started.end(end));
    started.wait();
  }
  await until(() => servers().length === 0, 'no server runs');
});

it('is taken once, and by the same program alone', () => {
  const started = { pid: 1, end: () => -1, signal: () => undefined, wait: () => ({ code: 0, signal: null }) };
  keepReady('/one', started);
  assert.deepEqual([isReady('/other'), takeReady('/other')], [false, undefined]);
  assert.equal(isReady('/one'), true);
  assert.equal(takeReady('/one'), started);
  assert.deepEqual([isReady('/one'), takeReady('/one')], [false, undefined]);
});

it('does the first look and what comes after it, and is the only one that runs', async () => {
  const pid = makeReady();
  const tree = treeHere();
  assert.deepEqual(await tree.scan(look()), []);
  place.write('origin/b', 'two');
  assert.deepEqual(await tree.scan({ ...look(), against: look().signatures }), [{ path: 'b', what: 'added' }]);
  await tree.diff({ uppers: [place.at('origin')], lowers: [] });
  assert.deepEqual(servers(), [pid]);
  assert.equal(isReady(program), false);
});

it('is left alone by a process that goes on', async () => {
  const pid = makeReady();
  const tree = treeHere(false);
  await tree.scan(look());
  await tree.diff({ uppers: [place.at('origin')], lowers: [] });
  assert.equal(isReady(program), true);
  await until(() => servers().includes(pid), 'it runs');
});

it('looks only with the lock, which is held after it', async () => {
  makeReady();
  const file = place.at('lock');
  const [own, other] = [openSync(file, 'w+'), openSync(file, 'r+')];
  try {
    const tree = treeHere();
    await tree.scan({ ...look(), lock: { descriptor: own, wait: false } });
    await assert.rejects(treeHere().scan({ ...look(), lock: { descriptor: other, wait: false } }), { code: 'EBUSY' });
    closeSync(own);
    makeReady();
    await treeHere().scan({ ...look(), lock: { descriptor: other, wait: false } });
  } finally {
    closeSync(other);
  }
});

it('says the same of what cannot be looked at as a program of its own', async () => {
  const missing = { ...look(), root: place.at('missing') };
  const alone = await treeHere(false)
    .scan(missing)
    .catch((error: Error) => error.message);
  makeReady();
  await assert.rejects(treeHere().scan(missing), { message: alone });
});

it('ends with a look that is cancelled, before it and meanwhile, and the next look has another', async () => {
  const pid = makeReady();
  const tree = treeHere();
  const before = AbortSignal.abort(new Error('the person'));
  await assert.rejects(tree.scan({ ...look(), signal: before }), { code: 'ECANCELED' });
  await until(() => servers().includes(pid), 'it runs');
  const meanwhile = new AbortController();
  process.kill(pid, 'SIGSTOP');
  const looking = tree.scan({ ...look(), signal: meanwhile.signal });
  meanwhile.abort(new Error('the person'));
  process.kill(pid, 'SIGCONT');
  await assert.rejects(looking, { code: 'ECANCELED' });
  await until(() => !servers().includes(pid), 'it has ended');
  assert.deepEqual(await tree.scan(look()), []);
});
