import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noNetwork } from '../authority/network.js';
import { startNetworkProxy } from './proxy.js';
import {
  allowing,
  type Listening,
  listenHttp,
  listenRaw,
  receive,
  say,
  socksRequest,
  startProxy,
  told,
  tunnelTo,
} from './proxy-fixture.js';

const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
});

async function served<T extends Listening>(server: Promise<T>): Promise<T> {
  const running = await server;
  closing.push(() => running.close());
  return running;
}

async function proxying(options: Parameters<typeof startProxy>[0]) {
  const fixture = await startProxy(options);
  closing.push(() => fixture.proxy.stop());
  return fixture;
}

async function listeningServer() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

const get = (target: string, ...lines: readonly string[]) =>
  `GET ${target} HTTP/1.1\r\n${['Host: x', ...lines, '', ''].join('\r\n')}`;

describe('a proxy that is stopped', () => {
  it('ends every client at once, whatever it is at, and has told of all of them', { timeout: 60_000 }, async () => {
    let reached = 0;
    const silent = await served(
      listenRaw(() => {
        reached += 1;
      }),
    );
    const target = `silent.example:${silent.port}`;
    const long = 600_000;
    const limits = {
      connectMilliseconds: long,
      headMilliseconds: long,
      idleMilliseconds: long,
      lingerMilliseconds: long,
    };
    const { port, proxy } = await startProxy({ ...allowing(target), limits: { ...limits, connections: 4 } });
    const client = async (said: string) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined).resume();
      await once(socket, 'connect');
      socket.write(said);
      return socket;
    };
    const clients: Readonly<Record<string, Socket>> = {
      'in a tunnel': await tunnelTo(port, target),
      'in its head': await client('GET http://silent'),
      'without a word': await client(''),
      'at a host that does not answer': await client(get(`http://${target}/`)),
      'waiting for its turn': await client(get(`http://${target}/`)),
      'waiting behind it': await client(''),
    };
    while (reached < 2) await sleep(2);
    const closed = Object.entries(clients).map(async ([what, socket]) => {
      socket.resume().once('end', () => socket.end());
      if (!socket.closed) await once(socket, 'close');
      return what;
    });
    await proxy.stop();
    assert.deepEqual(await Promise.all(closed), Object.keys(clients));
    // What only waited has attempted nothing; a head may have come too late to be an attempt.
    const { length } = await told(proxy, 2);
    assert.ok(length === 2 || length === 3, `${length}`);
  });
});

describe('CONNECT', () => {
  it('carries bytes both ways and tells how many', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const target = `echo.example:${echo.port}`;
    const { port, proxy } = await proxying(allowing(target));
    const socket = await tunnelTo(port, target);
    socket.end('hello');
    assert.equal((await receive(socket)).toString(), 'hello');
    const [event] = await told(proxy, 1);
    assert.deepEqual(
      { ...event, milliseconds: 0 },
      {
        host: 'echo.example',
        port: echo.port,
        address: '127.0.0.1',
        protocol: 'connect',
        verdict: 'allowed',
        reason: null,
        bytesIn: 5,
        bytesOut: 5,
        milliseconds: 0,
        count: 1,
      },
    );
  });

  it('takes what the client sends before the answer', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const target = `echo.example:${echo.port}`;
    const { port } = await proxying(allowing(target));
    const answer = await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\nearly`, true);
    assert.equal(answer.toString(), 'HTTP/1.1 200 Connection established\r\n\r\nearly');
  });

  it('lets a client end its half and still have the answer', async () => {
    const server = await served(
      listenRaw((socket) => {
        const hash = createHash('sha256');
        socket.on('data', (chunk: Buffer) => hash.update(chunk));
        socket.on('end', () => setTimeout(() => socket.end(hash.digest('hex')), 30));
      }),
    );
    const target = `late.example:${server.port}`;
    const { port } = await proxying(allowing(target));
    const sent = randomBytes(300_000);
    const socket = await tunnelTo(port, target);
    socket.end(sent);
    assert.equal((await receive(socket)).toString(), createHash('sha256').update(sent).digest('hex'));
  });

  it('lets a host end its half and still have the rest', async () => {
    let received = '';
    const server = await served(
      listenRaw((socket) => {
        socket.end('bye');
        socket.on('data', (chunk: Buffer) => {
          received += chunk.toString();
        });
      }),
    );
    const target = `early.example:${server.port}`;
    const { port, proxy } = await proxying(allowing(target));
    const socket = await tunnelTo(port, target);
    assert.equal((await receive(socket)).toString(), 'bye');
    socket.end('still here');
    await once(socket, 'close');
    await told(proxy, 1);
    while (received === '') await sleep(2);
    assert.equal(received, 'still here');
  });

  it('holds a fast host back where the client is slow', async () => {
    const size = 64 * 1024 * 1024;
    const block = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    const server = await served(
      listenRaw((socket) => {
        const more = () => {
          while (written < size) {
            written += block.length;
            if (!socket.write(block)) return void socket.once('drain', more);
          }
          socket.end();
        };
        more();
      }),
    );
    const target = `fast.example:${server.port}`;
    const { port } = await proxying(allowing(target));
    const socket = await tunnelTo(port, target);
    await sleep(200);
    assert.ok(written < size / 2, `${written} bytes were taken that nobody read`);
    let received = 0;
    for await (const chunk of socket) received += (chunk as Buffer).length;
    assert.equal(received, size);
  });

  it('passes a reset on as an abrupt end', async () => {
    const server = await served(listenRaw((socket) => void socket.once('data', () => socket.resetAndDestroy())));
    const target = `rude.example:${server.port}`;
    const { port } = await proxying(allowing(target));
    const socket = await tunnelTo(port, target);
    socket.resume().write('x');
    await assert.rejects(once(socket, 'end'), { code: 'ECONNRESET' });
  });

  it('serves a hundred at once', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const target = `echo.example:${echo.port}`;
    const { port, proxy } = await proxying(allowing(target));
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = await tunnelTo(port, target);
        const sent = Buffer.alloc(50_000, index);
        socket.end(sent);
        assert.ok((await receive(socket)).equals(sent));
      }),
    );
    assert.deepEqual(
      (await told(proxy, 100)).map(({ count, bytesIn }) => [count, bytesIn]),
      [[100, 5_000_000]],
    );
  });
});

describe('plain HTTP', () => {
  it('is sent on and back, bodies in both framings', async () => {
    const origin = await served(
      listenHttp(async (request, response) => {
        const body = Buffer.concat(await request.toArray());
        if (request.url === '/counted') response.setHeader('Content-Length', body.length);
        response.write(body);
        response.end();
      }),
    );
    const site = `http://origin.example:${origin.port}`;
    const { port, proxy } = await proxying(allowing(`origin.example:${origin.port}`));
    const counted = await say(port, `POST ${site}/counted HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello`);
    assert.match(counted.toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: 5\r\n[\s\S]*\r\n\r\nhello$/);
    const chunked = await say(
      port,
      `POST ${site}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`,
    );
    assert.match(
      chunked.toString(),
      /Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n$|\r\n5\r\nhello\r\n0\r\n\r\n$/,
    );
    const old = await say(port, `GET ${site}/ HTTP/1.0\r\n\r\n`);
    assert.match(old.toString(), /^HTTP\/1\.1 200/);
    const head = await say(port, `HEAD ${site}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(head.toString(), /^HTTP\/1\.1 200[\s\S]*\r\n\r\n$/);
    assert.ok(proxy.connections().every(({ protocol, verdict }) => protocol === 'http' && verdict === 'allowed'));
  });

  it('answers before the whole request is there, and keeps its bytes', async () => {
    const origin = await served(
      listenRaw((socket) => {
        socket.once('data', (chunk: Buffer) => {
          const path = chunk.toString('latin1').split(' ')[1] ?? '';
          socket.end(
            `HTTP/1.1 413 Too Large\r\nX-Path: ${Buffer.from(path, 'latin1').toString('hex')}\r\n\r\ntoo large`,
          );
        });
      }),
    );
    const { port } = await proxying({
      ...allowing(`origin.example:${origin.port}`),
      limits: { lingerMilliseconds: 50 },
    });
    const answer = await say(
      port,
      `PUT http://origin.example:${origin.port}/\xc3\xa9 HTTP/1.1\r\nContent-Length: 9\r\n\r\nhal`,
    );
    assert.match(answer.toString(), /^HTTP\/1\.1 413 [\s\S]*X-Path: 2fc3a9\r\n[\s\S]*too large$/);
  });

  it('waits for a host that says 100 first', async () => {
    const origin = await served(listenHttp((request, response) => void request.pipe(response)));
    const { port } = await proxying(allowing(`origin.example:${origin.port}`));
    const answer = await say(
      port,
      `PUT http://origin.example:${origin.port}/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok`,
    );
    assert.match(answer.toString(), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  });

  it('tells an abrupt end from a whole answer', async () => {
    const origin = await served(
      listenRaw(
        (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')),
      ),
    );
    const { port, proxy } = await proxying(allowing(`cut.example:${origin.port}`));
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(get(`http://cut.example:${origin.port}/`));
    socket.resume();
    await assert.rejects(once(socket, 'end'), { code: 'ECONNRESET' });
    const [event] = await told(proxy, 1);
    assert.equal(event?.verdict, 'failed');
    assert.match(event?.reason ?? '', /cut short/);
  });

  it('refuses an answer of unclear length', async () => {
    const origin = await served(
      listenRaw(
        (socket) =>
          void socket.once('data', () =>
            socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
          ),
      ),
    );
    const { port } = await proxying(allowing(`odd.example:${origin.port}`));
    assert.match((await say(port, get(`http://odd.example:${origin.port}/`))).toString(), /^HTTP\/1\.1 502 /);
  });
});

describe('SOCKS5', () => {
  it('carries bytes to a name and to an address', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const { port, proxy } = await proxying(allowing(`echo.example:${echo.port}`, `127.0.0.1:${echo.port}`));
    const ok = Buffer.of(5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0);
    const named = Buffer.concat([socksRequest('echo.example', echo.port), Buffer.from('hi')]);
    assert.deepEqual(await say(port, named, true), Buffer.concat([ok, Buffer.from('hi')]));
    const numbered = Buffer.of(5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, echo.port >> 8, echo.port & 255, 0x68, 0x69);
    assert.deepEqual(await say(port, numbered, true), Buffer.concat([ok, Buffer.from('hi')]));
    assert.deepEqual(
      (await told(proxy, 2)).map(({ host, protocol }) => [host, protocol]),
      [
        ['echo.example', 'socks5'],
        ['127.0.0.1', 'socks5'],
      ],
    );
  });

  it('says why not: not allowed, unreachable, not served', async () => {
    const closed = await listenRaw(() => undefined);
    await closed.close();
    const { port } = await proxying(allowing(`closed.example:${closed.port}`));
    assert.equal((await say(port, socksRequest('other.example', 80)))[3], 2);
    assert.equal((await say(port, socksRequest('closed.example', closed.port)))[3], 5);
    assert.equal((await say(port, socksRequest('closed.example', closed.port, 3)))[3], 7);
    assert.deepEqual(await say(port, Buffer.of(5, 1, 2)), Buffer.of(5, 255));
  });
});

describe('the proxy', () => {
  it('refuses all where nothing is granted, and says what to add', async () => {
    const { port, events } = await proxying({ grant: noNetwork });
    const answer = (await say(port, 'CONNECT a.example:443 HTTP/1.1\r\n\r\n')).toString();
    assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*X-Ctx-Reason: .*an operator can grant a\.example:443/);
    assert.match((await say(port, get('http://a.example/'))).toString(), /^HTTP\/1\.1 403 /);
    assert.deepEqual(
      events.map(({ host, port: to, verdict, address }) => [host, to, verdict, address]),
      [
        ['a.example', 443, 'refused', null],
        ['a.example', 80, 'refused', null],
      ],
    );
  });

  it('tries the next address where one does not answer', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const target = `two.example:${echo.port}`;
    const { port, proxy } = await proxying({
      ...allowing(target),
      resolve: async () => ['127.99.0.1', '::1', '127.0.0.1'],
    });
    assert.match((await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\nx`, true)).toString(), /\r\n\r\nx$/);
    assert.equal((await told(proxy, 1))[0]?.address, '127.0.0.1');
  });

  it('says that a name does not resolve, and that a host is not there', async () => {
    const { port } = await proxying({
      ...allowing('gone.example:80', 'none.example:80'),
      resolve: async (host) => (host === 'none.example' ? [] : Promise.reject(new Error('ENOTFOUND'))),
    });
    assert.match((await say(port, get('http://gone.example/'))).toString(), /502[\s\S]*could not be resolved/);
    assert.match((await say(port, get('http://none.example/'))).toString(), /502[\s\S]*has no address/);
  });

  it('gives up on a resolver and on a host that take too long', async () => {
    const { port } = await proxying({
      ...allowing('slow.example:80'),
      resolve: () => new Promise(() => undefined),
      limits: { connectMilliseconds: 50 },
    });
    assert.match((await say(port, get('http://slow.example/'))).toString(), /^HTTP\/1\.1 504 /);
  });

  it('gives all of an answer to a client that rests before it reads the end', async () => {
    const { server, port } = await listeningServer();
    const ours = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const piece = Buffer.alloc(15_000, 'x');
    let sent = 0;
    const host = await served(
      listenRaw(async (socket) => {
        await once(socket, 'data');
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        // Until the kernel takes no more of a piece: it waits in the proxy when the host has ended.
        const client = await ours;
        while (client.writableLength === 0) {
          socket.write(piece);
          sent += piece.length;
          while (client.bytesWritten < sent) await new Promise(setImmediate);
        }
        socket.end();
      }),
    );
    const target = `a.example:${host.port}`;
    const limits = { lingerMilliseconds: 20 };
    const resolve = async () => ['127.0.0.1'];
    const proxy = startNetworkProxy({ server, resolve, limits, ...allowing(target) });
    closing.push(() => proxy.stop());
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(get(`http://${target}/`));
    await told(proxy, 1);
    await sleep(200);
    const answer = await receive(socket);
    assert.equal(answer.length - answer.indexOf('\r\n\r\n') - 4, sent);
  });

  it('closes what carries nothing', async () => {
    const silent = await served(listenRaw(() => undefined));
    const target = `silent.example:${silent.port}`;
    const { port } = await proxying({ ...allowing(target), limits: { idleMilliseconds: 60 } });
    const socket = await tunnelTo(port, target);
    await assert.rejects(once(socket.resume(), 'end'), { code: 'ECONNRESET' });
    assert.match((await say(port, get(`http://${target}/`))).toString(), /^HTTP\/1\.1 50[24] /);
  });

  it('serves no more at once than it may; others wait, and not for longer than a connection may take', async () => {
    const echo = await served(listenRaw((socket) => void socket.pipe(socket)));
    const target = `echo.example:${echo.port}`;
    const { port, proxy } = await proxying({
      ...allowing(target),
      limits: { connections: 2, connectMilliseconds: 1_500 },
    });
    const open = [await tunnelTo(port, target), await tunnelTo(port, target)];
    assert.equal((await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\n`)).length, 0);
    const next = say(port, `CONNECT ${target} HTTP/1.1\r\n\r\nx`, true);
    await sleep(50);
    for (const socket of open) socket.destroy();
    assert.match((await next).toString(), /\r\n\r\nx$/, 'it waits for its turn');
    await told(proxy, 4);
    assert.ok(proxy.connections().some(({ reason }) => reason?.includes('networkConnections')));
  });

  it('stops with everything told and closed, whatever is under way', async () => {
    const stuck = await served(listenRaw((socket) => void socket.pause()));
    const target = `stuck.example:${stuck.port}`;
    const { port, proxy, events } = await startProxy(allowing(target));
    const half = connect(port, '127.0.0.1');
    half.on('error', () => undefined).write('GET http://');
    await once(half, 'connect');
    const tunnel = await tunnelTo(port, target);
    tunnel.write(Buffer.alloc(16 * 1024 * 1024));
    await sleep(200);
    await proxy.stop();
    assert.deepEqual(events.map(({ verdict, count }) => [verdict, count]).sort(), [
      ['allowed', 1],
      ['failed', 1],
    ]);
    await assert.rejects(tunnelTo(port, target));
  });

  it('starts nothing from a malformed rule', () => {
    const server = createServer();
    assert.throws(() => startNetworkProxy({ server, grant: noNetwork, privateHosts: ['x'] }), { code: 'EINVAL' });
    assert.equal(server.listenerCount('connection'), 0);
  });
});

describe('whose fault it was', () => {
  it('is the client, where the body of its request is not well formed', async () => {
    const host = await served(listenHttp((request) => void request.resume().on('error', () => undefined)));
    const { port, proxy } = await proxying(allowing(`a.example:${host.port}`));
    const head = `POST http://a.example:${host.port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = (await say(port, `${head}zz\r\n`)).toString();
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*expected a chunk size in hexadecimal/);
    assert.equal((await told(proxy, 1))[0]?.verdict, 'refused');
  });

  it('is the client, where the head is too long, also in one piece', async () => {
    const small = await proxying({ ...allowing('a.example:80'), limits: { headBytes: 1_000 } });
    const usual = await proxying(allowing('a.example:80'));
    for (const [{ port }, bytes] of [
      [small, 1_200],
      [usual, 32_768],
      [usual, 40_000],
    ] as const) {
      const answer = await say(port, get('http://a.example/', `A: ${'x'.repeat(bytes)}`));
      assert.match(answer.toString(), /^HTTP\/1\.1 431 /, String(bytes));
    }
  });

  it('is not the host, which is given time for its answer when it has the whole request', async () => {
    const idleMilliseconds = 1_200;
    const host = await served(
      listenHttp((request, response) => {
        request.resume().on('end', () => response.end('thanks'));
      }),
    );
    const { port } = await proxying({ ...allowing(`a.example:${host.port}`), limits: { idleMilliseconds } });
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`POST http://a.example:${host.port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    // Longer in all than the host may take for an answer, and never silent for as long, on a busy machine either.
    const start = performance.now();
    while (performance.now() - start < 1.5 * idleMilliseconds) {
      socket.write('1\r\nx\r\n');
      await sleep(50);
    }
    socket.write('0\r\n\r\n');
    assert.match((await receive(socket)).toString(), /^HTTP\/1\.1 200 [\s\S]*thanks$/);
  });
});
