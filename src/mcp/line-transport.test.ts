import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { mcpMessageBytes } from '../base/limits/commands.js';
import { LineTransport } from './line-transport.js';
import { JSONRPCMessageSchema } from './mcp-protocol.js';

/** A transport, what it took, and what it answered by itself. */
async function stage() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new LineTransport(input, output, JSONRPCMessageSchema);
  const taken: unknown[] = [];
  transport.onmessage = (message) => void taken.push(message);
  await transport.start();
  const hears = async (text: string | Buffer) => {
    input.write(text);
    await new Promise((resolve) => setImmediate(resolve));
    const said = (output.read() as Buffer | null)?.toString('utf8') ?? '';
    return said
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { id: unknown; error?: { code: number; message: string } });
  };
  return { transport, taken, hears, output };
}

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

test('messages are the same however they come', async () => {
  const { taken, hears } = await stage();
  const text = Buffer.from(
    `${JSON.stringify({ ...ping(1), params: { name: 'ä' } })}\r\n\n${JSON.stringify(ping(2))}\n`,
  );
  for (const byte of text) assert.deepEqual(await hears(Buffer.from([byte])), []);
  assert.deepEqual(await hears(`${JSON.stringify(ping(3))}\n${JSON.stringify(ping(4))}\n{"js`), []);
  assert.deepEqual(
    taken.map((message) => (message as { id: number }).id),
    [1, 2, 3, 4],
  );
  assert.deepEqual((taken[0] as { params: object }).params, { name: 'ä' });
});

test('what is no message is answered as such, by its id where it has one, and the next one is taken', async () => {
  for (const [said, code, id] of [
    ['no JSON', -32_700, null],
    [`${'['.repeat(5_000)}${']'.repeat(5_000)}`, -32_700, null],
    ['[]', -32_600, null],
    [JSON.stringify([ping(1), ping(2)]), -32_600, null],
    ['5', -32_600, null],
    ['null', -32_600, null],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', -32_600, 7],
    ['{"jsonrpc":"2.0","id":"x"}', -32_600, 'x'],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600, null],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600, null],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32_600, null],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32_600, 7],
  ] as const) {
    const { taken, hears } = await stage();
    const [answer, ...more] = await hears(`${said}\n${JSON.stringify(ping(9))}\n`);
    assert.deepEqual([answer?.error?.code, answer?.id, more], [code, id, []], said.slice(0, 40));
    assert.match(answer?.error?.message ?? '', /^expected /);
    assert.deepEqual(taken, [ping(9)]);
  }
  const { hears } = await stage();
  assert.deepEqual(await hears('{"result":{}}\n{"error":{"code":"x"},"id":null}\n'), [], 'no answer is answered');
});

test('a message that is not UTF-8 is refused, and nothing is done with what it could be read as', async () => {
  const { taken, hears } = await stage();
  const line = (said: object) => Buffer.from(`${JSON.stringify(said)}\n`, 'latin1');
  const [byId] = await hears(line({ ...ping(7), params: { name: 'ä' } }));
  const [unnamed] = await hears(line(['ä']));
  assert.deepEqual([byId?.id, byId?.error?.code, unnamed?.id, unnamed?.error?.code], [7, -32_700, null, -32_700]);
  assert.deepEqual([await hears(`${JSON.stringify(ping(8))}\n`), taken], [[], [ping(8)]]);
});

test('a message that is too long is refused when it ends, and nothing of it is kept', async () => {
  const { taken, hears } = await stage();
  const piece = Buffer.alloc(1 << 20, 'x');
  for (let bytes = 0; bytes <= mcpMessageBytes; bytes += piece.length) assert.deepEqual(await hears(piece), []);
  const [answer] = await hears(`\n${JSON.stringify(ping(1))}\n`);
  assert.match(answer?.error?.message ?? '', /^expected a message of at most \d+ bytes/);
  assert.deepEqual(taken, [ping(1)]);
});

test('an answer holds no half of a pair of surrogates, which many parsers refuse', async () => {
  const { transport, output } = await stage();
  for (const [text, expected] of [
    ['a\ud83d', 'a\ufffd'],
    ['\udcffb', '\ufffdb'],
    ['\ud83d\ude00', '\ud83d\ude00'],
    ['\\ud83d', '\\ud83d'],
  ]) {
    await transport.send({ jsonrpc: '2.0', id: 1, result: { text } });
    const line = (output.read() as Buffer).toString('utf8');
    assert.deepEqual(JSON.parse(line), { jsonrpc: '2.0', id: 1, result: { text: expected } });
    assert.doesNotMatch(line.replaceAll('\\\\', ''), /\\ud/);
  }
  await transport.send({ jsonrpc: '2.0', id: 1, result: { 'a\ud83d': 1, '\u0000\\ud83d': 1 } });
  const line = (output.read() as Buffer).toString('utf8');
  assert.deepEqual(JSON.parse(line).result, { 'a\ufffd': 1, '\u0000\\ud83d': 1 }, 'nor does a name in it');
});

test('a client that reads nothing is waited for until it does, or has gone', async () => {
  for (const ends of [(output: PassThrough) => output.resume(), (output: PassThrough) => output.destroy()]) {
    const output = new PassThrough({ highWaterMark: 10 });
    const transport = new LineTransport(new PassThrough(), output, JSONRPCMessageSchema);
    const sent = transport.send({ jsonrpc: '2.0', id: 1, result: { text: 'more than ten bytes' } });
    let isSent = false;
    void sent.then(() => (isSent = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isSent, false);
    ends(output);
    await sent;
  }
});
