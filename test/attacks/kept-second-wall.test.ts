/**
 * Walls of a kept jail that are behind others: against a process that an earlier command left, with Landlock, the list of processes or
 * both taken away.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Operation } from '../../src/jail/operation.js';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { type BareKeptJail, bareJail, type PlanOptions } from '../support/bare-jail.js';

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
      assert.equal(await kept.run(shell(`${hunt} hunt jail 19 > /home/user/hits 2>&1 &`, options)), 0);
      const met = () => readFileSync(hits, 'utf8').split('\n').filter(Boolean);
      for (let start = 0; start < 200 && met().filter((each) => each === 'met').length < 5; start += 1) {
        assert.equal(await kept.run(slowly(shell(':', options))), 0);
      }
      assert.deepEqual(new Set(met()), new Set(['met']), 'it was there in time, and won nothing');
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

  it('go at once where nothing is left', () =>
    keeping(blind, async (kept) => {
      assert.equal(await kept.run(shell('(exit 3) & (exit 4) & wait', options)), 0);
      assert.match(await kept.release(), /released$/);
    }));
});
