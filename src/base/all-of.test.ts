import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOf } from './turns.js';

test('each step is done in its turn whatever becomes of those before it, and the first failure is said', async () => {
  const done: string[] = [];
  const step = (name: string, fails: boolean) => async () => {
    await Promise.resolve();
    done.push(name);
    if (fails) throw new Error(name);
  };
  const atOnce = () => {
    done.push('at once');
    throw new Error('at once');
  };
  await assert.rejects(allOf(step('a', false), atOnce, step('b', true), step('c', false)), { message: 'at once' });
  assert.deepEqual(done, ['a', 'at once', 'b', 'c']);
  await allOf();
});
