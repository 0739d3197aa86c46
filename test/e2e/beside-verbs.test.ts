/** Verbs of the person while commands are at work on the fork: what must end first is said, what waits is said, and `ctx ps` shows who lives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Living } from 'ctxfs';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { inKeptJail } from '../support/kept-jail.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const untilStopped = 'until test -e stop; do sleep 0.02; done';

async function runningOf(stage: Stage, project: string): Promise<readonly Living[]> {
  const { running } = (await stage.json(project, ['ps'])) as unknown as { running: readonly Living[] };
  return running.filter(({ origin }) => origin === project);
}

asOneUser((user) => {
  const stage = useWarmStage(user);
  const start = (project: string, script: string, ...options: string[]) =>
    stage.startCtx(project, ['exec', ...options, '--timeout', '90s', '--', 'sh', '-c', script]);

  test('writing verbs name every command that must end first, change nothing, and with --wait act after the last', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo first > first');
    const servers = [start(project, `echo up; echo 1 > one; ${untilStopped}`, '--json', '--stream')];
    await servers[0]?.printed('up');
    servers.push(start(project, `echo up; echo 2 > two; ${untilStopped}`, '--json', '--stream'));
    await servers[1]?.printed('up');
    stage.shell(project, 'echo mine > mine');
    // Followed meanwhile, or waiting still: a number either way.
    const { waiting: unseen } = await stage.json(project, ['status']);
    assert.ok(unseen === 0 || unseen === 1, JSON.stringify(unseen));

    for (const words of [
      ['apply'],
      ['apply', '--to', project],
      ['rollback'],
      ['checkpoint', 'save', 'now'],
      ['checkpoint', 'delete', '1'],
      ['drop'],
      ['flatten'],
    ]) {
      const { code, stderr } = await stage.ctx(project, words);
      assert.notEqual(code, 0, words.join(' '));
      for (const [pid, command] of [
        [servers[0]?.pid, 'echo 1 > one'],
        [servers[1]?.pid, 'echo 2 > two'],
      ]) {
        assert.match(
          stderr,
          new RegExp(`process ${pid} is using it: sh -c echo up; ${command}.*\\(since 2`),
          words.join(),
        );
      }
      assert.match(
        stderr,
        /EBUSY\)\n {2}try: wait for all of them to end, or pass --wait; ctx ps shows how to end each/,
      );
    }
    // One that was left by Ctrl-Z would be waited for without an end.
    process.kill(servers[1]?.pid ?? 0, 'SIGSTOP');
    const { stderr: told } = await stage.ctx(project, ['apply']);
    process.kill(servers[1]?.pid ?? 0, 'SIGCONT');
    assert.match(
      told,
      new RegExp(`process ${servers[0]?.pid} is using it: .*process ${servers[1]?.pid} is using it, stopped`),
    );
    const living = await runningOf(stage, project);
    assert.deepEqual(
      living.map(({ kind, pid, holdsFork, end }) => [kind, pid, holdsFork, end]),
      servers.map(({ pid }) => ['command', pid, true, `ctx stop ${pid}`]),
    );
    assert.ok(living.every(({ bytes, processes }) => bytes > 0 && processes > 1));

    const applying = stage.startCtx(project, ['apply', '--wait', '--json']);
    const waiting = applying.finished;
    const ended = stage.startCtx(project, ['exec', '--wait', '--', 'true']);
    for (const { printed } of [applying, ended]) await printed('waiting until');
    ended.child.kill('SIGINT');
    assert.match((await ended.finished).stderr, /: it was cancelled while it waited for the commands that use it/);
    const third = parseJson((await stage.ctx(project, ['exec', '--json', '--', 'sh', '-c', 'ls; touch stop'])).stdout);
    assert.equal((third as Envelope).stdout?.text, 'a\nfirst\nmine\none\ntwo\n', 'the edit is there');
    for (const { finished } of servers)
      assert.doesNotMatch((await finished).stdout, /"path":"mine"/, 'and is no change of theirs');
    const waited = await waiting;
    assert.equal(waited.code, 0);
    assert.match(
      waited.stderr,
      new RegExp(`^ctx: waiting until no other command .*process ${servers[0]?.pid} is .*\\n$`),
    );
    assert.equal(stage.shell(project, 'ls'), 'a\nfirst\nmine\none\nstop\ntwo\n');
    assert.equal(await stage.inside(project, 'cat mine'), 'mine\n');
    assert.deepEqual(await runningOf(stage, project), []);
  });

  test('nothing deletes a fork, or its vault, that a command works on', async () => {
    const project = stage.project('echo base > a');
    assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
    assert.equal((await stage.ctx(project, ['vault', 'set', project, '--name', 'busy'])).code, 0);
    const server = start(project, `echo up; echo 1 > one; ${untilStopped}; cat one`, '--fork', 'other');
    await server.printed('up');
    for (const words of [
      ['fork', 'delete', 'other'],
      ['vault', 'delete', 'busy'],
    ]) {
      const { code, stderr } = await stage.ctx(project, words);
      assert.notEqual(code, 0, words.join(' '));
      assert.match(
        stderr,
        new RegExp(`process ${server.pid} is using it: sh -c echo up; .*\\(EBUSY\\)`),
        words.join(' '),
      );
    }
    assert.equal((await stage.ctx(project, ['gc'])).code, 0);
    assert.equal(
      (await stage.ctx(project, ['exec', '--fork', 'other', '--', 'sh', '-c', 'cat one; touch stop'])).stdout,
      '1\n',
    );
    const { code, stdout } = await server.finished;
    assert.deepEqual([code, stdout], [0, 'up\n1\n']);
    assert.equal((await stage.ctx(project, ['fork', 'delete', 'other'])).code, 0);
  });

  test('ctx ps shows a kept jail, idle and at work, and ends by what it says', () =>
    inKeptJail(stage, async ({ project, pid }) => {
      const [idle, ...none] = await runningOf(stage, project);
      assert.deepEqual(none, []);
      assert.deepEqual([idle?.kind, idle?.pid, idle?.what, idle?.holdsFork], ['kept jail', pid, 'idle', false]);
      assert.ok((idle?.processes ?? 0) >= 3 && (idle?.bytes ?? 0) > 0);
      const server = stage.startCtx(project, ['exec', '--', 'sh', '-c', `echo up; ${untilStopped}`]);
      await server.printed('up');
      const [busy] = await runningOf(stage, project);
      assert.deepEqual([busy?.kind, busy?.pid, busy?.holdsFork], ['kept jail', pid, true]);
      assert.match(busy?.what ?? '', /^sh -c echo up/);
      const [verb = '', ...words] = (busy?.end ?? '').replace(/ in that directory$/, '').split(' ');
      assert.equal(verb, 'ctx');
      assert.equal((await stage.ctx(project, words)).code, 0);
      await server.finished;
      assert.deepEqual(await runningOf(stage, project), []);
    }));

  test('a command that ctx ps says how to end is ended by that', async () => {
    const project = stage.project();
    const server = start(project, 'echo up; sleep 1000');
    await server.printed('up');
    const [found] = await runningOf(stage, project);
    assert.equal(found?.end, `ctx stop ${server.pid}`);
    const { code, stderr } = await stage.ctx(project, (found?.end ?? '').split(' ').slice(1));
    assert.equal(code, 0, stderr);
    assert.notEqual((await server.finished).code, 0);
    assert.match((await stage.ctx(project, ['ps'])).stdout, /nothing of ctx is running|^\d+ {2}/);
  });
});
