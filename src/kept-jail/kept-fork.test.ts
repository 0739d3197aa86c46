import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/support/process.js';
import { ErrnoError } from '../base/errno.js';
import { backgroundLookMilliseconds, leftLookMilliseconds, leftLooks } from '../base/limits/commands.js';
import { nativeProgram } from '../base/native-program.js';
import { Turns } from '../base/turns.js';
import { type Host, placeOf } from '../proxy/host.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import { saveCheckpoint } from '../vault/forks/checkpoint.js';
import { readNewest } from '../vault/store/state-file.js';
import { openStore } from '../vault/store/store.js';
import { freshPlace, tree } from '../vault/tree/tree-fixture.js';
import { closeFork, type OpenFork, openFork } from '../vault/vault.js';
import { requestFor } from './decided-command.js';
import type { Equipment, MountedFork } from './equipment.js';
import type { KeptCommand, KeptJailRequest } from './jail-request.js';
import { KeptFork } from './kept-fork.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-kept-fork-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const refusal = (code: 'EBUSY' | 'EPIPE' | 'EIO') => new ErrnoError(code, { operation: 'release', reason: code });

/** A fork that is mounted, in a jail that answers `release` by what `left` says. */
function stage(given: { readonly quota?: object; readonly program?: string } = {}) {
  const room = mkdtempSync(join(directory, 'fork-'));
  const place = { caches: join(room, 'caches'), home: join(room, 'home'), temporary: join(room, 'tmp') };
  for (const made of [place.home, place.temporary]) mkdirSync(made);
  for (let count = 0; count < 5; count += 1) writeFileSync(join(place.home, `${count}`), '');
  const done: string[] = [];
  const note = (text: string) => () => void done.push(text);
  const owner = { uid: process.geteuid?.(), gid: process.getegid?.() };
  const lock = { takeAgain: async () => void done.push('lock'), letGo: note('unlock') };
  const fork = { place, owner, lock, meta: { deltas: [], live: 'l' }, vault: { roots: {} }, unlock: note('close') };
  const state: { left: ErrnoError | undefined } = { left: undefined };
  const jail = {
    release: async () => {
      done.push('release');
      if (state.left !== undefined) throw state.left;
    },
    end: async () => void done.push('end'),
  };
  const followed = { stop: async () => void done.push('stop following') };
  const mounted = {
    ...{ fork, followed, isReadOnly: false, isDown: false, running: new Set<{ readonly text: string }>() },
    member: { leave: note('leave') },
  };
  const quota = given.quota ?? {};
  const record = { limitReached: (reason: string) => void done.push(reason.split(' ', 3).join(' ')) };
  const equipment = { jail, record, resolved: { authority: { quota } }, origin: '/none', fork: 'main' };
  const host = { now: () => new Date(0), tree: { program: given.program ?? nativeProgram('tree') } };
  const turns = new Turns();
  const kept = new KeptFork(
    host as unknown as Host,
    equipment as unknown as Equipment,
    turns,
    mounted as unknown as MountedFork,
  );
  return { kept, done, state, mounted, turns, held: fork as unknown as OpenFork };
}

describe('the fork of a kept jail', () => {
  it('is let go of where nothing runs in it, and is nobody’s then', async () => {
    const { kept, done, held } = stage();
    await kept.rest(held);
    assert.deepEqual([done, kept.mounted], [['release', 'stop following', 'leave', 'close'], undefined]);
    assert.equal(await kept.letGo(), true);
    assert.equal(done.length, 4, 'once');
  });

  it('is not asked for again where its overlays are down, and not let go of while a command runs', async () => {
    const down = stage();
    down.mounted.isDown = true;
    assert.equal(await down.kept.letGo(), true);
    assert.deepEqual(down.done, ['stop following', 'leave']);
    const busy = stage();
    busy.mounted.running.add({ text: 'make' });
    await busy.kept.rest(busy.held);
    assert.deepEqual([busy.done, busy.kept.mounted === undefined], [['close'], false]);
  });

  it('is free where its jail has ended, in use where something runs, and an error otherwise', async () => {
    const { kept, state } = stage();
    state.left = refusal('EPIPE');
    assert.equal(await kept.release(), true);
    state.left = refusal('EBUSY');
    assert.equal(await kept.release(), false);
    state.left = refusal('EIO');
    await assert.rejects(kept.release(), { code: 'EIO' });
  });

  it('is looked at again while something that a command left runs, and then is free by itself', async () => {
    const { kept, done, state, held, turns } = stage();
    state.left = refusal('EBUSY');
    await kept.rest(held);
    assert.deepEqual(done, ['release', 'close']);
    const until = async (count: number) => {
      for (let looks = 0; looks < 1000 && done.length < count; looks += 1) await sleep(10);
    };
    await until(5);
    assert.deepEqual(done.slice(2, 5), ['lock', 'release', 'unlock'], 'still in use');
    state.left = undefined;
    const before = done.length;
    await until(before + 5);
    assert.deepEqual(done.slice(-5), ['lock', 'release', 'stop following', 'leave', 'unlock']);
    assert.equal(kept.mounted, undefined);
    const all = done.length;
    await sleep(backgroundLookMilliseconds + 50);
    assert.equal(done.length, all, 'nobody looks any more');
    (await turns.take())();
  });

  it('whose store was removed while something runs in it is not looked at any more', async () => {
    const { kept, done, state, mounted, turns, held } = stage();
    state.left = refusal('EBUSY');
    mounted.fork.lock.takeAgain = async () => {
      done.push('gone');
      throw new ErrnoError('ENOENT', { operation: 'open the fork', reason: 'of a test' });
    };
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      await kept.rest(held);
      mock.timers.tick(backgroundLookMilliseconds);
    } finally {
      mock.timers.reset();
    }
    (await turns.take())();
    assert.deepEqual(done.slice(-2), ['gone', 'unlock']);
    await kept.unwatch();
  });

  it('ends with its jail where what was left in it is beyond a limit', async () => {
    const { kept, done, state, held } = stage({ quota: { inodes: 3 } });
    state.left = refusal('EBUSY');
    await kept.rest(held);
    await until(() => done.includes('end'), 'the jail is ended');
    assert.ok(done.filter((each) => each === 'release').length > leftLooks, 'first it is looked at again and again');
    assert.ok(done.includes('the fork and'), 'it is said why');
    await kept.unwatch();
  });

  it('goes on where what is beyond a limit is just about to end', async () => {
    const { kept, done, state, held } = stage({ quota: { inodes: 3 } });
    state.left = refusal('EBUSY');
    await kept.rest(held);
    await until(() => done.filter((each) => each === 'release').length > 2, 'it is looked at again');
    state.left = undefined;
    await until(() => done.includes('leave'), 'it is let go of');
    await sleep(2 * leftLookMilliseconds);
    assert.ok(!done.includes('end'), done.join());
    assert.equal(kept.mounted, undefined);
  });

  it('ends with its jail where what is left beyond a limit cannot be looked at', async () => {
    const { kept, done, state, held } = stage({ quota: { inodes: 3 } });
    state.left = refusal('EBUSY');
    await kept.rest(held);
    state.left = refusal('EIO');
    await until(() => done.includes('end'), 'the jail is ended');
    state.left = refusal('EPIPE');
    assert.ok(done.filter((each) => each === 'release').length < leftLooks);
  });

  it('gives its lock back also where what is left in it cannot be counted', async () => {
    const { kept, done, state, held } = stage({ quota: { inodes: 300 }, program: '/nonexistent/tree' });
    state.left = refusal('EBUSY');
    await assert.rejects(kept.rest(held));
    assert.ok(done.includes('close'));
    const broken = stage();
    broken.state.left = refusal('EIO');
    await assert.rejects(broken.kept.rest(broken.held), { code: 'EIO' });
    assert.deepEqual(broken.done, ['release', 'close']);
  });

  it('is not followed where it is read-only, or followed already', () => {
    const { kept, mounted } = stage();
    const { followed } = mounted;
    kept.follow(mounted as unknown as MountedFork);
    assert.equal(mounted.followed, followed);
    const other = { ...mounted, isReadOnly: true, followed: undefined };
    kept.follow(other as unknown as MountedFork);
    assert.equal(other.followed, undefined);
  });
});

describe('what the commands of a kept jail wrote', () => {
  const { at, write } = freshPlace();

  it('is on the disk when the jail has ended', async () => {
    write('project/file', 'text');
    const store = openStore(at('store'));
    const host = { store, tree, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home: '/nonexistent' };
    const origin = at('project');
    const { owner } = placeOf(host as unknown as Host, origin);
    const asked = { store, tree, origin, owner, wait: true, purpose: 'test' };
    const opened = await openFork(asked);
    const { fork } = saveCheckpoint(opened, { automatic: true, reason: 'a command' });
    const isSynced = () => readNewest(fork.place.directory)?.boot === undefined;
    assert.equal(isSynced(), false);
    const kept = () =>
      new KeptFork(host as unknown as Host, { origin, fork: 'main' } as Equipment, new Turns(), undefined as never);
    await kept().end();
    assert.equal(isSynced(), false, 'somebody else uses it: left for later');
    closeFork(fork);
    await kept().end();
    assert.equal(isSynced(), true);
    rmSync(origin, { recursive: true });
    await kept().end();
  });
});

describe('a command of a kept jail', () => {
  const kept = { cwd: '/a', environmentAdditions: ['A=1'], fork: 'main' } as unknown as KeptJailRequest;
  const command = { argv: ['true'], cwd: '/b', environmentAdditions: ['B=2'] } as unknown as KeptCommand;

  it('adds to what the jail was started with, and takes none of its limits away', () => {
    const { cwd, argv, environmentAdditions, fork, readonly, wait, streams } = requestFor(
      kept,
      command,
    ) as ExecRequest & {
      fork: string;
    };
    assert.deepEqual([cwd, argv, environmentAdditions, fork], ['/b', ['true'], ['A=1', 'B=2'], 'main']);
    assert.deepEqual([readonly, wait, streams], [false, false, 'capture']);
    for (const [ofJail, ofCommand, expected] of [
      [true, undefined, true],
      [true, false, true],
      [undefined, true, true],
      [false, false, false],
    ] as const) {
      const asked = { ...kept, readonly: ofJail } as unknown as KeptJailRequest;
      assert.equal(requestFor(asked, { ...command, readonly: ofCommand } as KeptCommand).readonly, expected);
    }
  });

  it('has as its input what it was given, something unknown where it reads a pipe, and nothing otherwise', () => {
    const input = (given: object) => requestFor(kept, { ...command, ...given } as KeptCommand).input;
    const speaks = (how: string) => ({ conversation: { input: how, onOutput: () => undefined } });
    assert.deepEqual(
      [input({}), input(speaks('nothing')), input(speaks('pipe')), input({ ...speaks('pipe'), input: 'nothing' })],
      ['nothing', 'nothing', 'unknown', 'nothing'],
    );
  });
});
