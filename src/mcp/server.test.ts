import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/process.js';
import { ErrnoError } from '../base/errno.js';
import type { Workspace } from '../sdk/workspace/workspace.js';
import * as protocol from './mcp-protocol.js';
import { makeServer, tools } from './server.js';

/** A client of one server, in this process: sends requests, and has what was answered. */
async function clientOf(server: protocol.Server) {
  const answers = new Map<number, unknown>();
  const notices: { method: string; params?: Record<string, unknown> }[] = [];
  const transport: Parameters<protocol.Server['connect']>[0] = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      if ('id' in message) answers.set(Number(message.id), message);
      else notices.push(message as (typeof notices)[number]);
    },
  };
  await server.connect(transport);
  return {
    answers,
    notices,
    ask: (id: number, method: string, params: Record<string, unknown>) =>
      transport.onmessage?.({ jsonrpc: '2.0', id, method, params }),
  };
}

test('nothing is done for a client that has not read its answers, whichever tool it calls', async () => {
  let touched = 0;
  const workspace = new Proxy({} as Workspace, {
    get: (_, name) => {
      if (name === 'tools') return async () => [];
      return async () => {
        touched += 1;
        throw new Error(String(name));
      };
    },
  });
  let makeRoom: (() => void) | undefined;
  const room = new Promise<void>((resolve) => {
    makeRoom = resolve;
  });
  const server = makeServer({
    workspace,
    protocol,
    timeoutMilliseconds: undefined,
    onAsked: () => undefined,
    room: () => room,
  });
  const client = await clientOf(server);
  const given = { path: 'a', content: 'a', old_text: 'a', new_text: 'b', pattern: 'a', argv: ['true'] };
  for (const [id, { name, input }] of tools.entries()) {
    const own = Object.fromEntries(Object.entries(given).filter(([field]) => field in input.fields));
    client.ask(id, 'tools/call', { name, arguments: own });
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([touched, client.answers.size], [0, 0]);
  makeRoom?.();
  for (const end = Date.now() + 20_000; client.answers.size < tools.length && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(client.answers.size, tools.length);
  assert.ok(touched > 0);
});

test('a call shortens the time that the server gives a command, and never extends it', async () => {
  const given: unknown[] = [];
  const workspace = {
    tools: async () => [],
    run: async (_command: unknown, options: { timeoutMilliseconds?: number }) => {
      given.push(options.timeoutMilliseconds);
      throw new Error('enough');
    },
  } as unknown as Workspace;
  for (const timeoutMilliseconds of [undefined, 60_000]) {
    const client = await clientOf(
      makeServer({ workspace, protocol, timeoutMilliseconds, onAsked: () => undefined, room: async () => undefined }),
    );
    for (const [id, timeout] of [{}, { timeout_seconds: 1 }, { timeout_seconds: 3_600 }].entries()) {
      client.ask(id, 'tools/call', { name: 'exec', arguments: { argv: ['true'], ...timeout } });
      await until(() => client.answers.has(id), 'it is answered');
    }
  }
  assert.deepEqual(given, [undefined, 1_000, 3_600_000, 60_000, 1_000, 60_000]);
});

test('each tool has a name of its own, a title, a description, and a description of everything it takes', () => {
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
  for (const { name, title, description, input } of tools) {
    for (const text of [name, title, description]) assert.ok(typeof text === 'string' && text.length > 2, name);
    for (const [field, { description: about }] of Object.entries(input.fields)) assert.ok(about, `${name}.${field}`);
    for (const field of input.required ?? []) assert.ok(field in input.fields, `${name}.${field}`);
  }
  const required = tools.flatMap(({ name, input }) => (input.required ?? []).map((field) => `${name} ${field}`));
  assert.deepEqual(required, [
    'read_file path',
    ...['path', 'content'].map((field) => `write_file ${field}`),
    ...['path', 'old_text', 'new_text'].map((field) => `edit_file ${field}`),
    'search pattern',
  ]);
});

test('each tool says what it can do at worst, and only what reads is said to read', async () => {
  const workspace = { tools: async () => [] } as unknown as Workspace;
  const rest = { timeoutMilliseconds: undefined, onAsked: () => undefined, room: async () => undefined };
  const client = await clientOf(makeServer({ workspace, protocol, ...rest }));
  client.ask(1, 'tools/list', {});
  for (const end = Date.now() + 20_000; client.answers.size < 1 && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 5));
  const { result } = client.answers.get(1) as {
    result: { tools: { name: string; annotations: Record<string, unknown> }[] };
  };
  assert.ok(result.tools.every(({ annotations }) => annotations['openWorldHint'] === false));
  const told = result.tools.map(({ name, annotations }) => [
    name,
    annotations['readOnlyHint'],
    annotations['destructiveHint'],
  ]);
  const changes = ['exec', 'write_file', 'edit_file', 'checkpoint', 'rollback'];
  assert.deepEqual(
    told.sort(),
    [
      ...['read_file', 'list', 'search', 'diff'].map((name) => [name, true, false]),
      ...changes.map((name) => [name, false, false]),
      ['apply', false, true],
    ].sort(),
  );
});

const rest = { protocol, timeoutMilliseconds: undefined, onAsked: () => undefined, room: async () => undefined };
type Answered = {
  result?: { content: { text: string }[]; isError?: boolean; structuredContent?: object };
  error?: { code: number; message: string };
};

/** Asks for one thing, and waits for the answer. */
async function answered(client: Awaited<ReturnType<typeof clientOf>>, id: number, method: string, params = {}) {
  client.ask(id, method, params);
  await until(() => client.answers.has(id), 'it is answered');
  return client.answers.get(id) as Answered;
}

test('tools of the agent are called by their own name, and one that is not there is not known', async () => {
  const called: unknown[] = [];
  const tool = (name: string) => ({ name, description: '', input: {}, output: undefined });
  const errors: Readonly<Record<string, string>> = { missing: 'ENOENT', refused: 'EACCES', 'tool.refused': 'EACCES' };
  const workspace = {
    tools: async () => [tool('own'), tool('exec'), tool('refused')],
    callTool: async (name: string, given: unknown) => {
      called.push([name, given]);
      const code = errors[name];
      if (code !== undefined) throw new ErrnoError(code as 'ENOENT', { operation: name, reason: 'no' });
      return { stdout: { text: `it is ${name}` }, stderr: null, exitCode: 0, signal: null };
    },
  } as unknown as Workspace;
  const client = await clientOf(makeServer({ ...rest, workspace }));
  const text = ({ result }: Answered) => result?.content[0]?.text;
  let id = 0;
  const ask = (name: string, given?: object) => {
    id += 1;
    return answered(client, id, 'tools/call', { name, ...(given === undefined ? {} : { arguments: given }) });
  };
  assert.equal(text(await ask('own', { a: 1 })), 'it is own');
  assert.equal(text(await ask('own')), 'it is own');
  assert.equal(text(await ask('tool.exec')), 'it is exec');
  assert.deepEqual(called, [
    ['own', { a: 1 }],
    ['own', {}],
    ['exec', {}],
  ]);
  const refused = await ask('refused');
  assert.deepEqual([text(refused), refused.result?.isError], ['EACCES: refused: no', true]);
  const hidden = await ask('hidden');
  assert.equal(text(hidden), 'it is hidden', 'one that is not shown is called, so that its refusal is recorded');
  const { error } = await ask('missing');
  assert.equal(error?.code, protocol.ErrorCode.InvalidParams);
  for (const known of [...tools.map(({ name }) => name), 'own', 'tool.exec']) assert.ok(error.message.includes(known));
});

test('a client is told that the tools have changed once it has listed them, and only where they have', async () => {
  let names = ['a'];
  const workspace = {
    tools: async () => names.map((name) => ({ name, description: '', input: {}, output: undefined })),
    callTool: async () => ({ stdout: { text: '' }, stderr: null, exitCode: 0, signal: null }),
  } as unknown as Workspace;
  const client = await clientOf(makeServer({ ...rest, workspace }));
  const changes = () => client.notices.filter(({ method }) => method === 'notifications/tools/list_changed').length;
  const steps: readonly (readonly [string, readonly string[], number])[] = [
    ['tools/call', ['a'], 0],
    ['tools/call', ['b'], 0],
    ['tools/list', ['b'], 0],
    ['tools/call', ['b'], 0],
    ['tools/call', ['b', 'c'], 1],
    ['tools/call', ['b', 'c'], 1],
    ['tools/call', [], 2],
    ['tools/list', [], 2],
  ];
  for (const [id, [method, now, told]] of steps.entries()) {
    names = [...now];
    await answered(client, id, method, method === 'tools/call' ? { name: 'z', arguments: {} } : {});
    assert.equal(changes(), told, `step ${id}`);
  }
});

test('a call that is waited for says where it is: the client alone that asked for it, and always further on', async () => {
  for (const token of [undefined, 'token']) {
    const asked: unknown[] = [];
    const workspace = {
      tools: async () => [],
      run: async (_: unknown, { onOutput, onApproval }: { onOutput: Output; onApproval: Approval }) => {
        for (const id of ['one', 'two']) await onApproval({ id });
        onOutput('stdout', Buffer.from('a line'));
        throw new ErrnoError('EACCES', { operation: 'exec', reason: 'denied' });
      },
    } as unknown as Workspace;
    type Output = (stream: string, chunk: Buffer) => void;
    type Approval = (request: { id: string }) => Promise<unknown>;
    const client = await clientOf(makeServer({ ...rest, workspace, onAsked: ({ id }) => asked.push(id) }));
    const meta = token === undefined ? {} : { _meta: { progressToken: token } };
    const { result } = await answered(client, 1, 'tools/call', { name: 'exec', arguments: { argv: ['a'] }, ...meta });
    assert.deepEqual([result?.isError, asked], [true, ['one', 'two']]);
    const told = client.notices.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
    assert.equal(told.length, token === undefined ? 0 : 2);
    if (token === undefined) continue;
    assert.deepEqual(
      told.map((each) => [each?.['progressToken'], /grant (\w+),/.exec(String(each?.['message']))?.[1]]),
      [
        [token, 'one'],
        [token, 'two'],
      ],
    );
    assert.ok(Number(told[1]?.['progress']) > Number(told[0]?.['progress']));
  }
});
