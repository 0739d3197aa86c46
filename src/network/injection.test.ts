import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import { hostNetwork } from '../authority/network.js';
import { networkSessionMilliseconds } from '../base/limits/network.js';
import { makeCertificate, renewingServer, withoutOpenssl } from './certificate-fixture.js';
import type { NetworkProxyOptions } from './proxy.js';
import { allowing, type Listening, listen, listenHttp, listenRaw, say, startProxy } from './proxy-fixture.js';

/** The body of an answer, its chunks put together: where they are cut is the clock's doing. */
function unchunked(answer: string): string {
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  return /Transfer-Encoding: chunked/.test(answer) ? body.replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '') : body;
}

describe('a secret that the proxy adds', { skip: withoutOpenssl() }, () => {
  const token = 'tok-0123456789abcdef';
  const value = `Bearer ${token}`;
  let directory = '';
  let api: Listening;
  let certificate = { key: '', cert: '' };
  const received: IncomingMessage[] = [];
  const stopping: (() => Promise<void>)[] = [];

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    received.push(request);
    const echo = JSON.stringify(request.headers);
    response.setHeader('X-Echo', request.headers.authorization ?? 'none');
    if (request.url === '/counted') response.setHeader('Content-Length', echo.length);
    // In pieces, so that a value is cut in two; late enough in it that the first is covered however late the second is.
    const half = echo.indexOf(token) + 12;
    response.write(echo.slice(0, half));
    setTimeout(() => response.end(echo.slice(half)), 5);
  };

  const proxying = async (options: Partial<NetworkProxyOptions> = {}) => {
    const fixture = await startProxy({
      ...allowing(`api.example:${api.port}`),
      secrets: [{ host: 'api.example', header: 'Authorization', value, port: api.port }],
      certificates: [certificate.cert],
      ...options,
    });
    stopping.push(() => fixture.proxy.stop());
    return fixture;
  };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'ctx-network-'));
    certificate = makeCertificate(directory, 'api.example');
    api = await listen(createHttpsServer(certificate, handle));
  });
  after(async () => {
    for (const stop of stopping) await stop();
    await api.close();
    rmSync(directory, { recursive: true });
  });

  it('reaches the host over TLS and never comes back', async () => {
    const { port, events, proxy } = await proxying();
    for (const path of ['/', '/counted']) {
      const answer = (
        await say(
          port,
          `GET http://api.example${path} HTTP/1.1\r\nHost: x\r\naUTHORIZATION: Bearer own\r\nAccept-Encoding: gzip\r\n\r\n`,
        )
      ).toString();
      const request = received.at(-1);
      assert.equal(request?.headers.authorization, value);
      assert.equal(request?.headers.host, `api.example:${api.port}`);
      assert.equal(request?.headers['accept-encoding'], 'identity');
      assert.match(answer, /^HTTP\/1\.1 200 OK/);
      assert.match(answer, /X-Echo: \*{27}\r\n/);
      assert.ok(!answer.includes(token), answer);
      assert.match(unchunked(answer), /\*{20}","connection"/);
    }
    await proxy.stop();
    assert.ok(!inspect(events, { depth: 9 }).includes('tok-'));
    assert.deepEqual(events.map(({ host, port: to, protocol, verdict }) => [host, to, protocol, verdict])[0], [
      'api.example',
      api.port,
      'https',
      'allowed',
    ]);
    assert.ok((events[0]?.bytesIn ?? 0) > 300, 'the bytes of TLS are counted');
  });

  it('is added to what a client asks for in a tunnel to port 80, which some make for http, too', async () => {
    const { port } = await proxying();
    const connect = 'CONNECT api.example:80 HTTP/1.1\r\nHost: api.example:80\r\n\r\n';
    const answer = (await say(port, `${connect}GET /inside HTTP/1.1\r\nHost: other.example\r\n\r\n`)).toString();
    assert.match(answer, /^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK/);
    assert.deepEqual([received.at(-1)?.url, received.at(-1)?.headers.authorization], ['/inside', value]);
    assert.equal(received.at(-1)?.headers.host, `api.example:${api.port}`);
    assert.ok(!answer.includes(token), answer);
    const count = received.length;
    for (const inside of ['GET http://other.example/ HTTP/1.1\r\n\r\n', 'CONNECT other.example:443 HTTP/1.1\r\n\r\n']) {
      assert.match((await say(port, `${connect}${inside}`)).toString(), /\r\n\r\nHTTP\/1\.1 400 /);
    }
    const ungranted = await proxying({ grant: hostNetwork(['api.example:80']) });
    const refused = (await say(ungranted.port, `${connect}GET / HTTP/1.1\r\n\r\n`)).toString();
    assert.match(refused, /\r\n\r\nHTTP\/1\.1 403 /);
    assert.equal(received.length, count);
  });

  it('has no other spelling of its header beside it', async () => {
    const { port } = await proxying({
      secrets: [{ host: 'api.example', header: 'X-Api-Key', value: token, port: api.port }],
    });
    await say(port, 'GET http://api.example/ HTTP/1.1\r\nX_Api_Key: own\r\nx-api_KEY: own\r\nX-Api: kept\r\n\r\n');
    const { headers = {} } = received.at(-1) ?? {};
    assert.deepEqual(
      Object.entries(headers).filter(([name]) => name.startsWith('x')),
      [
        ['x-api', 'kept'],
        ['x-api-key', token],
      ],
    );
  });

  it('shows in nothing but stars: an echo is the same whatever its bytes', async () => {
    const shown = async (secret: string, guess: string) => {
      const { port } = await proxying({
        secrets: [{ host: 'api.example', header: 'X-Key', value: secret, port: api.port }],
      });
      return unchunked((await say(port, `GET http://api.example/ HTTP/1.1\r\nX-Guess: ${guess}\r\n\r\n`)).toString());
    };
    const [one, other] = ['abcdefghijklmnop', 'qrstuvwxyz012345'];
    for (const guess of ['abc', 'abcdefg', 'qrstuvw', 'zzz']) {
      assert.deepEqual(await shown(one, guess), await shown(other, guess), guess);
    }
  });

  it('needs the grant of the port it leaves by', async () => {
    const { port } = await proxying({ grant: hostNetwork(['api.example:80']) });
    assert.match((await say(port, 'GET http://api.example/ HTTP/1.1\r\n\r\n')).toString(), /^HTTP\/1\.1 403 /);
  });

  it('goes to no host whose certificate is not its own, and the error does not show it', async () => {
    const count = received.length;
    const { port, proxy } = await proxying({ certificates: [makeCertificate(directory, 'other.example').cert] });
    const answer = (await say(port, 'GET http://api.example/ HTTP/1.1\r\n\r\n')).toString();
    assert.match(answer, /^HTTP\/1\.1 502 [\s\S]*TLS with api\.example failed/);
    await proxy.stop();
    assert.equal(received.length, count);
    assert.ok(!`${answer}${inspect(proxy.connections())}`.includes('tok-'));
  });

  it('is sent on a session that is taken up again, and to no other host that is there by then', async () => {
    const sockets: boolean[] = [];
    const host = (own: { key: string; cert: string }) => {
      const server = createHttpsServer(own, (request, response) => {
        received.push(request);
        sockets.push((request.socket as TLSSocket).isSessionReused());
        response.end('ok');
      });
      return listen(server);
    };
    const good = await host(certificate);
    let place = good.port;
    const pass = await listenRaw((socket) => {
      const there = connect(place, '127.0.0.1');
      there.on('error', () => undefined);
      socket.pipe(there).pipe(socket);
    });
    stopping.push(good.close, pass.close);
    const { port } = await proxying({
      ...allowing(`api.example:${pass.port}`),
      secrets: [{ host: 'api.example', header: 'Authorization', value, port: pass.port }],
    });
    const ask = async () => (await say(port, 'GET http://api.example/ HTTP/1.1\r\n\r\n')).toString();
    for (let i = 0; i < 3; i++) assert.match(await ask(), /^HTTP\/1\.1 200 /);
    assert.deepEqual(sockets, [false, true, true]);
    // The same name and port, and somebody else with a certificate of their own.
    const other = await host(makeCertificate(mkdtempSync(join(directory, 'other-')), 'api.example'));
    stopping.push(other.close);
    place = other.port;
    const count = received.length;
    for (let i = 0; i < 2; i++) assert.match(await ask(), /^HTTP\/1\.1 502 [\s\S]*TLS with api\.example failed/);
    assert.equal(received.length, count);
  });

  it('goes on a session for as long as a certificate is trusted unseen, however often that is taken up', async (context) => {
    // Node's own server gives no new ticket for a session that is taken up; others do, and each of them is a session.
    const host = await renewingServer(directory, 'api.example');
    stopping.push(host.close);
    const { port } = await proxying({
      ...allowing(`api.example:${host.port}`),
      secrets: [{ host: 'api.example', header: 'Authorization', value, port: host.port }],
    });
    let later = 0;
    const now = performance.now.bind(performance);
    context.mock.method(performance, 'now', () => now() + later);
    const found: (string | undefined)[] = [];
    for (const share of [0, 0.5, 0.9, 1.01, 1.5, 2.02]) {
      later = share * networkSessionMilliseconds;
      const answer = (await say(port, 'GET http://api.example/ HTTP/1.1\r\n\r\n')).toString();
      found.push(/^(New|Reused), /m.exec(answer)?.[1] ?? answer);
    }
    assert.deepEqual(found, ['New', 'Reused', 'Reused', 'New', 'Reused', 'New']);
  });

  it('goes to no other host and no other port, and never in clear', async () => {
    const seen: IncomingMessage[] = [];
    const plain = await listenHttp((request, response) => {
      seen.push(request);
      response.end();
    });
    stopping.push(() => plain.close());
    const { port } = await proxying(allowing(`api.example:${plain.port}`, `other.example:${plain.port}`));
    for (const host of ['api.example', 'other.example']) {
      await say(port, `GET http://${host}:${plain.port}/ HTTP/1.1\r\nHost: api.example\r\n\r\n`);
    }
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      [undefined, undefined],
    );
  });

  it('is not echoed by TRACE', async () => {
    const { port } = await proxying();
    assert.match((await say(port, 'TRACE http://api.example/ HTTP/1.1\r\n\r\n')).toString(), /^HTTP\/1\.1 501 /);
  });
});
