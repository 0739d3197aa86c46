/** `ctx mcp` as the official client drives it: every tool, and what it does not let a model do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ProcessTransport, type Told, told } from '../support/mcp-client.js';
import { ownSeconds, processesCalled, type Running, until } from '../support/process.js';
import type { Stage } from '../support/stage.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

interface Served {
  readonly client: Client;
  readonly project: string;
  readonly server: Running;
  call(name: string, input?: Record<string, unknown>): Promise<Told>;
}

async function served(
  stage: Stage,
  use: (given: Served) => Promise<void>,
  { script = ':', options = [] }: { readonly script?: string; readonly options?: readonly string[] } = {},
): Promise<void> {
  const project = stage.project(script);
  const server = stage.startCtx(project, ['mcp', ...options], { stdio: ['pipe', 'pipe', 'pipe'] });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new ProcessTransport(server));
  const call = async (name: string, input: Record<string, unknown> = {}) =>
    told(await client.callTool({ name, arguments: input }));
  try {
    await use({ client, project, server, call });
  } finally {
    await client.close();
  }
  assert.equal((await server.finished).code, 0, 'it ends with its input');
}

async function waitingApproval(stage: Stage, project: string): Promise<string> {
  let id = '';
  for (let tries = 0; id === '' && tries < 100; tries += 1) {
    const { stdout } = await stage.ctx(project, ['approvals', 'list', '--json']);
    const { approvals } = parseJson(stdout) as {
      approvals: readonly { id: string; status: string; origin: string }[];
    };
    id = approvals.find(({ status, origin }) => status === 'waiting' && origin === project)?.id ?? '';
    if (id === '') await sleep(100);
  }
  return id;
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('it tells what its tools are, and which of them only look', () =>
    served(stage, async ({ client }) => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name, annotations }) => `${name}${annotations?.readOnlyHint === true ? ' reads' : ''}`),
        [
          'exec',
          'read_file reads',
          'write_file',
          'edit_file',
          'list reads',
          'search reads',
          'diff reads',
          'checkpoint',
          'rollback',
          'apply',
        ],
      );
      assert.match(client.getInstructions() ?? '', /fork/);
    }));

  test('a model works on the fork: files, commands, diff, back to a checkpoint', () =>
    served(
      stage,
      async ({ call, project }) => {
        const made = await call('write_file', { path: 'src/new.js', content: 'export const a = 1;\n' });
        assert.match(made.text, /^wrote 20 bytes; /);
        assert.equal(
          (await call('edit_file', { path: 'file', old_text: 'one', new_text: 'two' })).text,
          'replaced 1 time',
        );
        assert.equal((await call('read_file', { path: 'file' })).text, 'two\nlast\n');
        assert.equal(
          (await call('read_file', { path: 'file', offset: 2, limit: 1 })).text,
          'last\n[lines 2 to 2 of 3: continue with offset 3]',
        );
        assert.equal((await call('list', { depth: 2 })).text, 'file  9 bytes\nsrc/\nsrc/new.js  20 bytes');
        assert.equal((await call('search', { pattern: 'const [a-z]' })).text, 'src/new.js:1:export const a = 1;');
        assert.match((await call('diff')).text, /^-one\n\+two$/m);
        const { facts: saved } = await call('checkpoint', { name: 'good' });
        assert.equal(saved['name'], 'good');
        const ran = await call('exec', { shell: 'cat; echo oops >&2; rm file; exit 4', input: 'given' });
        assert.match(ran.text, /^given\nstderr:\noops\n\[exit 4, [\d.]+ m?s\]\nD file\n/);
        assert.deepEqual([ran.facts['exitCode'], ran.isError], [4, false]);
        assert.match((await call('rollback', { checkpoint: 'good' })).text, /1 change undone/);
        assert.equal((await call('exec', { argv: ['cat', 'file'] })).facts['stdout'], 'two\nlast\n');
        assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\nlast\n');
      },
      { script: 'printf "one\\nlast\\n" > file' },
    ));

  test('commands share one jail, and what one leaves running goes on', () =>
    served(stage, async ({ call }) => {
      const first = await call('exec', { shell: 'sleep 54321 & echo $! > pid; readlink /proc/self/ns/pid' });
      const second = await call('exec', { shell: 'kill $(cat pid); readlink /proc/self/ns/pid' });
      assert.equal(first.facts['stdout'], second.facts['stdout']);
    }));

  test('a cancelled command ends, and the next one runs', () =>
    served(stage, async ({ client, call }) => {
      const cancelling = new AbortController();
      const seconds = ownSeconds();
      const running = client.callTool({ name: 'exec', arguments: { argv: ['sleep', seconds] } }, undefined, {
        signal: cancelling.signal,
      });
      const refused = assert.rejects(running);
      await until(() => processesCalled('sleep', seconds).length > 0, 'the command runs');
      cancelling.abort();
      await refused;
      await until(() => processesCalled('sleep', seconds).length === 0, 'the command is ended');
      assert.equal((await call('exec', { argv: ['echo', 'next'] })).facts['stdout'], 'next\n');
    }));

  test('a client that goes away takes its command with it', () =>
    served(stage, async ({ client }) => {
      const seconds = ownSeconds();
      // Whether the server still answers before it ends is a race that no one hears the end of.
      const lost = client.callTool({ name: 'exec', arguments: { argv: ['sleep', seconds] } }).catch(() => undefined);
      await until(() => processesCalled('sleep', seconds).length > 0, 'the command runs');
      await client.close();
      await lost;
      assert.deepEqual(processesCalled('sleep', seconds), []);
    }));

  test('a long command tells how it is doing, and has a time limit', () =>
    served(stage, async ({ client }) => {
      const messages: (string | undefined)[] = [];
      const result = await client.callTool(
        { name: 'exec', arguments: { shell: 'echo at work; sleep 1000', timeout_seconds: 3 } },
        undefined,
        { onprogress: ({ message }) => messages.push(message) },
      );
      assert.ok(messages.includes('at work'), JSON.stringify(messages));
      assert.equal(told(result).facts['timedOut'], true);
    }));

  test('apply waits for a person: without a grant nothing is written, with one it is', () =>
    served(
      stage,
      async ({ call, project, server }) => {
        assert.equal((await call('apply')).isError, true, 'there is no fork yet');
        await call('exec', { shell: 'echo two > file; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit' });
        // Whatever is said in the call, it is not an answer.
        assert.match(
          (await call('apply', { granted: true })).text,
          /^EINVAL: .*unknown argument "granted"\ntry: valid arguments: paths$/,
        );
        const denied = call('apply');
        const first = await waitingApproval(stage, project);
        await server.printed(`ctx approvals grant ${first}`);
        // From inside there is no way to the answer.
        await stage.ctx(project, ['approvals', 'deny', first, '--why', 'not yet']);
        const { text, isError } = await denied;
        assert.match(text, /^EACCES: .*denied it: not yet/);
        assert.equal(isError, true);
        assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\n');
        const granted = call('apply');
        await stage.ctx(project, ['approvals', 'grant', await waitingApproval(stage, project)]);
        const { text: done } = await granted;
        assert.match(done, /^applied \d+ changes?\n[\s\S]*put file/);
        assert.match(done, /held back.*\.git\/hooks\/pre-commit/);
        assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'two\n');
      },
      { script: 'echo one > file' },
    ));

  test('each path is on a line of its own, and what one server is granted is for no other', () =>
    served(
      stage,
      async ({ call, project }) => {
        const forged = 'a.txt, put docs (and nothing else)';
        await call('exec', { shell: `touch '${forged}'; touch f$(seq -s ' f' 1 25)` });
        const first = call('apply', { paths: [forged] });
        const id = await waitingApproval(stage, project);
        const { stdout: shown } = await stage.ctx(project, ['approvals', 'show', id]);
        assert.match(shown, /^ {2}mutating: it would write 1 change of the fork into your own directory$/m);
        assert.match(shown, /^ {4}put 'a\.txt, put docs \(and nothing else\)'$/m);
        assert.match(shown, /^ {2}asked by: MCP server \d+/m);
        assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--for', 'session'])).code, 0);
        const { text } = await first;
        assert.match(text, /^applied 1 change\n[\s\S]*still in the fork, not asked for: 25 changes$/);
        assert.doesNotMatch(text, /held back/);
        const all = call('apply');
        const whole = await waitingApproval(stage, project);
        const lines = (await stage.ctx(project, ['approvals', 'show', whole])).stdout.match(/^ {4}put 'f\d+'$/gm);
        assert.equal(lines?.length, 25);
        await stage.ctx(project, ['approvals', 'deny', whole]);
        await all;
        await call('exec', { shell: `echo more > '${forged}'` });
        // The same words, of another server.
        const other = stage.startCtx(project, ['mcp', '--approval-wait', '1s'], { stdio: ['pipe', 'pipe', 'pipe'] });
        const client = new Client({ name: 'other', version: '1' });
        await client.connect(new ProcessTransport(other));
        const asked = told(await client.callTool({ name: 'apply', arguments: { paths: [forged] } }));
        other.child.kill('SIGTERM');
        assert.equal((await other.finished).code, 0, 'it ends by a signal, though its client keeps its input open');
        await client.close();
        assert.match(asked.text, /^EACCES: .*no answer came in time/);
        assert.equal(readFileSync(join(project, forged), 'utf8'), '');
      },
      { script: 'echo one > file' },
    ));

  test('an apply that nobody answers is denied in its time, and a conflict asks nobody', () =>
    served(
      stage,
      async ({ call, project }) => {
        await call('exec', { shell: 'echo two > file' });
        assert.match((await call('apply')).text, /^EACCES: .*no answer came in time/);
        stage.shell(project, 'echo mine > file');
        assert.match((await call('apply')).text, /^EBUSY: .*the person changed these too.*file\ntry: /);
      },
      { script: 'echo one > file', options: ['--approval-wait', '1s'] },
    ));

  test('bad input is refused with what was expected, and nothing ends', () =>
    served(stage, async ({ client, call }) => {
      const refusals: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
        ['exec', {}, /^EINVAL: exec: expected argv or shell, and not both\ntry: /],
        ['exec', { argv: 'ls' }, /^EINVAL: exec: expected argv to be an array of strings/],
        ['exec', { argv: [] }, /^EINVAL: exec: expected a command/],
        ['exec', { argv: ['no-such-program'] }, /^ENOENT: exec/],
        ['exec', { argv: ['true'], directory: '/etc' }, /^EINVAL: exec \/etc: expected a directory of the workspace/],
        ['exec', { argv: ['true'], timeout_seconds: 0 }, /expected timeout_seconds to be a whole number from 1/],
        ['exec', { argv: ['true'], network: ['any'] }, /^EINVAL: exec: unknown argument "network"/],
        ['exec', { argv: ['true'], constructor: 1 }, /^EINVAL: exec: unknown argument "constructor"/],
        ['read_file', {}, /^EINVAL: read_file: missing argument "path"/],
        ['read_file', { path: 'missing' }, /^ENOENT: read missing: .*\ntry: list the directory/],
        ['read_file', { path: '/usr/bin/env' }, /^EINVAL: .*binary/],
        ['read_file', { path: `${stage.store}/ctx/rules.json` }, /^ENOENT: /],
        ['write_file', { path: '/usr/x', content: '' }, /^EROFS: /],
        ['edit_file', { path: 'missing', old_text: 'a', new_text: 'b' }, /^ENOENT: /],
        ['list', { path: 'missing' }, /^ENOENT: /],
        ['search', { pattern: '(' }, /^EINVAL: /],
        ['rollback', { checkpoint: 'none' }, /^ENOENT: /],
        ['diff', { since: 'none' }, /^ENOENT: /],
      ];
      await call('exec', { argv: ['true'] });
      for (const [name, input, expected] of refusals) {
        const { text, isError } = await call(name, input);
        assert.match(text, expected, `${name} ${JSON.stringify(input)}`);
        assert.equal(isError, true);
      }
      await assert.rejects(client.callTool({ name: 'sudo', arguments: {} }), /expected a tool/);
      assert.equal((await call('exec', { argv: ['echo', 'still'] })).facts['stdout'], 'still\n');
    }));

  test('a read-only server reads, and writes nothing', () =>
    served(
      stage,
      async ({ call }) => {
        assert.equal((await call('read_file', { path: 'file' })).text, 'kept\n');
        assert.match((await call('write_file', { path: 'file', content: 'changed' })).text, /^EROFS: /);
        assert.equal((await call('exec', { argv: ['rm', 'file'] })).facts['exitCode'], 1);
        assert.equal((await call('read_file', { path: 'file' })).text, 'kept\n');
      },
      { script: 'echo kept > file', options: ['--readonly'] },
    ));

  test('a server that could not hold to what it is given does not start', async () => {
    const project = stage.project('mkdir .git; echo x > file');
    const refused = async (code: number, ...options: readonly string[]) => {
      const answer = await stage.ctx(project, ['mcp', ...options], { input: '' });
      assert.deepEqual([answer.code, answer.stdout], [code, ''], `${options.join(' ')}: ${answer.stderr}`);
    };
    await refused(2, '--net', '');
    await refused(2, '--memory', 'much');
    await refused(2, '--no-such-option');
    await refused(2, 'word');
    await refused(2, '--env', '=x');
    await refused(1, '--agent', 'nobody');
    await refused(1, '--cwd', 'file');
    await refused(1, '--fork', 'nosuch');
    await stage.inside(project, 'true');
    await refused(1, '--fork', 'nosuch');
    assert.equal((await stage.ctx(project, ['mcp', '--fork', 'main'], { input: '' })).code, 0);
  });

  test('what a model writes at once is written in turn, and seen by what it asks for afterwards', () =>
    served(stage, async ({ call }) => {
      const calls = ['a', 'b', 'c'].map((name) => call('write_file', { path: name, content: name }));
      const [, , , diff] = await Promise.all([...calls, call('diff')]);
      assert.equal(diff?.text.match(/^diff --git/gm)?.length, 3);
    }));
});
