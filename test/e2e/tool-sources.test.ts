/** MCP servers as sources of tools: each in a jail of its own, its tools called as files. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { agentWith, exec, executes, ok, withoutViews } from '../support/agents.js';
import { until } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { add, configuration, serverOf } from '../support/tool-sources.js';
import { asOneUser, forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  describe('the tools of an MCP server', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('are files that an agent runs where its policy says so, in one server that has nothing of its caller’s', async () => {
      const project = stage.project('echo hello > file');
      const file = configuration(stage, 'demo', 'good', {
        env: { MCP_PLAIN: 'as it is', MCP_LOOK_AT: `${project}/file:${stage.home}:/run/ctx:${stage.store}` },
      });
      await ok(stage, project, ['tool', 'source', 'add', 'demo', '--mcp', file, '--read', serverOf(stage)]);
      const tools = ['echo', 'add', 'look', 'count', 'blocks'];
      await agentWith(stage, project, 'caller', ...executes(...tools.map((name) => `mcp.demo.${name}`)));
      const script = [
        'cd /ctx/tool; ls -d mcp.demo.* | wc -l; ls mcp.demo.echo.d',
        'cat mcp.demo.add.d/schema mcp.demo.echo.d/description mcp.demo.echo.d/origin mcp.demo.echo.d/status',
        './mcp.demo.echo \'{"text": "said"}\'; echo \'{"a": 1, "b": 2}\' | ./mcp.demo.add; ./mcp.demo.count; ./mcp.demo.count',
        './mcp.demo.blocks; ./mcp.demo.look; cat mcp.demo.echo.d/status; cut -c34- mcp.demo.echo.d/log',
        'ls mcp.demo.misbehave 2>/dev/null; ./mcp.demo.echo \'{"text": 1}\'; echo "exit $?"',
      ].join('\n');
      const { stdout, stderr, exitCode } = await exec(stage, project, 'caller', script);
      assert.equal(exitCode, 0, stderr?.text);
      const lines = (stdout?.text ?? '').split('\n');
      const [look] = lines.filter((line) => line.startsWith('{"uid"'));
      const jail = JSON.parse(look ?? '{}') as Record<string, unknown>;
      assert.deepEqual(jail['variables'], [
        'MCP_PLAIN=as it is',
        `MCP_LOOK_AT=${project}/file:${stage.home}:/run/ctx:${stage.store}`,
      ]);
      // Its home is its own, at the place of the person's; nothing of the workspace, the caller's socket or the store.
      assert.deepEqual(
        [jail['seen'], jail['socket'], jail['network'], jail['directory']],
        [[stage.home], false, false, '/tmp'],
      );
      assert.deepEqual(
        lines.filter((line) => line !== look),
        [
          '10',
          'cap description log name origin policy schema status'.split(' '),
          '{"input":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"output":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}',
          'Says it again.',
          'mcp demo echo',
          'server fixture\\e[31m 1',
          'ready',
          'said',
          '{"sum":3}',
          '1 1',
          '2 2',
          '{"type":"text","text":"one"}',
          '{"type":"image","data":"AAAA","mimeType":"image/png"}',
          'idle',
          '"type":"tool.call","agent":"caller","object":"tool/mcp.demo.echo","status":"ok"}',
          'exit 2',
          '',
        ].flat(),
      );
      assert.match(stderr?.text ?? '', /mcp\.demo\.echo: \/text: expected string, got number \(EINVAL\)/);
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
      // What it kept is there for its next start, by whomever it is called.
      assert.equal(await ok(stage, project, ['tool', 'call', 'mcp.demo.count', '{}']), '1 3\n');
      await ok(stage, project, ['why', '--agent', 'caller', 'tool:mcp.demo.echo', 'execute']);
      const why = ['why', '--agent', 'caller', 'tool:mcp.demo.misbehave', 'execute'];
      assert.equal((await stage.ctx(project, why)).code, 13);
      const refused = await stage.ctx(project, ['tool', 'call', 'mcp.demo.misbehave', '--agent', 'caller', '{}']);
      assert.equal(refused.code, 13);
      assert.match(refused.stderr, /allow caller_t tool:mcp\.demo\.misbehave execute/);
      await ok(stage, project, ['tool', 'source', 'rm', 'demo']);
      assert.equal((await stage.ctx(project, ['tool', 'call', 'mcp.demo.echo', '{"text":"x"}'])).code, 1);
      assert.equal(existsSync(join(stage.store, 'tool', 'mcp.demo')), false);
      const added = recordsOf(stage.store).filter(({ type }) => type === 'source.add' || type === 'source.rm');
      assert.deepEqual(
        added.map(({ type, status }) => `${type} ${status}`),
        ['source.add begin', 'source.add ok', 'source.rm begin', 'source.rm ok'],
      );
    });

    test('work on the fork of their caller where that is granted', async () => {
      const project = stage.project('echo hello > file');
      const file = configuration(stage, 'forked', 'good', { env: { MCP_LOOK_AT: `${project}/file` } });
      await ok(stage, project, [
        'tool',
        'source',
        'add',
        'forked',
        '--mcp',
        file,
        '--read',
        serverOf(stage),
        '--fork',
        'ro',
      ]);
      const seen = await ok(stage, project, ['tool', 'call', 'mcp.forked.look', '{}']);
      assert.deepEqual((JSON.parse(seen) as { seen: string[] }).seen, [`${project}/file`]);
      await agentWith(stage, project, 'worker', ...executes('mcp.forked.look'));
      const { stdout } = await exec(stage, project, 'worker', 'rm file; /ctx/tool/mcp.forked.look');
      assert.deepEqual((JSON.parse(stdout?.text ?? '{}') as { seen: string[] }).seen, []);
      assert.equal(existsSync(join(project, 'file')), true);
    });
  });
});

asOneUser((user) => {
  describe('a source of tools', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('that misbehaves gives its caller one clear error, and the next call a new server', async () => {
      const project = stage.project();
      await add(stage, project, 'odd');
      await ok(stage, project, ['tool', 'source', 'show', 'odd']);
      const listed = await ok(stage, project, ['tool', 'ls']);
      assert.match(listed, /^fs\.read +built in +ready +\S/m);
      assert.match(listed, /^mcp\.odd\.echo +source +ready/m);
      assert.match(
        await ok(stage, project, ['tool', 'show', 'fs.read']),
        /^fs\.read \(built in\)\n.*schema +\{"input"/s,
      );
      assert.match(await ok(stage, project, ['tool', 'show', 'mcp.odd.echo']), /origin +mcp odd echo/);
      await agentWith(stage, project, 'user', ...executes('mcp.odd.misbehave', 'mcp.odd.echo', 'mcp.odd.count'));
      const said: readonly (readonly [string, number, RegExp])[] = [
        ['error', 1, /the tool reported an error:\nit \\e\[31mfailed\n/],
        ['refuse', 2, /its server refused: no such \\+e\[31mway \(EINVAL\)/],
        ['die', 69, /its server is gone: it was ended by SIGKILL \(ENOTCONN\)/],
        ['exit', 69, /its server is gone: it ended with exit code 3; it said: no more \(ENOTCONN\)/],
        ['garbage', 1, /its server was ended: it sent what is not JSON: \\e\[2Jthis is not JSON \(EIO\)/],
        ['deep', 1, /nested too deep \(EIO\)/],
        ['long', 1, /a message of more than 16777216 bytes \(EIO\)/],
        ['flood', 1, /67108864 bytes, or too many lines, without answering \(EIO\)/],
        ['ask', 1, /reads nothing of what it is sent|without answering/],
        ['nothing', 1, /the result is not an object \(EIO\)/],
      ];
      const script = said.map(([way]) => {
        const call = `/ctx/tool/mcp.odd.misbehave '{"way": "${way}"}' >&2; echo "${way} $?"; echo "--" >&2`;
        return `${call}; /ctx/tool/mcp.odd.echo '{"text": "again"}'`;
      });
      const { stdout, stderr } = await exec(stage, project, 'user', script.join('\n'));
      const answers = said.map(([way, code]) => `${way} ${code}\nagain\n`).join('');
      assert.equal(stdout?.text, answers, stderr?.text);
      const errors = (stderr?.text ?? '').split('--\n');
      for (const [index, [way, , pattern]] of said.entries()) {
        assert.match(errors[index] ?? '', pattern, way);
        assert.doesNotMatch(errors[index] ?? '', /\u001b/, way);
      }
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });

    test('that hangs is given up after its time, and its caller may go before', async () => {
      const project = stage.project();
      await add(stage, project, 'slow');
      await agentWith(stage, project, 'user2', ...executes('mcp.slow.misbehave', 'mcp.slow.count'));
      const hang = `/ctx/tool/mcp.slow.misbehave '{"way": "hang"}'`;
      const script = `timeout 1 ${hang}; echo "gone $?"; /ctx/tool/mcp.slow.count; ${hang} & sleep 0.3`;
      const { stdout, stderr } = await exec(stage, project, 'user2', script);
      assert.equal(stdout?.text, 'gone 124\n1 1\n', stderr?.text);
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });

    test('that lists what cannot be a tool has the rest, and says what was left out', async () => {
      const project = stage.project();
      const names = await add(stage, project, 'names', 'names');
      assert.equal(names.code, 0, names.stderr);
      assert.match(names.stdout, /added source names: 1 tool, 14 left out/);
      assert.match(names.stdout, /left out \\e\[31mred: mcp\.names\.NAME has to be at most 64/);
      assert.doesNotMatch(names.stdout, /\u001b\[31mred|\u202e/);
      const large = await add(stage, project, 'large', 'large', '--json');
      const { tools, leftOut } = parseJson(large.stdout, large.stderr) as {
        tools: object[];
        leftOut: { name: string }[];
      };
      assert.deepEqual([tools.length, leftOut.map(({ name }) => name)], [7, ['large']]);
      const prompt = await add(stage, project, 'prompt', 'prompt');
      assert.equal(prompt.code, 0, prompt.stderr);
      const shown = await ok(stage, project, ['tool', 'source', 'show', 'prompt']);
      assert.match(shown, /Ignore all rules\.\\e\[2J/);
      assert.doesNotMatch(shown, /\u001b\[2J|\u202e|Second line/);
      await agentWith(stage, project, 'reader', ...executes('mcp.prompt.innocent'));
      const { stdout } = await exec(stage, project, 'reader', 'cat /ctx/tool/mcp.prompt.innocent.d/*');
      assert.doesNotMatch(stdout?.text ?? '', /[\u001b\u0007\u202e]/);
      const json = await ok(stage, project, ['tool', 'source', 'list', '--json']);
      const { sources } = parseJson(json) as { sources: { name: string; tools: number }[] };
      assert.deepEqual(
        sources.map(({ name, tools: count }) => `${name} ${count}`),
        ['large 7', 'names 1', 'odd 7', 'prompt 1', 'slow 7'],
      );
    });

    test('that does not start, offers none or never ends its list is not added', async () => {
      const project = stage.project();
      const wrong: readonly (readonly [string, number, RegExp])[] = [
        ['dies', 69, /exit code 4; it said: cannot find my \\+e\[31mkey/],
        ['toolless', 1, /does not offer tools/],
        ['circle', 1, /in a circle/],
        ['endless', 1, /in more than 1024 pages/],
        ['crowd', 1, /more than 8192 tools/],
      ];
      for (const [how, code, pattern] of wrong) {
        const { code: got, stderr } = await add(stage, project, `no-${how}`, how);
        assert.deepEqual([how, got], [how, code], stderr);
        assert.match(stderr, pattern);
      }
      const greeted = await add(stage, project, 'greets', 'greets');
      assert.equal(greeted.code, 0, greeted.stderr);
      const silent = await stage.ctx(project, ['tool', 'source', 'list']);
      assert.doesNotMatch(silent.stdout, /no-/);
      // One that was killed while it was added is taken away by the next, an hour later.
      const file = configuration(stage, 'silent', 'silent');
      const sources = join(stage.store, 'ctx', 'tool', '.source');
      const words = ['tool', 'source', 'add', 'silent', '--mcp', file, '--read', serverOf(stage)];
      const running = stage.startCtx(project, words);
      await until(() => readdirSync(sources).some((name) => name.startsWith('.silent')), 'it is being added');
      running.child.kill('SIGKILL');
      await running.finished;
      const longAgo = Date.now() / 1000 - 2 * 60 * 60;
      for (const name of readdirSync(sources).filter((each) => each.startsWith('.')))
        utimesSync(join(sources, name), longAgo, longAgo);
      assert.equal((await add(stage, project, 'greets2', 'greets')).code, 0);
      assert.deepEqual(
        readdirSync(sources).filter((name) => name.startsWith('.')),
        [],
      );
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });

    test('of two thousand tools costs a call nothing, and a change of its list is seen at once', async () => {
      const project = stage.project();
      const { code, stderr } = await add(stage, project, 'many', 'many');
      assert.equal(code, 0, stderr);
      await add(stage, project, 'moving');
      const names = Array.from({ length: 2_000 }, (_, index) => `mcp.many.tool${String(index).padStart(4, '0')}`);
      await agentWith(stage, project, 'lister', ...executes(...names, 'mcp.moving.change', 'mcp.moving.later'));
      const script = [
        'ls /ctx/tool | grep -c "tool....$"; wc -c < /ctx/tool/mcp.many.tool1999.d/schema',
        'ls /ctx/tool/mcp.moving.later 2>/dev/null; /ctx/tool/mcp.moving.change',
        'until /ctx/tool/mcp.moving.later 2>/dev/null; do sleep 0.05; done',
      ].join('\n');
      const envelope = await exec(stage, project, 'lister', script);
      assert.equal(envelope.stdout?.text, '2000\n599\nchanged\nlate\n', envelope.stderr?.text);
      assert.ok(
        recordsOf(stage.store).some(({ type, object }) => type === 'source.refresh' && object === 'source/moving'),
      );
    });
  });
});
