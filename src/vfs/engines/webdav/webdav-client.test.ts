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

  it('that never ends a name or a tag is refused at once', () => {
    for (const text of [`<${'a'.repeat(100_000)}`, `<a ${'b '.repeat(5_000_000)}`]) {
      const began = Date.now();
      assert.throws(() => parseXml(text), { code: 'EIO' });
      assert.ok(Date.now() - began < 5_000, `${Date.now() - began} ms`);
    }
  });
});
