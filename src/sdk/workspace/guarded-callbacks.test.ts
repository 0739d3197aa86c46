import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { GuardedCallbacks } from './guarded-callbacks.js';

test('a command ends with the signal of its caller, before and while it runs, for the same reason', () => {
  for (const isEarly of [true, false]) {
    const caller = new AbortController();
    if (isEarly) caller.abort('enough');
    const signal = new GuardedCallbacks().signalWith(caller.signal);
    assert.equal(signal.aborted, isEarly);
    caller.abort('enough');
    assert.deepEqual([signal.aborted, signal.reason], [true, 'enough']);
  }
});

test('a callback that throws ends the command and nothing of the caller’s, and is thrown at its end', async () => {
  const caller = new AbortController();
  const callbacks = new GuardedCallbacks();
  const signal = callbacks.signalWith(caller.signal);
  callbacks.guard('onOutput', () => assert.fail('of the caller'))?.();
  assert.deepEqual([signal.aborted, caller.signal.aborted], [true, false]);
  await assert.rejects(callbacks.during(Promise.resolve('done')), { code: 'ECANCELED', message: /of the caller/ });
});

test('a callback that never answers is waited for until the command is to end, and one that answers as long as it takes', async () => {
  const caller = new AbortController();
  const callbacks = new GuardedCallbacks();
  const signal = callbacks.signalWith(caller.signal);
  const never = callbacks.guard('onOutput', () => new Promise<void>(() => undefined));
  let answer: (value: number) => void = () => undefined;
  const slow = callbacks.guard('onApproval', () => new Promise<number>((resolve) => (answer = resolve)))?.();
  const waiting = never?.();
  assert.equal(await Promise.race([slow, waiting, Promise.resolve('neither')]), 'neither');
  answer(7);
  assert.equal(await slow, 7);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  caller.abort();
  assert.deepEqual([await waiting, await never?.()], [undefined, undefined]);
  await callbacks.during(Promise.resolve());
});

test('a signal that lives on keeps nothing of commands that have ended, however they did', async () => {
  const caller = new AbortController();
  const held = () => {
    const parts = Object.getOwnPropertySymbols(caller.signal).map((each) => Reflect.get(caller.signal, each));
    const lists = parts.filter((each) => each instanceof Set).map(({ size }) => size);
    return [getEventListeners(caller.signal, 'abort').length, ...lists.filter((size) => size > 0)];
  };
  for (let times = 0; times < 20; times++) {
    const callbacks = new GuardedCallbacks();
    callbacks.signalWith(caller.signal);
    assert.equal(held()[0], 1);
    if (times % 3 === 0) await callbacks.during(Promise.resolve());
    else if (times % 3 === 1) await assert.rejects(callbacks.during(Promise.reject(new Error('no'))));
    else callbacks.end();
  }
  assert.deepEqual(held(), [0]);
});
