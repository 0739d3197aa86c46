import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { terminationGraceMilliseconds } from '../base/limits/commands.js';
import { OutputPatience, takeOutput } from './taken-output.js';

/** A stream that goes on whatever it is told, as Node's do when the program has ended. */
class Hasty extends EventEmitter {
  readonly told: string[] = [];
  pause = () => void this.told.push('pause');
  resume = () => void this.told.push('resume');
}

it('what is not taken yet keeps what follows waiting, chunk by chunk, and the end', async () => {
  const output = new Hasty();
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  let hasEnded = false;
  const done = takeOutput(output as unknown as Readable, (chunk) => {
    taken.push(String(chunk));
    return new Promise((resolve, reject) => waiting.push(taken.length === 2 ? reject : resolve));
  }).then(() => {
    hasEnded = true;
  });
  for (const text of ['one', 'two', 'three']) output.emit('data', Buffer.from(text));
  assert.deepEqual([taken, output.told], [['one'], ['pause', 'pause', 'pause']]);
  for (const [index, expected] of ['one', 'two', 'three', 'four'].entries()) {
    assert.deepEqual([taken.at(-1), taken.length, hasEnded], [expected, index + 1, false]);
    if (index === 1) output.emit('data', Buffer.from('four'));
    if (index === 2) output.emit('end');
    waiting[index]?.();
    await nextTurn();
  }
  assert.deepEqual(
    [taken, output.told.filter((each) => each === 'resume')],
    [['one', 'two', 'three', 'four'], ['resume']],
  );
  await done;
  assert.equal(hasEnded, true);
});

it('what is taken at once is not paused, and ends with its stream', async () => {
  for (const end of ['end', 'close']) {
    const output = new Hasty();
    const taken: string[] = [];
    const done = takeOutput(output as unknown as Readable, (chunk) => void taken.push(String(chunk)));
    for (const text of ['one', 'two']) output.emit('data', Buffer.from(text));
    output.emit(end);
    await done;
    assert.deepEqual([taken, output.told], [['one', 'two'], []]);
  }
});

it('what is never taken is waited for until the command is killed, and a while longer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const patience = new OutputPatience();
  let isOver = false;
  const waiting = patience.wait(new Promise(() => undefined)).then(() => {
    isOver = true;
  });
  t.mock.timers.tick(10 * terminationGraceMilliseconds);
  patience.killed();
  t.mock.timers.tick(terminationGraceMilliseconds - 1);
  await nextTurn();
  assert.equal(isOver, false);
  t.mock.timers.tick(1);
  await waiting;
});
