/**
 * Servers of tool sources, callers and owners killed at any time during calls: callers end with an error, the next call
 * works, and no process, mount or socket is left. CTX_TEST_SEED repeats the choices; CTX_SOAK=1 makes it a hundred
 * deaths.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentWith, executes, ok, withoutViews } from '../support/agents.js';
import { processesMounting } from '../support/leftovers.js';
import { processesCalled, until } from '../support/process.js';
import { randomFrom, testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { add, serverOf } from '../support/tool-sources.js';
import { forEitherUser } from '../support/users.js';

const deaths = process.env['CTX_SOAK'] === '1' ? 100 : 4;
const call = `/ctx/tool/mcp.mortal.echo '{"text": "alive"}'`;
/** Until it is killed; the exit code of each call that fails. */
const calling = `while :; do timeout 20 ${call} 2>/dev/null || echo "failed $?"; done`;

/** Of views: those of killed owners are taken away by the next one. */
function ownersIn(views: string): readonly number[] {
  return readdirSync(views)
    .map((name) => Number.parseInt(name, 10))
    .filter((pid) => existsSync(`/proc/${pid}`));
}

forEitherUser((user) => {
  describe('a source whose', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useStage(user);
    const random = randomFrom(testSeed);
    const moment = () => sleep(random() * 400);
    const servers = () => processesCalled('node', serverOf(stage), 'good');

    test('server is killed fails the calls that wait with 69, and the next one starts another', async () => {
      const project = stage.project();
      const { code, stderr } = await add(stage, project, 'mortal');
      assert.equal(code, 0, stderr);
      await agentWith(stage, project, 'killer', ...executes('mcp.mortal.echo', 'mcp.mortal.misbehave'));
      const running = stage.startCtx(project, ['exec', '--agent', 'killer', '--', 'sh', '-c', calling]);
      for (let death = 0; death < deaths; death += 1) {
        await until(() => servers().length === 1, 'a server runs');
        await moment();
        for (const pid of servers()) process.kill(pid, 'SIGKILL');
      }
      await until(() => servers().length === 1, 'another one runs');
      running.child.kill('SIGTERM');
      const { stdout } = await running.finished;
      const lines = new Set(stdout.split('\n').filter((line) => line !== ''));
      lines.delete('failed 69');
      assert.deepEqual([...lines], ['alive']);
      assert.deepEqual([servers(), readdirSync(join(stage.store, 'view'))], [[], []]);
    });

    test('owner or caller is killed has no server left, and is called again', async () => {
      const project = stage.project();
      const hang = `timeout -s KILL 0.3 /ctx/tool/mcp.mortal.misbehave '{"way": "hang"}'; echo "killed $?"; ${call}`;
      const words = (script: string) => ['exec', '--agent', 'killer', '--', 'sh', '-c', script];
      assert.equal(await ok(stage, project, words(hang)), 'killed 137\nalive\n');
      for (let death = 0; death < deaths / 2; death += 1) {
        const running = stage.startCtx(project, words(calling));
        if (random() < 0.7) await running.printed('alive');
        await moment();
        process.kill(ownersIn(join(stage.store, 'view'))[0] ?? running.pid, 'SIGKILL');
        await running.finished;
        await until(() => servers().length === 0 && processesMounting(project).length === 0, 'nothing of it runs');
      }
      assert.equal(await ok(stage, project, ['tool', 'call', 'mcp.mortal.echo', '{"text": "again"}']), 'again\n');
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });
  });
});
