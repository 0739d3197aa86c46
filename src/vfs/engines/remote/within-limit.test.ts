import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { withinLimit } from './within-limit.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

describe('a call of a remote server', () => {
  it('ends after its limit, whatever garbage is collected meanwhile', async () => {
    const waits = withinLimit(300, new AbortController().signal, aborted);
    setTimeout(collectGarbage, 50);
    setTimeout(collectGarbage, 150);
    await assert.rejects(waits, { name: 'TimeoutError' });
  });

  it('ends with the tree, before it and during it', async () => {
    const closing = new AbortController();
    const waits = withinLimit(60_000, closing.signal, aborted);
    closing.abort();
    await assert.rejects(waits, { name: 'AbortError' });
    await withinLimit(60_000, closing.signal, async (signal) => assert.ok(signal.aborted));
  });
});
