/**
 * kill -9 of the process that owns a run: the record says that it began, and the next process that opens the fork says,
 * once, that it was interrupted and what it had done. CTX_TEST_SEED repeats a run, CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom, testSeed } from '../support/random.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 100 : 6;

forEitherUser(
  (user) => {
    const stage = useWarmStage(user);
    const runs = () => recordsOf(stage.store).filter(({ type }) => type === 'exec');

    test('a run that was killed is recorded as interrupted, once, with what it had changed', async () => {
      const project = stage.project();
      const script = 'echo half > made; echo ready; sleep 60';
      const running = stage.startCtx(project, ['exec', '--', 'sh', '-c', script]);
      await running.printed('ready');
      process.kill(running.pid, 'SIGKILL');
      await running.finished;
      assert.deepEqual(
        runs().map(({ status }) => status),
        ['begin'],
      );
      // Any verb that opens the fork says it; those after it have nothing to add.
      await stage.json(project, ['status', '--wait']);
      await stage.json(project, ['diff', '--wait']);
      await stage.exec(project, ['true']);
      const [begin, end, ...later] = runs();
      assert.equal(end?.facts?.['run'], begin?.facts?.['run']);
      assert.deepEqual(
        [end?.status, end?.facts?.['interrupted'], end?.facts?.['changes']],
        ['failed', true, ['added made']],
      );
      assert.deepEqual(
        later.map(({ status }) => status),
        ['begin', 'ok'],
      );
      const { code, stdout } = await stage.ctx(project, ['audit', 'verify']);
      assert.equal(code, 0, stdout);
    });

    test('a run on the directory itself that was killed is recorded as interrupted, once, and one that lives is not', async () => {
      const project = stage.project('chmod 777 .');
      const live = (script: string) => stage.startCtx(project, ['exec', '--live', '--', 'sh', '-c', script]);
      const waits = 'echo begun; until test -e enough; do sleep 0.1; done';
      const [killed, spared] = [live('echo begun; sleep 1000'), live(waits)];
      for (const run of [killed, spared]) await run.printed('begun');
      process.kill(killed.pid, 'SIGKILL');
      await killed.finished;
      const name = runs().find(({ facts }) => String(facts?.['argv']).includes('sleep 1000'))?.facts?.['run'];
      const of = (run: unknown) => runs().filter(({ facts }) => facts?.['run'] === run);
      const inspected = await stage.json(project, ['inspect', String(name)]);
      assert.equal(inspected['state'], 'interrupted');
      // A process that comes later has nothing to add.
      await Promise.all([
        stage.exec(project, ['true']),
        stage.ctx(project, ['exec', '--live', '--', 'touch', 'enough']),
      ]);
      assert.equal((await spared.finished).code, 0);
      await stage.exec(project, ['true']);
      assert.deepEqual(
        of(name).map(({ status, facts }) => [status, facts?.['interrupted'] ?? false]),
        [
          ['begin', false],
          ['failed', true],
        ],
      );
      const interrupted = runs().filter(({ facts }) => facts?.['live'] === true && facts?.['interrupted'] === true);
      assert.equal(interrupted.length, 1);
      assert.deepEqual(readdirSync(join(stage.store, 'live')), []);
    });

    test(`killed at ${rounds} random moments, each run has one end, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + user.uid);
      const project = stage.project();
      for (let round = 0; round < rounds; round += 1) {
        const inKeptJail = round % 3 === 2;
        if (inKeptJail) await stage.ctx(project, ['jail', 'start']);
        const argv = ['exec', '--wait', '--', 'sh', '-c', `echo ${round} > made-${round}; sleep 0.3`];
        const running = stage.startCtx(project, argv);
        await sleep(random() * 700);
        // The owner of a command in a kept jail is the process that keeps it.
        const { jails } = parseJson((await stage.ctx(project, ['jail', 'list', '--json'])).stdout) as {
          jails: { pid: number }[];
        };
        for (const pid of inKeptJail ? jails.map((each) => each.pid) : [running.pid]) {
          try {
            process.kill(pid, 'SIGKILL');
          } catch (error) {
            assert.match(String(error), /ESRCH/);
          }
        }
        await running.finished;
      }
      await stage.exec(project, ['true']);
      const all = runs();
      for (const name of new Set(all.map(({ facts }) => facts?.['run']))) {
        const records = all.filter(({ facts }) => facts?.['run'] === name);
        const isBegin = records.map(({ status }) => status === 'begin');
        assert.deepEqual(isBegin, [true, false], JSON.stringify(records));
      }
    });
  },
  { concurrency: 1 },
);
