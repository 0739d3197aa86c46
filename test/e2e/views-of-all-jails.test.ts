/** Every jail that runs for an agent has its view at /ctx: commands on the directory itself, kept jails, harnesses, MCP. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { agentWith, executes, withoutViews } from '../support/agents.js';
import { inKeptJail } from '../support/kept-jail.js';
import { ProcessTransport, told } from '../support/mcp-client.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const tools = ['fs.read', 'fs.list', 'fs.stat', 'fs.write', 'fs.replace', 'fs.search', 'shell.exec', 'fork.diff'];

const agent = (stage: Stage, cwd: string, name: string, allowed: readonly string[] = tools) =>
  agentWith(stage, cwd, name, ...executes(...allowed));

/** What each of them has to answer with, line by line. */
const script = [
  'echo $CTX_ROOT $CTX_HOME $CTX_PATH $HOME',
  'touch ~/kept && echo home',
  'echo /ctx/tool/fs.r*',
  `/ctx/tool/fs.read '{"path":"file"}'`,
  `echo '{"cmd":"cat file; echo $HOME"}' | /ctx/tool/shell.exec`,
  `/ctx/tool/fs.search '{"pattern":"^o"}'`,
  `/ctx/tool/fs.read '{"path":"/etc/passwd"}' 2>/dev/null; echo $?`,
].join('\n');

forUsersInTurn((user, turn) => {
  describe('every jail of an agent', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);
    const home = `/ctx/home/${user.uid}`;
    const wanted = (name: string) =>
      [
        `/ctx ${home} /ctx/tool:${home}/tool ${home}/agent/${name}`,
        'home',
        '/ctx/tool/fs.read /ctx/tool/fs.read.d /ctx/tool/fs.replace /ctx/tool/fs.replace.d',
        'one',
        'one',
        `${home}/agent/${name}`,
        './file:1:one',
        '13',
        '',
      ].join('\n');
    const leftViews = () => readdirSync(join(stage.store, 'view'));

    turn.test('a command on the directory itself, which has no fork to look at', async () => {
      const project = stage.project('echo one > file; chmod 777 . file');
      await agent(stage, project, 'liver');
      const exec = ['exec', '--live', '--json', '--agent', 'liver', '--', 'sh', '-c'];
      const { stdout, stderr } = await stage.ctx(project, [
        ...exec,
        `${script}\n/ctx/tool/fs.write '{"path":"new","content":"n"}' && cat new; /ctx/tool/fork.diff {}; echo $?`,
      ]);
      const report = parseJson(stdout, stderr) as Envelope;
      assert.equal(report.stdout?.text, `${wanted('liver')}n69\n`, report.stderr?.text);
      assert.deepEqual(leftViews(), []);
    });

    turn.test('the commands of a kept jail, and shell.exec is one of them', async () => {
      const project = stage.project('echo one > file');
      await agent(stage, project, 'keeper');
      const options = ['--agent', 'keeper'];
      await inKeptJail(
        stage,
        async () => {
          const exec = ['jail', 'exec', '--json', '--', 'sh', '-c'];
          const { stdout, stderr } = await stage.ctx(project, [
            ...exec,
            `${script}
            [ "$(readlink /proc/self/ns/pid)" = "$(/ctx/tool/shell.exec '{"cmd":"readlink /proc/self/ns/pid"}')" ] && echo same
            /ctx/tool/fs.write '{"path":"new","content":"n"}'; /ctx/tool/fork.diff '{"path":"new"}' | grep '^+n'`,
          ]);
          const report = parseJson(stdout, stderr) as Envelope;
          assert.equal(report.stdout?.text, `${wanted('keeper')}same\n+n\n`, report.stderr?.text);
          const joined = await stage.ctx(project, ['exec', ...options, '--', 'sh', '-c', `${script}; cat new`]);
          assert.equal(joined.stdout, `${wanted('keeper')}n`, joined.stderr);
          assert.equal(leftViews().length, 1, 'one view for all of its commands');
          // It follows what its agent may do at once, while a command runs.
          const without = tools.slice(1).map((tool) => `allow keeper_t tool:${tool} execute\n`);
          const waiting = stage.startCtx(project, [
            'jail',
            'exec',
            '--',
            'sh',
            '-c',
            'touch .up; while ls /ctx/tool/fs.read; do sleep 0.05; done > /dev/null 2>&1; ls /ctx/tool/fs.list',
          ]);
          await new Promise((resolve) => setTimeout(resolve, 300));
          await stage.ctx(project, ['agent', 'set', 'keeper', 'policy', without.join('')]);
          assert.equal((await waiting.finished).stdout, '/ctx/tool/fs.list\n');
        },
        { project, options },
      );
      assert.deepEqual(leftViews(), []);
    });

    turn.test('a harness', async () => {
      const project = stage.project('echo one > file');
      await agent(stage, project, 'runner');
      const { stdout, stderr } = await stage.ctx(project, ['run', '--agent', 'runner', 'sh', '-c', script]);
      assert.equal(stdout, wanted('runner'), stderr);
    });

    async function withServer(name: string, script: string, use: (client: Client, project: string) => Promise<void>) {
      const project = stage.project(script);
      await agent(stage, project, name);
      const server = stage.startCtx(project, ['mcp', '--agent', name], { stdio: ['pipe', 'pipe', 'pipe'] });
      const client = new Client({ name: 'test', version: '1' });
      await client.connect(new ProcessTransport(server));
      try {
        await use(client, project);
      } finally {
        await client.close();
      }
      assert.deepEqual(leftViews(), []);
    }

    turn.test('exec of an MCP server', () =>
      withServer('served', 'echo one > file', async (client) => {
        const { facts, text } = told(await client.callTool({ name: 'exec', arguments: { shell: script } }));
        assert.equal(facts['stdout'], wanted('served'), text);
        const calls = recordsOf(stage.store).filter(({ type, agent: by }) => type === 'tool.call' && by === 'served');
        assert.equal(calls.filter(({ status }) => status === 'begin').length, 4);
      }),
    );

    turn.test('an MCP server offers the tools of its agent, and one policy decides', () =>
      withServer(
        'both',
        'echo one > file; printf "#!/bin/sh\\ncat\\n" > echo; chmod +x echo',
        async (client, project) => {
          const ctx = async (...words: readonly string[]) => {
            const { code, stderr } = await stage.ctx(project, words);
            assert.equal(code, 0, stderr);
          };
          await ctx('tool', 'new', 'exec', '--exec', 'echo');
          await ctx('tool', 'new', 'echo', '--exec', 'echo');
          const schema = {
            input: { type: 'object', properties: { n: { type: 'integer' } } },
            output: { type: 'object' },
          };
          await ctx('tool', 'set', 'echo', 'schema', JSON.stringify(schema));
          await ctx('agent', 'grant', 'both', 'tool:exec', 'execute');
          await ctx('agent', 'grant', 'both', 'tool:echo', 'execute');
          const listed = (await client.listTools()).tools;
          const ofAgent = ['echo', ...tools, 'tool.exec'].sort();
          assert.deepEqual(
            listed
              .map(({ name }) => name)
              .filter((name) => ofAgent.includes(name))
              .sort(),
            ofAgent,
          );
          const read = listed.find(({ name }) => name === 'fs.read');
          assert.deepEqual(read?.inputSchema.required, ['path']);
          const call = async (name: string, input: Record<string, unknown> = {}) =>
            told(await client.callTool({ name, arguments: input }));
          assert.equal((await call('fs.read', { path: 'file' })).text, 'one');
          assert.equal((await call('shell.exec', { cmd: 'echo $HOME' })).text, `${home}/agent/both`);
          assert.deepEqual((await call('echo', { n: 3 })).facts, { n: 3 });
          assert.match((await call('echo', { n: 'x' })).text, /expected integer/);
          assert.equal((await call('tool.exec', { a: 1 })).text, '{"a":1}');
          const out = await call('fs.read', { path: '/etc/passwd' });
          assert.ok(out.isError && /outside of the workspace.*\[exit code 13\]/s.test(out.text), out.text);
          await assert.rejects(call('fs.none'), /expected a tool/);
          await assert.rejects(call('../tool/fs.read'), /expected a tool/);
          let changes = 0;
          client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
            changes += 1;
          });
          await ctx('agent', 'set', 'both', 'policy', 'allow both_t tool:fs.list execute\n');
          const refused = await call('fs.read', { path: 'file' });
          assert.ok(
            refused.isError && /^EACCES: .*allow both_t tool:fs\.read execute/s.test(refused.text),
            refused.text,
          );
          assert.equal(changes, 1, 'the client is told that the list is another');
          const records = recordsOf(stage.store).filter(({ type, agent: by }) => type === 'tool.call' && by === 'both');
          assert.equal(records.filter(({ status }) => status === 'denied').length, 1);
          assert.match((await call('fs.list')).text, /"name":"file"/);
        },
      ),
    );
  });
});
