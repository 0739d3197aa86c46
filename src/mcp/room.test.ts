import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readWithRoom, roomOf } from './room.js';

test('a client that does not read is not read from, and nothing is done for it', async () => {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 10 })];
  const room = roomOf(input.resume(), output);
  await room();
  output.write('more than ten bytes');
  let done = 0;
  const calls = Promise.all([1, 2, 3].map(() => room().then(() => (done += 1))));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, 0);
  assert.ok(input.isPaused());
  output.resume();
  await calls;
  assert.equal(done, 3);
  assert.ok(!input.isPaused());
});

test('a client that has gone is waited for by nobody', async () => {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 10 })];
  output.write('more than ten bytes');
  const waiting = roomOf(input, output)();
  output.destroy();
  await Promise.all([waiting, once(output, 'close')]);
});

test('what a client that has gone still asked is read to its end, whatever of its answers was not taken', async () => {
  for (const goes of ['before', 'meanwhile'] as const) {
    const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 10 })];
    const read: string[] = [];
    const ended = once(
      readWithRoom(input, output).on('data', (asked: Buffer) => read.push(asked.toString())),
      'end',
    );
    output.write('more than ten bytes');
    if (goes === 'before') output.destroy();
    input.write('asked');
    await new Promise((resolve) => setImmediate(resolve));
    output.destroy();
    input.end();
    await ended;
    assert.deepEqual(read, ['asked'], goes);
  }
});

test('whatever a client asks that does not read, little is answered, and all of it when it reads', async () => {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1_000 })];
  let answered = 0;
  readWithRoom(input, output).on('data', (asked: Buffer) => {
    answered += asked.length;
    output.write(Buffer.alloc(100 * asked.length));
  });
  const asked = 500 * 'ping'.length;
  for (let count = 0; count < 500; count++) {
    input.write('ping');
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(answered < asked / 4, String(answered));
  output.resume();
  for (const end = Date.now() + 60_000; answered < asked && Date.now() < end; ) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(answered, asked);
});
