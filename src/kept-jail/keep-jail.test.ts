import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { closeSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nativeProgram } from '../base/native-program.js';
import { placeIn } from './jail-place.js';
import { isLive, type KeepingRequest, keepJail, withSocketPath } from './keep-jail.js';
import type { KeptJail } from './kept-jail.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-keep-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** A place of its own, and a jail that is none: it only ends. */
function stage(place = placeIn(mkdtempSync(join(directory, 'k-')), 'main')) {
  let ends = 0;
  let over: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const jail = {
    origin: '/srv/app',
    fork: 'main',
    pid: 4_000_000,
    ended,
    isKeptWithOthers: () => undefined,
    end: async () => {
      ends += 1;
      over();
    },
  } as unknown as KeptJail;
  const keep = (asked: Partial<KeepingRequest>) =>
    new Promise<{ readonly kept: Promise<void> }>((resolve, reject) => {
      const kept: Promise<void> = keepJail(jail, place, {
        idleMilliseconds: 60_000,
        serve: () => ({ answered: Promise.resolve() }),
        peerLibrary: nativeProgram('peer.node'),
        now: new Date(0),
        ending: new AbortController().signal,
        ...asked,
        onReady: () => resolve({ kept }),
      });
      kept.catch(reject);
    });
  const client = () =>
    new Promise<Socket>((resolve, reject) =>
      withSocketPath(place, (path) => {
        const socket = connect(path, () => resolve(socket));
        socket.once('error', reject);
      }),
    );
  return { place, keep, client, jail, ends: () => ends };
}

const settled = (work: Promise<void>) => Promise.race([work.then(() => true), sleep(0).then(() => false)]);

describe('a kept jail', () => {
  it('ends when it was idle for so long, and leaves nothing behind', async () => {
    const { place, keep, ends } = stage();
    const start = performance.now();
    const { kept } = await keep({ idleMilliseconds: 80 });
    assert.ok(await isLive(place));
    await kept;
    assert.ok(performance.now() - start >= 79);
    assert.deepEqual([readdirSync(place.directory), ends()], [[], 1]);
  });

  it('is there as long as its process has the socket, also where that answers nobody', async () => {
    const { place, keep } = stage();
    assert.equal(await isLive(place), false);
    const library = createRequire(import.meta.url)(nativeProgram('fuse.node')) as { listen(path: string): number };
    const descriptor = withSocketPath(place, (path) => library.listen(path));
    // More than the kernel lets wait there.
    for (let count = 0; count < 140; count += 1) assert.ok(await isLive(place), `${count} wait`);
    await assert.rejects(keep({}), { code: 'EEXIST' });
    closeSync(descriptor);
    assert.equal(await isLive(place), false);
    assert.equal(await isLive({ ...place, directory: place.facts }), false);
  });

  it('is not idle while a client is there, whenever that came', async () => {
    const { keep, client } = stage();
    const idleMilliseconds = 150;
    const { kept } = await keep({ idleMilliseconds });
    const clients = [await client(), await client()];
    await sleep(2 * idleMilliseconds);
    assert.equal(await settled(kept), false);
    clients[0]?.destroy();
    await sleep(2 * idleMilliseconds);
    assert.equal(await settled(kept), false, 'one of two is still there');
    const left = performance.now();
    clients[1]?.destroy();
    await kept;
    assert.ok(performance.now() - left >= idleMilliseconds - 1, 'the time counts from when the last one left');
  });

  it('is the only one at its place, of several that start at once and after one that was killed', async () => {
    const { place } = stage();
    writeFileSync(place.socket, '');
    const ending = new AbortController();
    const asked = Array.from({ length: 5 }, () => stage(place));
    const starts = await Promise.allSettled(asked.map(({ keep }) => keep({ ending: ending.signal })));
    const refused = starts.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
    assert.deepEqual(refused, ['EEXIST', 'EEXIST', 'EEXIST', 'EEXIST']);
    assert.ok(await isLive(place), 'and whoever was refused takes nothing away');
    ending.abort();
    await Promise.all(starts.flatMap((each) => (each.status === 'fulfilled' ? [each.value.kept] : [])));
    assert.deepEqual([readdirSync(place.directory), asked.map(({ ends }) => ends())], [[], [1, 1, 1, 1, 1]]);
  });

  it('ends by each way of ending it', async () => {
    for (const way of ['signal', 'signal before', 'client', 'jail'] as const) {
      const { place, keep, client, jail, ends } = stage();
      const ending = new AbortController();
      if (way === 'signal before') ending.abort();
      const { kept } = await keep({
        ending: ending.signal,
        serve: (_socket, { stop }) => {
          stop();
          return { answered: Promise.resolve() };
        },
      });
      if (way === 'signal') ending.abort();
      if (way === 'client') await client();
      if (way === 'jail') await jail.end();
      await kept;
      assert.ok(ends() > 0, way);
      assert.deepEqual(readdirSync(place.directory), [], way);
    }
  });

  it('that a process keeps alone ends by its signals, and leaves no listener behind', async () => {
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const listeners = () => names.map((name) => process.listenerCount(name));
    const before = listeners();
    for (const name of names) {
      const { place, keep, ends } = stage();
      const { kept } = await keep({ ending: undefined });
      assert.deepEqual(JSON.parse(readFileSync(place.facts, 'utf8')), {
        ...{ pid: process.pid, keeper: process.pid, origin: '/srv/app', fork: 'main' },
        started: '1970-01-01T00:00:00.000Z',
      });
      process.kill(process.pid, name);
      await kept;
      assert.deepEqual([ends(), listeners()], [1, before], name);
    }
    const { place, keep } = stage();
    const ending = new AbortController();
    const { kept } = await keep({ ending: ending.signal });
    const { pid, keeper } = JSON.parse(readFileSync(place.facts, 'utf8'));
    assert.deepEqual([pid, keeper], [4_000_000, process.pid], 'of many, each has a process of its own');
    assert.deepEqual([listeners(), getEventListeners(ending.signal, 'abort').length], [before, 1]);
    ending.abort();
    await kept;
    assert.equal(getEventListeners(ending.signal, 'abort').length, 0);
  });

  it('takes the place of one that was killed, and of none that lives', async () => {
    const { place, keep, ends } = stage();
    writeFileSync(place.socket, '');
    writeFileSync(place.facts, 'old');
    const ending = new AbortController();
    const { kept } = await keep({ ending: ending.signal });
    assert.equal(JSON.parse(readFileSync(place.facts, 'utf8')).keeper, process.pid);
    const second = stage();
    await assert.rejects(
      keepJail(second.jail, place, {
        idleMilliseconds: 60_000,
        serve: () => ({ answered: Promise.resolve() }),
        peerLibrary: nativeProgram('peer.node'),
        now: new Date(0),
        ending: new AbortController().signal,
        onReady: () => assert.fail('it must not be ready'),
      }),
      { code: 'EEXIST' },
    );
    assert.deepEqual([second.ends(), ends(), await isLive(place)], [1, 0, true]);
    assert.ok(readdirSync(place.directory).includes('main.json'));
    ending.abort();
    await kept;
  });

  it('waits for answers that are under way, and closes every connection', async () => {
    const { keep, client } = stage();
    const ending = new AbortController();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { kept } = await keep({ ending: ending.signal, serve: () => ({ answered }) });
    const socket = await client();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    ending.abort();
    await sleep(50);
    assert.equal(await settled(kept), false);
    answer();
    await Promise.all([kept, closed]);
  });
});
