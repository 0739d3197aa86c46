import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { networkFor } from './run.js';

describe('the network of a command', () => {
  it('is closed where its listener comes after the end', { timeout: 20_000 }, async () => {
    const request = { authority: {}, privateHosts: [], secrets: async () => [], view: { jail: { proxyPort: 1 } } };
    const network = await networkFor(request as unknown as Parameters<typeof networkFor>[0]);
    assert.deepEqual(await network?.end(), []);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const closed = once(server, 'close');
    network?.onServer(server);
    await closed;
    assert.equal(server.listening, false);
  });

  it('tells what gives a secret its value that nobody needs it any more', async () => {
    let ended: AbortSignal | undefined;
    const secrets = async (signal: AbortSignal) => {
      ended = signal;
      return [];
    };
    const request = { authority: {}, privateHosts: [], secrets, view: { jail: { proxyPort: 1 } } };
    const network = await networkFor(request as unknown as Parameters<typeof networkFor>[0]);
    assert.equal(ended?.aborted, false);
    await network?.end();
    assert.equal(ended?.aborted, true);
  });
});
