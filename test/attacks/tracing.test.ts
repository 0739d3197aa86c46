/** Debuggers work inside: what they could be used for against the jail is tried, and where it is held, shown to work without it. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { inKeptJail } from '../support/kept-jail.js';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;

forEachUser((user) => {
  const stage = useStage(user);

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
      const { exitCode, stdout } = await stage.exec(withTracer(), ['./tracer', 'parent']);
      assert.deepEqual([exitCode, stdout?.text], [0, 'went on\n']);
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
          const [kept, beside, others] = await Promise.all([
            run('./tracer', 'keep'),
            run('echo', 'beside'),
            run('./tracer', 'others'),
          ]);
          assert.deepEqual([kept.code, kept.stdout], [7, 'kept\n'], kept.stderr);
          assert.equal(beside.stdout, 'beside\n', beside.stderr);
          assert.equal(others.stdout, 'attached 0\n', others.stderr);
          assert.equal((await run('echo', 'after')).stdout, 'after\n');
        },
        { project },
      );
    });
  });
});
