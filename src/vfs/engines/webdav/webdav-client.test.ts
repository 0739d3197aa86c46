/** What a WebDAV server may do to those who ask it, besides answering. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { WebdavClient } from './webdav-client.js';
import { parseXml } from './webdav-xml.js';

const mebibyte = 1024 * 1024;
const put = { operation: 'write', method: 'PUT', path: '/f', again: true };
const body = (size: number) => ({
  size,
  read: (at: number, length: number) => Buffer.alloc(Math.min(length, size - at)),
});

describe('a WebDAV server', () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function asked(limit: number, answer: RequestListener): Promise<WebdavClient> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return new WebdavClient({ url: new URL(`http://127.0.0.1:${port}/`), limit }, 'webdav:test');
  }

  it('that takes a large file slowly has time for each piece of it, and not one limit for all', async () => {
    const client = await asked(1_000, (request, response) => {
      let [taken, pauses] = [0, 0];
      request.on('data', (bytes: Buffer) => {
        taken += bytes.length;
        if (taken < (pauses + 1) * 16 * mebibyte || pauses === 2) return;
        pauses += 1;
        request.pause();
        setTimeout(() => request.resume(), 700);
      });
      request.on('end', () => response.writeHead(201).end());
    });
    const warned: unknown[] = [];
    const warn = (warning: unknown) => warned.push(warning);
    process.on('warning', warn);
    const began = Date.now();
    assert.equal((await client.ask({ ...put, body: body(40 * mebibyte) })).status, 201);
    assert.ok(Date.now() - began > 1_000, 'it took longer than the limit');
    process.off('warning', warn);
    assert.deepEqual(warned, []);
    client.close();
  });

  it('that answers before it has read everything keeps no connection', async () => {
    const client = await asked(3_000, (_, response) => response.writeHead(507, { 'content-length': 0 }).end());
    for (let times = 0; times < 18; times += 1)
      assert.equal((await client.ask({ ...put, body: body(8 * mebibyte) })).status, 507);
    client.close();
  });

  it('is asked again where it is busy or says nothing, and but once what may have been done by then', async () => {
    const [busy, settled] = [
      [429, 500, 502, 503, 504],
      [200, 201, 204, 207, 301, 400, 401, 403, 404, 405, 409, 412, 416, 423, 501, 507],
    ];
    /** It answers so, twice; then that all is well. `0` is a connection that ends without an answer. */
    const times = async (status: number, again: boolean) => {
      let asks = 0;
      const client = await asked(20_000, (request, response) => {
        asks += 1;
        if (status === 0 && asks <= 2) request.socket.destroy();
        else response.writeHead(asks > 2 ? 299 : status, { 'content-length': 0 }).end();
      });
      const ending = await client
        .ask({ operation: 'rename', method: 'MOVE', path: '/f', again })
        .then((answer) => answer.status)
        .catch((error: { code?: string }) => error.code);
      client.close();
      return [asks, ending];
    };
    const each = (statuses: readonly number[], again: boolean) =>
      Promise.all(statuses.map(async (status) => [status, ...(await times(status, again))]));
    assert.deepEqual(
      await each([0, ...busy], true),
      [0, ...busy].map((status) => [status, 3, 299]),
    );
    assert.deepEqual(
      await each(settled, true),
      settled.map((status) => [status, 1, status]),
    );
    assert.deepEqual(
      await each([0, ...busy, ...settled], false),
      [0, ...busy, ...settled].map((status) => [status, 1, status === 0 ? 'EIO' : status]),
    );
  });

  it('that never ends a name or a tag is refused at once', () => {
    for (const text of [`<${'a'.repeat(100_000)}`, `<a ${'b '.repeat(5_000_000)}`]) {
      const began = Date.now();
      assert.throws(() => parseXml(text), { code: 'EIO' });
      assert.ok(Date.now() - began < 5_000, `${Date.now() - began} ms`);
    }
  });
});
