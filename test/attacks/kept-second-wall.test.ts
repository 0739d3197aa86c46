/**
 * Walls of a kept jail that are behind others: against a process that an earlier command left, with Landlock, the list of processes or
 * both taken away.
 */
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import type { Operation } from '../../src/jail/operation.js';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { type BareKeptJail, bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';
import { ownSeconds, processesCalled, until } from '../support/process.js';

const jail = bareJail();
if (cannotCompile === undefined) compileAttackProgram(join(jail.base, 'home'), 'hunt');
const hunt = '/home/user/hunt';
const skip = cannotCompile ?? false;

async function keeping(plan: readonly Operation[], use: (kept: BareKeptJail) => Promise<void>): Promise<void> {
  const kept = await jail.keep(plan);
  try {
    await use(kept);
  } finally {
    await kept.end();
  }
}

const shell = (script: string, options: PlanOptions) => jail.keptPlans(['sh', '-c', script], options).command;

describe('the next command, where Landlock keeps nobody apart', () => {
  /** Asked for after the identity is taken: so long is it a process of the same user, and not yet the program. */
  const slowly = (command: readonly Operation[]): Operation[] => {
    const again: Operation = { do: 'limit', resource: 4, value: 1n };
    const at = command.findIndex((operation) => operation.do === 'user') + 1;
    return [...command.slice(0, at), ...Array.from({ length: 3_000 }, () => again), ...command.slice(at)];
  };

  it('is not looked into before it is the program', { skip }, () => {
    const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
    const hits = join(jail.base, 'home', 'hits');
    return keeping(jail.keptPlans([], options).jail, async (kept) => {
      assert.equal(
        await kept.run(shell(`: > /home/user/hits; ${hunt} hunt jail 19 >> /home/user/hits 2>&1 &`, options)),
        0,
      );
      const met = () => readFileSync(hits, 'utf8').split('\n').filter(Boolean);
      for (let start = 0; start < 200 && met().filter((each) => each === 'met').length < 5; start += 1) {
        assert.equal(await kept.run(slowly(shell(':', options))), 0);
      }
      assert.deepEqual(new Set(met()), new Set(['met']), 'it was there in time, and won nothing');
    });
  });

  it('goes on where an earlier one stops it before it is the program', () => {
    const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
    const stops = join(jail.base, 'home', 'stops');
    // Whatever is a program by now goes on: one that is stopped after that stays so.
    const stopping = `: > /home/user/stops; while :; do for each in /proc/[1-9]*; do
      read name < $each/comm && [ $each != /proc/1 ] || continue
      if [ $name != jail ]; then kill -CONT \${each#/proc/}
      elif kill -STOP \${each#/proc/}; then echo stopped >> /home/user/stops; fi
    done; done 2> /dev/null &`;
    return keeping(jail.keptPlans([], options).jail, async (kept) => {
      assert.equal(await kept.run(shell(stopping, options)), 0);
      const count = () => readFileSync(stops, 'utf8').length;
      for (let start = 0; start < 200 && count() === 0; start += 1) {
        assert.equal(await kept.run(slowly(shell(':', options))), 0);
      }
      assert.notEqual(count(), 0, 'it was stopped');
    });
  });
});

describe('the mounts of a kept jail, where no list of processes can be had', () => {
  /** `/proc` is an empty directory: only pid 1 knows who is left. */
  const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
  const blind = jail
    .keptPlans([], options)
    .jail.filter(({ do: what }) => what !== 'make read only' && what !== 'mask')
    .map(
      (operation): Operation =>
        operation.do === 'proc' ? { do: 'directory', path: operation.path, mode: 0o755 } : operation,
    );
  const busy = /processes are running in the fork/;

  it('stay while a process is left, and go with the last', () =>
    keeping(blind, async (kept) => {
      assert.equal(await kept.run(shell('sleep 600 > /dev/null 2>&1 & echo $! > /home/user/left', options)), 0);
      assert.match(await kept.release(), busy);
      assert.equal(await kept.run(shell('test ! -e /proc/1 && kill $(cat /home/user/left)', options)), 0);
      for (let tries = 0; tries < 100 && busy.test(await kept.release()); tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.match(await kept.release(), /released$/);
      rmSync(join(jail.base, 'home', 'left'));
    }));

  for (const [what, script] of [
    ['a process whose first thread has ended', `${hunt} hide /home/user/number`],
    ['a process that is another one at every look', `${hunt} chain /home/user/number`],
    ['a process that collects no children', `sh -c 'sleep 0.01 & exec sleep 600' > /dev/null 2>&1 &`],
  ] as const) {
    it(`stay while there is ${what}`, { skip }, () =>
      keeping(blind, async (kept) => {
        assert.equal(await kept.run(shell(script, options)), 0);
        for (let tries = 0; tries < 50; tries += 1) assert.match(await kept.release(), busy);
      }),
    );
  }

  it('go at once where nothing is left, and no command runs without them', () =>
    keeping(blind, async (kept) => {
      assert.equal(await kept.run(shell('(exit 3) & (exit 4) & wait', options)), 0);
      assert.match(await kept.release(), /released$/);
      assert.match(String(await kept.run(shell(':', options))), /the fork is not mounted/);
    }));
});

describe('the mounts of a kept jail, where its first process has no such child', () => {
  const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
  /** A command may give its owner a child of its own: then its first process is not the one to collect it. */
  const given = `exec python3 -c '
import ctypes, os, platform
calls = ctypes.CDLL(None)
number, parent, ended = 220 if platform.machine() == "aarch64" else 56, 0x8000, 17
child = calls.syscall(number, parent | ended, 0, 0, 0, 0)
if child == 0: os.execvp("sleep", ["sleep", "600"])
open("/home/user/given", "w").write(str(child))' > /dev/null 2>&1`;

  it('stay while what a command gave its owner for a child is running', () =>
    keeping(jail.keptPlans([], options).jail, async (kept) => {
      assert.equal(await kept.run(shell(given, options)), 0);
      assert.equal(await kept.run(shell('kill -0 $(cat /home/user/given)', options)), 0, 'it is there');
      assert.match(await kept.release(), /processes are running in the fork/);
      assert.equal(await kept.run(shell(': > /workspace/still-mounted', options)), 0);
    }));
});

describe('overlays of a kept jail', () => {
  const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
  const { jail: whole } = jail.keptPlans([], options);
  const isOverlay = (operation: Operation) => operation.do === 'overlay';
  const overlay = whole.flatMap((operation) => (operation.do === 'overlay' ? [operation] : []));
  const mountsOf = (pid: number) => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').match(/ - overlay ctx-/g) ?? [];

  it('are all mounted, or none', () =>
    keeping(whole, async (kept) => {
      assert.equal(mountsOf(kept.pid).length, 1);
      assert.match(await kept.release(), /released$/);
      assert.equal(mountsOf(kept.pid).length, 0, 'released');
      // The second is made, and has no place.
      for (const name of ['other', 'other-work']) {
        mkdirSync(join(jail.base, name));
        if (bareUser.uid !== undefined) chownSync(join(jail.base, name), bareUser.uid, bareUser.gid);
      }
      const other = { upper: 'other', work: 'other-work', target: '/etc/passwd/inner' };
      const both = [...overlay, ...overlay.map((operation): Operation => ({ ...operation, ...other }))];
      assert.match(await kept.mount(both), / failed /);
      assert.match(String(await kept.run(shell(':', options))), /the fork is not mounted/);
      assert.equal(mountsOf(kept.pid).length, 0);
      assert.match(await kept.mount(overlay), /mounted$/);
      assert.equal(await kept.run(shell(': > /workspace/made', options)), 0);
    }));

  it('are joined by what they are, and not by their place', async () => {
    const joining = (pid: number) =>
      jail
        .plan(['sh', '-c', 'test -e /workspace/of-fork'], options)
        .map((operation) => (operation.do === 'overlay' ? { ...operation, holders: [pid] } : operation));
    await keeping(whole, async (kept) => {
      assert.equal(await kept.run(shell(': > /workspace/of-fork', options)), 0);
      assert.equal(await jail.run(joining(kept.pid)), 0, 'the fork is joined');
    });
    const over: Operation = { do: 'tmpfs', path: '/workspace', mode: 0o777, attributes: [] };
    const covered = whole.flatMap((operation): Operation[] => (isOverlay(operation) ? [operation, over] : [operation]));
    await keeping(covered, async (kept) => {
      assert.match(String(await jail.run(joining(kept.pid))), / failed /, 'what covers it is not');
    });
  });
});

it('what runs inside ends with the process that made the jail, though its owner is stopped', async () => {
  const seconds = ownSeconds();
  const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
  const kept = await jail.keep(jail.keptPlans([], options).jail);
  assert.equal(await kept.run(shell(`sleep ${seconds} > /dev/null 2>&1 &`, options)), 0);
  await until(() => processesCalled('sleep', seconds).length === 1, 'it runs');
  process.kill(kept.pid, 'SIGSTOP');
  const ended = kept.end();
  try {
    await until(() => processesCalled('sleep', seconds).length === 0, 'it has ended', 30);
  } finally {
    process.kill(kept.pid, 'SIGCONT');
    await ended;
  }
});

it('beside the command that a jail is made for, its fork is not taken away', async () => {
  const plan = jail.plan(['sleep', '0.5'], { weakened: ['landlock', 'seccomp'] });
  const { release, overlays, resize, commandWithTerminal } = request;
  const said = await jail.runAsked(plan, [release, overlays, resize, commandWithTerminal]);
  for (const id of [1, 2, 3, 4]) assert.match(said, new RegExp(`^${id} failed .*an unknown request$`, 'm'), said);
  assert.match(said, /^0 exited 0 /m);
});
