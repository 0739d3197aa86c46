/** Places in the group of a fork: each is one process's at a time, says what that does, and is as long before as after. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { nativeProgram } from '../../base/native-program.js';
import { isThere } from '../../base/process-table.js';
import { Tree } from '../tree/tree.js';
import { freshPlace, program } from '../tree/tree-fixture.js';
import { lockInTurn, lockQuietFork } from './fork-lock.js';
import { busyWith, commandText, endOf, forget, lastTime, readGroup } from './group.js';
import { type ForkPaths, vaultPaths } from './layout.js';
import { takeLock } from './locks.js';
import { Member } from './member.js';
import {
  idleJailsOf,
  keepersOf,
  keepPlace,
  leavePlace,
  openWorker,
  padded,
  readWorkerFile,
  type Worker,
} from './worker-file.js';

const { at } = freshPlace();
const tree = new Tree({ program, lockLibrary: nativeProgram('flock.node') });
const facts = { command: 'first', roots: ['workspace'], owners: '0 0', checkpoint: 3 };
const placeOf = (): ForkPaths => {
  const place = vaultPaths(at('store'), '0123456789abcdef').fork('main');
  mkdirSync(place.directory, { recursive: true });
  return place;
};
const fileOf = ({ group }: ForkPaths, name: string) => join(group, name);
const saidIn = (place: ForkPaths, name: string) => {
  const descriptor = openWorker(fileOf(place, name)) ?? -1;
  try {
    return readWorkerFile(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
const liveOf = async (place: ForkPaths) => (await readGroup(tree, place)).live.map(({ command }) => command);

it('a member says what it does from when it enters until it leaves, and nothing after that', async () => {
  const place = placeOf();
  const member = await Member.enter(tree, place, facts, []);
  const file = fileOf(place, member.name);
  const [size, mode] = [statSync(file).size, statSync(file).mode & 0o777];
  assert.deepEqual([size, mode, statSync(place.joined).mode & 0o777], [4096, 0o600, 0o600]);
  const { since, ...said } = saidIn(place, member.name);
  const expected = { ...facts, name: '0', pid: process.pid, jail: null, runs: [] };
  assert.deepEqual(said, expected);
  assert.ok(Math.abs(Date.parse(since ?? '') - Date.now()) < 600_000);
  assert.deepEqual({ ...member.worker }, { ...expected, since });
  const states: readonly (readonly [() => void, object])[] = [
    [() => member.does('second'), { command: 'second' }],
    [() => member.mounted(7), { jail: 7 }],
    [() => member.begin({ run: 'a', agent: null }), { runs: [{ run: 'a', agent: null }] }],
    [
      () => member.begin({ run: 'b', agent: 'x' }),
      {
        runs: [
          { run: 'a', agent: null },
          { run: 'b', agent: 'x' },
        ],
      },
    ],
    [() => member.end({ run: 'a', agent: null }), { runs: [{ run: 'b', agent: 'x' }] }],
    [() => member.mounted(undefined), { jail: null }],
    [() => member.unbind(), {}],
  ];
  let known: object = { ...expected, since };
  for (const [act, change] of states) {
    act();
    known = { ...known, ...change };
    assert.deepEqual(saidIn(place, member.name), known);
  }
  assert.deepEqual(await liveOf(place), ['second']);
  member.leave();
  for (const act of [() => member.does('third'), () => member.mounted(9), () => member.leave()]) act();
  assert.equal(readFileSync(file, 'utf8').trim(), '');
  assert.deepEqual([await readGroup(tree, place), statSync(file).size], [{ live: [], dead: [] }, size]);
});

it('a command that was approved once is bound until it ends', async () => {
  const place = placeOf();
  const member = await Member.enter(tree, place, { ...facts, bound: true }, []);
  assert.equal(saidIn(place, member.name).bound, true);
  member.unbind();
  assert.equal(saidIn(place, member.name).bound, false);
  member.leave();
});

it('members are told of those that come, and the first of them begins the list anew', async () => {
  const place = placeOf();
  writeFileSync(place.joined, '"of a group before"\n');
  const first = await Member.enter(tree, place, facts, []);
  const from = first.arrivals;
  assert.deepEqual(first.since(0).commands, ['first']);
  const second = await Member.enter(tree, place, { ...facts, command: 'with "quotes"\nand lines' }, [first.worker]);
  first.foundWaiting(0);
  second.foundWaiting(4);
  second.foundWaiting(2);
  second.came('again');
  const commands = ['with "quotes"\nand lines', 'again'];
  assert.deepEqual(first.since(from), { commands, count: 2, waiting: 4 });
  assert.deepEqual(first.since(first.arrivals), { commands: [], count: 0, waiting: 0 });
  assert.deepEqual(
    (await first.others()).map(({ name }) => name),
    [second.name],
  );
  assert.notEqual(first.name, second.name);
  first.leave();
  const third = await Member.enter(tree, place, facts, [second.worker]);
  assert.equal(third.name, first.name, 'a place that is free is taken again');
  assert.deepEqual(
    (await third.others()).map(({ name }) => name),
    [second.name],
  );
  second.leave();
  rmSync(place.directory, { recursive: true });
  assert.throws(() => third.since(0), {
    name: 'ErrnoError',
    code: 'ENOENT',
    reason: /was removed while it was in use/,
  });
  third.leave();
});

it('a place that is kept for a jail is its own while nothing runs, and free when it has ended', async () => {
  const place = placeOf();
  const kept = await keepPlace(tree, place);
  assert.deepEqual([keepersOf(place), idleJailsOf(place)], [[process.pid], []]);
  assert.deepEqual(await readGroup(tree, place), { live: [], dead: [] });
  const other = await Member.enter(tree, place, facts, []);
  assert.notEqual(other.name, kept.name);
  const member = await Member.enter(tree, place, { ...facts, command: 'kept' }, [other.worker], {
    ...kept,
    jail: 5,
    jailProcess: 77,
  });
  assert.deepEqual([member.name, saidIn(place, kept.name).jailProcess], [kept.name, 77]);
  assert.deepEqual([keepersOf(place), (await liveOf(place)).sort()], [[], ['first', 'kept']]);
  member.leave();
  assert.deepEqual([keepersOf(place), idleJailsOf(place), await liveOf(place)], [[process.pid], [5], ['first']]);
  other.leave();
  leavePlace(kept);
  assert.deepEqual([keepersOf(place), idleJailsOf(place)], [[], []]);
  const next = await Member.enter(tree, place, facts, []);
  assert.equal(next.name, kept.name);
  next.leave();
});

it('a place that nothing can be written to is left all the same', () => {
  const descriptor = openSync('/dev/full', 'r+');
  assert.throws(() => leavePlace({ name: '0', descriptor }), { code: 'ENOSPC' });
  assert.throws(() => fstatSync(descriptor), { code: 'EBADF' });
});

it('nothing is left of a longer text: not in its own place, and not in that of the next', async () => {
  const place = placeOf();
  const command = '\u6f22"'.repeat(700);
  const member = await Member.enter(tree, place, { ...facts, command }, []);
  member.begin({ run: 'x'.repeat(3000), agent: null });
  assert.ok(statSync(fileOf(place, member.name)).size > 6000);
  member.does('short');
  member.end({ run: 'x'.repeat(3000), agent: null });
  assert.deepEqual(await liveOf(place), ['short']);
  member.does(command);
  assert.deepEqual(await liveOf(place), [command]);
  member.leave();
  const next = await Member.enter(tree, place, facts, []);
  assert.deepEqual([next.name, await liveOf(place)], [member.name, ['first']]);
  next.leave();
});

it('a process that is gone keeps no place, nor does one that has got its number since', async () => {
  const place = placeOf();
  mkdirSync(place.group);
  const gone = 2 ** 22 + 1;
  assert.deepEqual([isThere(process.pid), isThere(1), isThere(gone)], [true, true, false]);
  for (const kept of [{ kept: gone }, { kept: process.pid, start: '1' }]) {
    writeFileSync(fileOf(place, '0'), padded(JSON.stringify({ ...kept, jail: 3 })));
    assert.deepEqual([keepersOf(place), idleJailsOf(place)], [[], []]);
  }
  // As an earlier version wrote it: its place is not taken, and nothing is ended for it.
  writeFileSync(fileOf(place, '1'), padded(JSON.stringify({ kept: process.pid, jail: 3 })));
  assert.deepEqual([keepersOf(place), idleJailsOf(place)], [[], [3]]);
  const member = await Member.enter(tree, place, facts, []);
  assert.equal(member.name, '0');
  member.leave();
});

it('one that was killed is known until it is forgotten, and its place is free after that', async () => {
  const place = placeOf();
  const member = await Member.enter(tree, place, facts, []);
  const text = readFileSync(fileOf(place, member.name));
  member.leave();
  const left = lastTime(place);
  writeFileSync(fileOf(place, member.name), text);
  assert.ok(lastTime(place) >= left && left > 0n);
  const { live, dead } = await readGroup(tree, place);
  assert.deepEqual([live, dead.map(({ name }) => name)], [[], ['0']]);
  const other = await Member.enter(tree, place, facts, []);
  assert.equal(other.name, '1', 'what it was doing is not known to the record yet');
  other.leave();
  forget(place, dead[0] as Worker);
  assert.deepEqual(await readGroup(tree, place), { live: [], dead: [] });
  assert.equal(statSync(fileOf(place, '0')).size, 4096);
  await endOf(tree, place, { ...(dead[0] as Worker), name: 'none' });
});

it('a fork is refused, waited for or shared while somebody is at work, and its lock is free after each', async () => {
  const place = placeOf();
  const options = { wait: true, purpose: 'test', what: '/project' };
  const turn = { ...options, beside: false, waitForCommands: false };
  const take = async () => ({ descriptor: await takeLock(tree, place.lock, { ...options, wait: false }) });
  const quiet = await lockQuietFork(tree, place, options);
  await assert.rejects(lockQuietFork(tree, place, { ...options, wait: false }), { code: 'EBUSY' });
  closeSync(quiet.descriptor);
  const member = await Member.enter(tree, place, facts, []);
  for (let count = 0; count < 2; count += 1) {
    await assert.rejects(lockQuietFork(tree, place, options), { code: 'EBUSY' });
    await assert.rejects(lockInTurn(tree, place, turn, take), { code: 'EBUSY' });
  }
  const beside = await lockInTurn(tree, place, { ...turn, beside: true }, take);
  assert.deepEqual(
    beside.others.map(({ name }) => name),
    [member.name],
  );
  beside.lock.letGo();
  beside.lock.letGo();
  await beside.lock.takeAgain();
  await assert.rejects(take(), { code: 'EBUSY' });
  beside.lock.letGo();
  const stopping = new AbortController();
  const cancelled = lockInTurn(tree, place, { ...turn, waitForCommands: true, signal: stopping.signal }, take);
  stopping.abort();
  await assert.rejects(cancelled, { code: 'ECANCELED' });
  const waiting = lockInTurn(tree, place, { ...turn, waitForCommands: true }, take);
  member.leave();
  const { others, lock } = await waiting;
  assert.deepEqual(others, []);
  lock.letGo();
});

it('who is at work is named by the process that ends it, the first of many, each by the begin of its command', () => {
  const worker = (pid: number, more = {}) => ({ pid, command: `run ${pid}`, since: '2026', ...more });
  const pids = Array.from({ length: 9 }, (_, index) => 2 ** 22 + index + 1);
  const reasonOf = (workers: Parameters<typeof busyWith>[1]) => busyWith('/x', workers).reason;
  for (const [count, more] of [
    [8, false],
    [9, true],
  ] as const) {
    const reason = reasonOf(pids.slice(0, count).map((pid) => worker(pid)));
    assert.deepEqual(
      pids.map((pid) => reason.includes(`run ${pid}`)),
      pids.map((_, index) => index < 8),
    );
    assert.equal(reason.includes('1 more'), more);
  }
  const of = reasonOf([worker(2 ** 22 + 1, { jailProcess: 2 ** 22 + 5 })]);
  assert.ok(of.includes(String(2 ** 22 + 5)) && !of.includes(`process ${2 ** 22 + 1} `));
  assert.ok(!reasonOf([worker(0)]).includes('process'));
  for (const [length, kept] of [
    [200, 200],
    [201, 199],
  ] as const) {
    const reason = reasonOf([worker(2 ** 22 + 1, { command: 'x'.repeat(length) })]);
    assert.equal(reason.match(/x+/)?.[0].length, kept);
  }
  assert.deepEqual([commandText(['a', 'b c']), commandText(['y'.repeat(1001)]).length], ['a b c', 1000]);
});

it('a member that cannot say what waits for its end is at work no more', async () => {
  const place = placeOf();
  const kept = await keepPlace(tree, place);
  const member = await Member.enter(tree, place, facts, [], kept);
  rmSync(place.joined);
  mkdirSync(place.joined);
  member.foundWaiting(0);
  assert.deepEqual(await liveOf(place), ['first']);
  assert.throws(() => member.foundWaiting(1), { code: 'EISDIR' });
  assert.deepEqual(await liveOf(place), []);
  leavePlace(kept);
});
