import assert from 'node:assert/strict';
import { test } from 'node:test';
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
