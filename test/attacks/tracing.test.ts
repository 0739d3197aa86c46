/** Debuggers work inside: what they could be used for against the jail is tried, and where it is held, shown to work without it. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { inKeptJail } from '../support/kept-jail.js';
import { ownSeconds, processesCalled, until } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;

forEachUser((user) => {
  const stage = useWarmStage(user);

  describe('a tracer', () => {
    const volley = useVolley(stage, { programs: skip === false ? ['tracer'] : [] });
    const led = (name: string) => `./tracer inject ${name} | sed 's/^won .*/won/'`;

    volley.attack('leads no process into a refused call: it is judged after the tracer', led('unshare'), {
      skip: skip || (process.arch === 'x64' ? false : 'registers of x86'),
      refusedAnyway: 'this host gives no user namespaces',
      inside: (output) => assert.match(output, /lost -1/),
    });
    for (const [name, what] of [
      ['x32', 'numbers'],
      ['segment', 'segment'],
    ] as const) {
      volley.attack(`leads no process to another table of calls by its ${what}`, led(name), {
        skip: skip || (process.arch === 'x64' ? false : 'registers of x86'),
        refusedAnyway: 'this kernel has no such table',
      });
    }
    volley.attack('switches no filter off', './tracer option', {
      skip,
      refusedAnyway: 'the kernel gives it to root alone',
    });
    volley.attack('reads no filter', './tracer filter', { skip, refusedAnyway: 'nothing has a filter there' });
    volley.attack('does not get hold of pid 1', './tracer init', { skip, refusedAnyway: 'it is another user’s' });
  });

  describe('tracing and the owner', () => {
    let program = '';
    before(() => {
      if (skip === false) program = compileAttackProgram(stage.directory, 'tracer');
    });
    const withTracer = () => {
      const project = stage.project();
      copyFileSync(program, join(project, 'tracer'));
      return project;
    };

    test('a command that asks to be traced by its parent goes on, its signals included', { skip }, async () => {
      for (const what of ['parent', 'trap']) {
        const { exitCode, stdout } = await stage.exec(withTracer(), ['./tracer', what]);
        assert.deepEqual([exitCode, stdout?.text], [0, 'went on\n'], what);
      }
    });

    test('a tracer that keeps the status of the command keeps it from nobody', { skip }, async () => {
      const { exitCode, stdout } = await stage.exec(withTracer(), ['./tracer', 'keep']);
      assert.deepEqual([exitCode, stdout?.text], [7, 'kept\n']);
    });

    test('in a kept jail it stops nobody else, and reaches no process of another command', { skip }, async () => {
      const project = withTracer();
      await inKeptJail(
        stage,
        async () => {
          const run = (...words: string[]) => stage.ctx(project, ['jail', 'exec', '--', ...words]);
          await run('sh', '-c', 'sleep 600 & sleep 600 &');
          const [kept, byThread, beside, others] = await Promise.all([
            run('./tracer', 'keep'),
            run('./tracer', 'keep-thread'),
            run('echo', 'beside'),
            run('./tracer', 'others'),
          ]);
          assert.deepEqual([kept.code, kept.stdout], [7, 'kept\n'], kept.stderr);
          assert.deepEqual([byThread.code, byThread.stdout], [7, 'kept\n'], byThread.stderr);
          assert.equal(beside.stdout, 'beside\n', beside.stderr);
          assert.equal(others.stdout, 'attached 0\n', others.stderr);
          assert.equal((await run('echo', 'after')).stdout, 'after\n');
        },
        { project },
      );
    });

    test('a debugger of the person’s, outside, keeps the status as long as it wants, and is not ended', { skip }, () =>
      inKeptJail(stage, async ({ project }) => {
        const seconds = ownSeconds();
        const command = stage.startCtx(project, ['jail', 'exec', '--', 'sleep', seconds]);
        let [inside] = processesCalled('sleep', seconds);
        await until(() => {
          [inside] = processesCalled('sleep', seconds);
          return inside !== undefined;
        }, 'the command runs');
        const held = stage.start(project, [program, 'hold', String(inside)]);
        try {
          await held.printed('held');
          process.kill(inside ?? 0, 'SIGKILL');
          // Longer than a tracer that is inside has.
          await sleep(3_000);
          assert.equal(held.child.exitCode ?? held.child.signalCode, null, 'it lives');
        } finally {
          held.child.kill('SIGKILL');
          await held.finished;
        }
        assert.equal((await command.finished).code, 137);
      }),
    );
  });
});
