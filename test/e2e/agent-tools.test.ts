/** Tools that change a fork or other agents, and control files that an agent writes of those that descend from it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agentWith, exec, executes, ok, withoutViews } from '../support/agents.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** `EXIT CODE WHAT IT SAID` of each. */
async function calls(stage: Stage, cwd: string, agent: string, ...scripts: readonly string[]): Promise<string[]> {
  const script = scripts.map((each) => `out=$( ${each} 2>&1 ); printf '%s %s\\036' $? "$out"`).join('\n');
  const { stdout } = await exec(stage, cwd, agent, script);
  return (stdout?.text ?? '').split('\x1e').slice(0, -1);
}

const tool = (name: string, input: unknown) => `/ctx/tool/${name} '${JSON.stringify(input)}'`;
/** The errno of one write, which a shell does not say. */
const writing = (path: string, text: string) =>
  `node -e 'try { require("fs").writeFileSync("${path}", ${JSON.stringify(text)}); console.log("written") } catch (error) { console.log(error.code) }'`;

function matchAll(answers: readonly string[], wanted: readonly RegExp[]): void {
  for (const [index, pattern] of wanted.entries()) assert.match(answers[index] ?? '', pattern, `answer ${index}`);
}

forEitherUser((user) => {
  describe('what an agent does to forks and agents', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('a checkpoint and a rollback that it asks for happen when its command has ended, in their order', async () => {
      const project = stage.project('echo 0 > file');
      await agentWith(stage, project, 'forker', ...executes('fork.checkpoint', 'fork.rollback', 'shell.exec'));
      const first = await exec(
        stage,
        project,
        'forker',
        `echo 1 > file; ${tool('fork.checkpoint', { name: 'one' })}; echo 2 > file`,
      );
      assert.match(first.stdout?.text ?? '', /^a checkpoint is saved when the command has ended\n$/);
      assert.match(first.warnings.join('\n'), /saved checkpoint \d+ \(one\), as fork\.checkpoint asked/);
      const back = '/ctx/tool/fork.rollback "{\\"checkpoint\\":\\"one\\"}"';
      const nested = tool('shell.exec', { cmd: `echo 3 > file; ${back}` });
      const second = await exec(
        stage,
        project,
        'forker',
        `${nested}; cat file; ${tool('fork.rollback', { checkpoint: 'none' })}`,
      );
      assert.match(second.stdout?.text ?? '', /ended\n3\n/);
      assert.match(
        second.warnings.join('\n'),
        /rolled back to checkpoint \d+.*\n.*fork\.rollback failed: .*\(ENOENT\)/,
      );
      assert.equal((await exec(stage, project, 'forker', 'cat file')).stdout?.text, '2\n');
      // By a person, and in a kept jail, where each command has its own end.
      assert.match(await ok(stage, project, ['tool', 'call', 'fork.checkpoint', '{"name":"mine"}']), /is saved/);
      assert.match(await ok(stage, project, ['checkpoint', 'list']), /mine/);
      await ok(stage, project, ['jail', 'start', '--agent', 'forker']);
      try {
        const kept = await exec(stage, project, 'forker', `echo 4 > file; ${tool('fork.rollback', {})}`);
        assert.notEqual(kept.keptJail, null);
        assert.match(kept.warnings.join('\n'), /rolled back to checkpoint/);
        assert.equal((await exec(stage, project, 'forker', 'cat file')).stdout?.text, '2\n');
      } finally {
        await ok(stage, project, ['jail', 'stop']);
      }
      const live = await stage.ctx(project, [
        'jail',
        'run',
        '--agent',
        'forker',
        '--',
        'sh',
        '-c',
        tool('fork.checkpoint', {}),
      ]);
      assert.match(live.stderr, /there is no fork \(ENOTSUP\)/);
    });

    test('an agent makes a child within what it has, by name, and is told every excess', async () => {
      const project = stage.project('true');
      const own = ['agent:kid create', 'agent:kid start', 'agent:greedy create'];
      await agentWith(
        stage,
        project,
        'maker',
        ...executes('fs.read', 'agent.create', 'agent.start', 'agent.stop'),
        ...own,
      );
      const answers = await calls(
        stage,
        project,
        'maker',
        tool('agent.create', { name: 'kid', tools: ['fs.read'], mount: [[project, '/w', 'ro']] }),
        tool('agent.create', { name: 'kid' }),
        tool('agent.create', { name: 'stranger' }),
        tool('agent.create', { name: 'greedy', tools: ['fs.write'], groups: [4], mount: [['/root', '/r', 'ro']] }),
        tool('agent.create', { name: 'greedy', supervised: 'x' }),
        tool('agent.create', { name: '../escape' }),
        tool('agent.start', { name: 'kid' }),
        tool('agent.stop', { name: 'kid' }),
        tool('agent.start', { name: 'none' }),
        'cat /ctx/tool/agent.create.d/schema',
      );
      matchAll(answers, [
        /^0 made agent kid: \/ctx\/agent\/kid\.d$/,
        /^1 ctx: agent\.create: agent \S+ already exists in the system tier \(EEXIST\)/,
        /^13 .*an operator would add: allow maker_t agent:stranger create/,
        /^13 .*group 4.*tool:fs\.write execute.*does not see \/root/s,
        /^2 .*expected members/,
        /^2 .*EINVAL/,
        /^69 .*needs the agent runtime.*ENOTSUP/,
        /^13 .*an operator would add: allow maker_t agent:kid stop/,
        /^1 .*there is no agent none|^13 /,
        /^0 \{"input":\{"type":"object"/,
      ]);
      assert.equal((await ok(stage, project, ['agent', 'ls'])).match(/greedy|stranger/), null);
      assert.equal((await exec(stage, project, 'kid', 'ls /ctx/tool; ls /w')).stdout?.text, 'fs.read\nfs.read.d\n');
      const why = async (question: string) =>
        (await stage.ctx(project, ['why', '--agent', 'maker', question, 'execute'])).stdout;
      assert.match(await why('tool:fs.read'), /^tool:fs\.read execute: allowed\n/);
      assert.match(
        await why('tool:fs.write'),
        /refused \(EACCES\).*an operator would add: allow maker_t tool:fs\.write/s,
      );
      const person = await stage.ctx(project, ['tool', 'call', 'agent.create', '{"name":"x"}']);
      assert.match(person.stderr, /ctx agent new NAME/);
      const made = recordsOf(stage.store).filter(({ type, object }) => type === 'agent.new' && object === 'agent/kid');
      const by = made.map(({ status, agent, facts }) => [status, agent, facts?.['parent'], facts?.['by']]);
      assert.deepEqual(by.slice(0, 2), [
        ['begin', 'maker', 'maker', 'agent:maker'],
        ['ok', 'maker', 'maker', 'agent:maker'],
      ]);
      const refused = ['audit', 'query', '--agent', 'maker', '--type', 'agent.new', '--status', 'denied'];
      assert.match(await ok(stage, project, refused), /denied +agent\/maker:\d+ +agent\.new agent\/stranger\n/);
    });

    test('it writes control files of its descendants, and never its own, a stranger’s, or more than it has', async () => {
      const project = stage.project('true');
      const agents = ['writer', 'child', 'grandchild', 'stranger', 'supervised'].flatMap((name) => [
        `agent:${name} read`,
        `agent:${name} write`,
        `agent:${name} create`,
      ]);
      await agentWith(stage, project, 'writer', ...executes('fs.read', 'fs.list', 'agent.create'), ...agents);
      await ok(stage, project, ['agent', 'new', 'stranger']);
      await ok(stage, project, ['agent', 'new', 'child', '--parent', 'writer']);
      await ok(stage, project, [
        'agent',
        'set',
        'child',
        'policy',
        'allow child_t agent:grandchild create\nallow child_t tool:fs.read execute\n',
      ]);
      await ok(stage, project, ['agent', 'new', 'grandchild', '--parent', 'child']);
      await ok(stage, project, ['agent', 'new', 'supervised', '--parent', 'writer']);
      await ok(stage, project, ['agent', 'grant', 'supervised', 'tool:deploy', 'execute']);
      const policy = (agent: string, ...tools: readonly string[]) =>
        writing(
          `/ctx/agent/${agent}.d/policy`,
          tools.map((name) => `allow ${agent}_t tool:${name} execute\n`).join(''),
        );
      const answers = await calls(
        stage,
        project,
        'writer',
        policy('grandchild', 'fs.read'),
        'cat /ctx/agent/grandchild.d/policy',
        policy('child', 'fs.list'),
        policy('child', 'deploy'),
        writing('/ctx/agent/child.d/policy', 'nonsense\n'),
        writing('/ctx/agent/child.d/uid', '0\n4\n'),
        writing('/ctx/agent/child.d/network', 'example.org:443\n'),
        policy('writer', 'deploy'),
        policy('stranger', 'fs.read'),
        policy('supervised', 'fs.read'),
        writing('/ctx/agent/child.d/parent', 'agent:stranger\n'),
        writing('/ctx/agent/child.d/supervised', ''),
        writing('/ctx/agent/child.d/status', 'ready\n'),
        writing('/ctx/agent/child.d/new', 'x'),
        writing('/ctx/tool/fs.read.d/policy', ''),
        `node -e 'const fs = require("fs"); const fd = fs.openSync("/ctx/agent/child.d/env", "w"); fs.writeSync(fd, "A=1\\n"); try { fs.writeSync(fd, "B=2\\n") } catch (error) { console.log(error.code) }; console.log(fs.readFileSync("/ctx/agent/child.d/env", "utf8"))'`,
        '{ rm /ctx/agent/child.d/env; mv /ctx/agent/child.d /ctx/agent/x; chmod 777 /ctx/agent/child.d/env; }',
      );
      matchAll(answers, [
        /^0 written$/,
        /^0 allow grandchild_t tool:fs\.read execute$/,
        /^0 written$/,
        /^0 EACCES$/,
        /^0 EINVAL$/,
        /^0 (EINVAL|EACCES)$/,
        /^0 (EINVAL|EACCES)$/,
        /^0 EACCES$/,
        /^0 EACCES$/,
        /^0 EACCES$/,
        /^0 EACCES$/,
        /^0 EACCES$/,
        /^0 EACCES$/,
        /^0 (EACCES|EROFS)$/,
        /^0 (EACCES|EROFS|ENOENT)$/,
        /^0 EINVAL\nA=1$/,
        /^1 (.*(Permission denied|Read-only|Operation not permitted).*\n?){3}$/,
      ]);
      assert.match(await ok(stage, project, ['agent', 'show', 'child']), /tool:fs\.list/);
      const records = recordsOf(stage.store).filter(({ type }) => type === 'agent.set');
      assert.ok(records.some(({ object, facts }) => object === 'agent/child' && facts?.['by'] === 'agent:writer'));
      assert.ok(records.some(({ object, status }) => object === 'agent/supervised' && status === 'denied'));
      // What is taken away is gone at once, though the view stays mounted.
      const withdrawn = exec(stage, project, 'writer', `sleep 3; ${policy('child', 'fs.read')}`);
      await ok(stage, project, ['agent', 'revoke', 'writer', 'agent:child', 'write']);
      assert.match((await withdrawn).stdout?.text ?? '', /^EACCES\n$/);
    });
  });
});
