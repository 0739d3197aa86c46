import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/process.js';
import type { Workspace } from '../sdk/workspace/workspace.js';
import * as protocol from './mcp-protocol.js';
import { makeServer, tools } from './server.js';

/** A client of one server, in this process: sends requests, and has what was answered. */
async function clientOf(server: protocol.Server) {
  const answers = new Map<number, unknown>();
  const transport: Parameters<protocol.Server['connect']>[0] = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      if ('id' in message) answers.set(Number(message.id), message);
    },
  };
  await server.connect(transport);
  return {
    answers,
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
