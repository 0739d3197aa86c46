/** The program that speaks to a server by HTTP, as a process, with a server that is at once the proxy that it is given. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('http-bridge.js', import.meta.url));

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
type Answer = (asked: Asked, response: ServerResponse) => void;

/** Ended also where a test waits in vain. */
const living: (() => unknown)[] = [];
afterEach(() => {
  for (const end of living.splice(0)) end();
});

/** Sends lines one after the other, each when the one before has its answer; what was asked and said, and how it ended. */
async function bridged(answer: Answer, lines: readonly object[], given: object = {}) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body });
    answer({ method, url, headers, body }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const configuration = {
    url: 'http://api.example.org:8080/mcp?x=1',
    headers: { 'x-own': 'y' },
    isInjected: false,
    ...given,
  };
  const code = `globalThis.bridge = ${JSON.stringify(configuration)}; await import(${JSON.stringify(program)});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
    stdio: 'pipe',
  });
  living.push(
    () => child.kill('SIGKILL'),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const said: { readonly id?: number }[] = [];
  let [text, errors] = ['', ''];
  let heard: () => void = () => undefined;
  child.stdout.on('data', (chunk) => {
    const whole = `${text}${chunk}`.split('\n');
    text = whole.pop() ?? '';
    said.push(...whole.map((line) => JSON.parse(line) as { readonly id?: number }));
    heard();
  });
  child.stderr.on('data', (chunk) => (errors += chunk));
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
    heard();
  });
  for (const line of lines) {
    const { id } = line as { readonly id?: number };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
    while (id !== undefined && !isOver && !said.some((each) => each.id === id))
      await new Promise<void>((resolve) => (heard = resolve));
  }
  child.stdin.end();
  const exitCode = await ended;
  server.closeAllConnections();
  server.close();
  return { asked, said, errors, exitCode };
}

const initialize = { id: 1, method: 'initialize' };
const json = (response: ServerResponse, value: unknown, headers: object = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
const agreed = { id: 1, result: { protocolVersion: '2025-06-18' } };

describe('the bridge to a server by HTTP', { timeout: 90_000 }, () => {
  it('asks by the proxy for the whole URL, keeps to the session and the version, and takes leave', async () => {
    const { asked, said, exitCode } = await bridged(
      ({ body, method }, response) => {
        if (method === 'DELETE') return void response.end();
        const { id } = JSON.parse(body) as { readonly id?: number };
        if (id === 1) json(response, agreed, { 'mcp-session-id': 's1' });
        else if (id === undefined) response.writeHead(202).end();
        else json(response, { id, result: 'two' }, { 'mcp-session-id': 'other' });
      },
      [initialize, { method: 'notifications/x' }, { id: 2, method: 'm' }],
    );
    assert.deepEqual([said, exitCode], [[agreed, { id: 2, result: 'two' }], 0]);
    const [first, ...rest] = asked;
    assert.deepEqual(
      [first?.method, first?.url, first?.headers.host],
      ['POST', 'http://api.example.org:8080/mcp?x=1', 'api.example.org:8080'],
    );
    const own = { accept: first?.headers.accept, type: first?.headers['content-type'], own: first?.headers['x-own'] };
    assert.deepEqual(own, { accept: 'application/json, text/event-stream', type: 'application/json', own: 'y' });
    assert.deepEqual(
      [first?.headers['mcp-session-id'], first?.headers['mcp-protocol-version']],
      [undefined, undefined],
    );
    for (const { headers } of rest)
      assert.deepEqual([headers['mcp-session-id'], headers['mcp-protocol-version']], ['s1', '2025-06-18']);
    assert.equal(rest.at(-1)?.method, 'DELETE');
  });

  it('asks without a secret where the proxy adds one, for the host alone', async () => {
    const url = 'https://api.example.org/mcp?x=1';
    const { asked } = await bridged((_asked, response) => json(response, agreed), [initialize], {
      url,
      isInjected: true,
    });
    assert.deepEqual(
      [asked[0]?.url, asked[0]?.headers.host, asked.length],
      ['http://api.example.org/mcp?x=1', 'api.example.org', 1],
    );
  });

  it('hears events, also those that nobody asked for, until it is over', async () => {
    const { said, asked } = await bridged(
      ({ method, body }, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        if (method === 'GET') return void response.write('data: {"id":9}\n\n');
        const { id } = JSON.parse(body) as { readonly id?: number };
        // Its answer comes among the events.
        if (id === undefined || id === 9) return void response.end();
        response.write(`event: x\ndata: {"id":${id},\r\ndata:"result":1}\r\n\r\ndata: \n\n: comment\n\n`);
        setImmediate(() => response.end());
      },
      [
        { id: 1, method: 'initialize' },
        { method: 'notifications/initialized' },
        { id: 9, method: 'waits for an event' },
      ],
    );
    assert.deepEqual(
      said.slice(0, 2).map(({ id }) => id),
      [1, 9],
    );
    assert.ok(asked.some(({ method, headers }) => method === 'GET' && headers.accept === 'text/event-stream'));
  });

  it('tells a call what went wrong with it, and ends where its server is of no use', async () => {
    const status =
      (code: number, headers: object = {}) =>
      (_asked: Asked, response: ServerResponse) =>
        void response.writeHead(code, { ...headers }).end('x');
    const refused = await bridged(status(503, { 'x-ctx-reason': 'not granted' }), [initialize]);
    assert.deepEqual([refused.exitCode, refused.errors.trim(), refused.said], [1, 'not granted', []]);
    const answers: Answer = ({ body, method }, response) => {
      if (method !== 'POST') return void response.end();
      const { id } = JSON.parse(body) as { readonly id?: number };
      if (id === 1) json(response, agreed, { 'mcp-session-id': 's' });
      else if (id === 2) response.writeHead(500).end();
      else if (id === 3) response.writeHead(200).end('no JSON');
      else response.writeHead(404).end();
    };
    const calls = [initialize, { id: 2, method: 'm' }, { id: 3, method: 'm' }, { id: 4, method: 'm' }];
    const { said, errors, exitCode } = await bridged(answers, calls);
    const reasons = said.slice(1).map((each) => (each as { error?: { message: string; code: number } }).error);
    assert.deepEqual([reasons.length, reasons.map((error) => error?.code)], [2, [-32_000, -32_000]]);
    assert.match(reasons[0]?.message ?? '', /HTTP status 500$/);
    assert.match(reasons[1]?.message ?? '', /cannot be read/);
    assert.deepEqual([exitCode, errors.trim()], [1, 'the host answered with HTTP status 404']);
  });

  it('tells a call whose answer ended without a result, and goes on', async () => {
    const { said, exitCode } = await bridged(
      ({ body, method }, response) => {
        if (method !== 'POST') return void response.end();
        const { id } = JSON.parse(body) as { readonly id?: number };
        if (id === 1) return void json(response, agreed);
        if (id === 5) return void json(response, { id, result: 'five' });
        if (id === 2) return void response.writeHead(200, { 'content-type': 'application/json' }).end();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        // One that tells how far it is, and one that answers somebody else.
        response.end(
          `data: {"method":"notifications/progress"}\n\n${id === 4 ? 'data: {"id":77,"result":1}\n\n' : ''}`,
        );
      },
      [initialize, { id: 2, method: 'm' }, { id: 3, method: 'm' }, { id: 4, method: 'm' }, { id: 5, method: 'm' }],
    );
    const ends = said.filter(({ id }) => id !== undefined && id !== 77) as {
      id: number;
      error?: { message: string };
    }[];
    const missing = 'the host ended its answer without a result';
    assert.deepEqual(
      ends.map(({ id, error }) => [id, error?.message]),
      [
        [1, undefined],
        [2, missing],
        [3, missing],
        [4, missing],
        [5, undefined],
      ],
    );
    assert.equal(exitCode, 0);
  });

  it('waits for a result that the host has only accepted to give', async () => {
    let listening: ServerResponse | undefined;
    const deliver = () => {
      if (listening === undefined) return void setTimeout(deliver, 10);
      listening.writeHead(200, { 'content-type': 'text/event-stream' });
      listening.write('data: {"id":2,"result":"late"}\n\n');
    };
    const { said, exitCode } = await bridged(
      ({ body, method }, response) => {
        if (method === 'GET') {
          listening = response;
          return;
        }
        if (method === 'DELETE') return void response.end();
        const { id } = JSON.parse(body) as { readonly id?: number };
        if (id === 1) return void json(response, agreed);
        response.writeHead(202).end();
        if (id === 2) setTimeout(deliver, 50);
      },
      [initialize, { method: 'notifications/initialized' }, { id: 2, method: 'm' }],
    );
    assert.deepEqual([said, exitCode], [[agreed, { id: 2, result: 'late' }], 0]);
  });

  it('does not take an answer or an event that is too large, nor go on where nothing answers', async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    const flood = (response: ServerResponse) => {
      const more = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    for (const [type, start, what] of [
      ['application/json', '"', 'an answer'],
      ['text/event-stream', `data: ${'x'.repeat(1 << 20)}\n`, 'an event'],
    ] as const) {
      const { exitCode, errors, said } = await bridged(
        (_asked, response) => {
          response.writeHead(200, { 'content-type': type });
          response.write(start);
          if (what === 'an answer') return flood(response);
          const again = () => {
            while (!response.destroyed && response.write(start));
            if (!response.destroyed) response.once('drain', again);
          };
          again();
        },
        [initialize],
      );
      assert.deepEqual([exitCode, said], [1, []]);
      assert.match(errors, new RegExp(`the host sent ${what} of more than \\d+ bytes`));
    }
    const gone = await bridged(({ method }, response) => void (method === 'POST' && response.destroy()), [initialize]);
    assert.deepEqual([gone.exitCode, gone.said], [1, []]);
    assert.match(gone.errors, /^cannot connect to api\.example\.org:8080: /);
  });
});
