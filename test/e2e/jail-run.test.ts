/** `ctx jail run`: the same jail on a directory itself. And `ctx jail plan`, which only says what it would be. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LiveEnvelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  /** Root works for somebody: of its own directory it is nobody. */
  const owner = user.uid === 0 ? 1234 : user.uid;

  function ownProject(script: string): string {
    const project = stage.project(script);
    if (user.uid === 0) stage.shell(project, `chown -R ${owner}:${owner} .`);
    return project;
  }

  test('a command writes the directory itself, and report and record say that it cannot be undone', async () => {
    const project = ownProject('echo old > file; mkdir .ctx');
    const script =
      'echo new > file; echo x > made; id -u; (echo x > .ctx/x) 2> /dev/null || echo kept; echo h > ~/h; ls -A ~';
    const { stdout, stderr } = await stage.ctx(project, ['jail', 'run', '--json', '--', 'sh', '-c', script]);
    const envelope = parseJson(stdout, stderr) as LiveEnvelope;
    assert.equal(envelope.stdout?.text, `${owner}\nkept\nh\n`, envelope.stderr?.text);
    assert.deepEqual([envelope.live, envelope.workspace.fork], [[project], null]);
    assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'new\n');
    assert.equal(statSync(join(project, 'made')).uid, owner);
    const [ended] = recordsOf(stage.store).filter(({ type, status }) => type === 'exec' && status === 'ok');
    assert.equal((ended?.facts as { live?: boolean } | undefined)?.live, true);
    const { stderr: report } = await stage.ctx(project, ['jail', 'run', '--report', 'always', '--', 'true']);
    assert.match(report, /^ctx {2}exit 0 .* itself: cannot be undone\n/);
    // The home is gone with it, and no fork was made.
    assert.equal((await stage.ctx(project, ['jail', 'run', '--', 'sh', '-c', 'ls -A ~'])).stdout, '');
    assert.match((await stage.ctx(project, ['status'])).stderr, /ENOENT/);
  });

  test('it is the same jail: nothing else is written, read or reached', async () => {
    const project = ownProject(':');
    const outside = stage.makeDirectory('outside');
    stage.shell(outside, 'echo secret > file; chmod 777 .');
    const script = `cat ${outside}/file; echo x > ${outside}/new; echo x > /usr/x; unshare -U true; cat ${stage.store}/meta.json; true`;
    const { stdout } = await stage.ctx(project, ['jail', 'run', '--json', '--', 'sh', '-c', script]);
    const envelope = parseJson(stdout) as LiveEnvelope;
    assert.equal(envelope.stdout?.text, '');
    assert.deepEqual([existsSync(join(outside, 'new')), envelope.refusals[0]?.call], [false, 'unshare']);
    const limited = await stage.ctx(project, ['jail', 'run', '--disk', '1M', '--', 'true']);
    assert.equal(limited.code, 69);
    assert.match(limited.stderr, /limit a fork, and a command on the directory itself has none/);
  });

  turn.test('--dir runs it elsewhere, and refuses what is no project', async () => {
    const project = ownProject('echo here > file');
    const words = ['jail', 'run', '--dir', project, '--', 'cat', 'file'];
    assert.equal((await stage.ctx(stage.project(), words)).stdout, 'here\n');
    assert.equal((await stage.ctx(project, ['jail', 'run', '--dir', '/etc', '--', 'true'])).code, 2);
    assert.equal((await stage.ctx(project, ['jail', 'run', '--', 'no-such-program'])).code, 127);
  });

  turn.test('the plan of a directory and an agent is printed, and nothing is made', async () => {
    const project = stage.project();
    await stage.ctx(project, ['agent', 'new', 'planner']);
    await stage.ctx(project, ['agent', 'set', 'planner', 'env', 'GREETING=hi']);
    const words = ['jail', 'plan', 'planner', '--json', '--dir', project, '--', 'npm', 'test'];
    const { plan } = parseJson((await stage.ctx(stage.directory, words)).stdout) as { plan: Record<string, unknown>[] };
    assert.deepEqual(plan.at(-1), { do: 'command', argv: ['npm', 'test'] });
    assert.match(JSON.stringify(plan), /"GREETING":"hi"/);
    assert.match((await stage.ctx(project, ['status'])).stderr, /ENOENT/);
    assert.equal((await stage.ctx(project, ['jail', 'plan', 'npm', 'test'])).code, 2);
    assert.equal((await stage.ctx(project, ['jail', 'plan', 'one', '--agent', 'two'])).code, 2);
  });
});
