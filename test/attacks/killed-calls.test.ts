/**
 * kill -9 of the process that takes part in calls of tools, at any time: callers end with an error, and nothing is
 * left.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonToSkip } from '../support/fuse-in-jail.js';
import { inKeptJail } from '../support/kept-jail.js';
import { assertNothingLeft, processesMounting } from '../support/leftovers.js';
import { until } from '../support/process.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';
import { type Stage, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 100 : 5;
const random = randomFrom(testSeed);

/** Calls of all kinds without end; the exit codes of those that failed. */
const calls = `while :; do
  /ctx/tool/fs.read '{"path":"file"}' > /dev/null 2>&1 || echo $?
  /ctx/tool/slow '{}' > /dev/null 2>&1 || echo $?
  /ctx/tool/shell.exec '{"cmd":"sleep 0.05"}' > /dev/null 2>&1 || echo $?
done`;

async function prepared(stage: Stage, name: string): Promise<string> {
  const project = stage.project('echo one > file');
  const program = join(stage.directory, `slow-${name}`);
  writeFileSync(program, '#!/bin/sh\ncat; sleep 0.05\n', { mode: 0o755 });
  const tools = ['fs.read', 'slow', 'shell.exec'];
  const policy = tools.map((tool) => `allow ${name}_t tool:${tool} execute\n`).join('');
  for (const words of [
    ['agent', 'new', name],
    ['agent', 'set', name, 'policy', policy],
    ...(readdirSync(join(stage.store, 'ctx')).includes('tool') ? [] : [['tool', 'new', 'slow', '--exec', program]]),
  ]) {
    const { code, stderr } = await stage.ctx(project, words);
    assert.equal(code, 0, stderr);
  }
  return project;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return ''; // ended meanwhile
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended meanwhile: that is what was wanted.
  }
}

/** The jail takes it away when the process that made it was killed. */
async function noSocketIsLeft(stage: Stage): Promise<void> {
  const views = join(stage.store, 'view');
  await until(() => readdirSync(views).length === 0, 'no socket is left');
}

/** Whatever was killed, the next command clears away. */
async function nothingIsLeft(stage: Stage, project: string, agent: string): Promise<void> {
  await assertNothingLeft(project);
  const { code, stdout, stderr } = await stage.ctx(project, [
    'exec',
    '--agent',
    agent,
    '--',
    '/ctx/tool/fs.read',
    '{"path":"file"}',
  ]);
  assert.deepEqual([code, stdout], [0, 'one\n'], stderr);
  await assertNothingLeft(project);
  assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
}

forUsersInTurn((user, turn) => {
  const skip = reasonToSkip(user);
  describe('killed in the middle of calls', skip === undefined ? { concurrency: 1 } : { skip }, () => {
    const stage = useStage(user);

    test('the owner of a command, or a program of its jails', async (t) => {
      const project = await prepared(stage, 'killed');
      for (let round = 0; round < rounds && hasSoakTime(); round += 1) {
        const running = stage.startCtx(project, ['exec', '--agent', 'killed', '--', 'sh', '-c', calls]);
        await sleep(200 + random() * 600);
        const jails = processesMounting(project).filter((pid) => commandOf(pid) === 'jail');
        const victim = round % 2 === 0 ? running.pid : (jails[Math.floor(random() * jails.length)] ?? running.pid);
        t.diagnostic(`round ${round}: ${victim === running.pid ? 'the owner' : 'a jail'}`);
        kill(victim);
        // A tool's jail is not its caller's: that one goes on, and is ended here.
        const ended = await Promise.race([running.finished, sleep(1_500)]);
        if (ended === undefined) kill(running.pid);
        const { code, signal } = await running.finished;
        assert.ok(code !== 0 || signal !== null, 'it does not end well');
        await assertNothingLeft(project);
        // One that was killed before it had a jail leaves that to the next.
        if (jails.length > 0) await noSocketIsLeft(stage);
      }
      await nothingIsLeft(stage, project, 'killed');
    });

    turn.test('clients: the call ends, with what it ran, and the caller goes on', async () => {
      const project = await prepared(stage, 'client');
      const running = stage.startCtx(project, [
        ...['exec', '--agent', 'client', '--', 'sh', '-c'],
        `n=0; while [ $n -lt ${rounds} ]; do /ctx/tool/shell.exec '{"cmd":"exec sleep 30"}' 2>/dev/null; echo $?; n=$((n + 1)); done`,
      ]);
      for (let round = 0; round < rounds; ) {
        const client = processesMounting(project).find((pid) => commandOf(pid) === 'shell.exec');
        const isAtWork = processesMounting(project).some((pid) => commandOf(pid) === 'sleep');
        if (client === undefined || !isAtWork) await sleep(5);
        else {
          await sleep(random() * 50);
          kill(client);
          round += 1;
          while (processesMounting(project).includes(client)) await sleep(5);
        }
      }
      const { stdout, code } = await running.finished;
      assert.deepEqual([code, stdout], [0, '137\n'.repeat(rounds)]);
      await nothingIsLeft(stage, project, 'client');
    });

    turn.test('the process that keeps a jail', async (t) => {
      const project = await prepared(stage, 'keeping');
      for (let round = 0; round < Math.ceil(rounds / 2) && hasSoakTime(); round += 1) {
        await inKeptJail(
          stage,
          async ({ pid }) => {
            const running = stage.startCtx(project, ['jail', 'exec', '--', 'sh', '-c', calls]);
            await sleep(100 + random() * 400);
            kill(pid);
            const { code, signal } = await running.finished;
            assert.ok(code !== 0 || signal !== null, 'it does not end well');
          },
          { project, options: ['--agent', 'keeping'] },
        );
        await assertNothingLeft(project);
        await noSocketIsLeft(stage);
        t.diagnostic(`round ${round}`);
      }
      await nothingIsLeft(stage, project, 'keeping');
    });
  });
});
