import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { listedChanges } from '../base/limits/store.js';
import { recordedVerb } from './recorded-verb.js';

it('a verb that fails after more steps than are listed says how many it did', async () => {
  const entries: RecordEntry[] = [];
  const recorder = { append: (entry: RecordEntry) => void entries.push(entry) };
  const failing = (done: number) =>
    recordedVerb({ recorder } as never, { type: 'apply', object: 'fork', facts: {} }, ({ onPlan, onStep }) => {
      onPlan([{ action: 'put', path: 'd', unlisted: listedChanges + 9 }]);
      for (let at = 0; at < done; at++) onStep({ action: 'put', path: `d/${at}` });
      throw new Error('no room');
    });
  const saidOf = async (done: number) => {
    await assert.rejects(failing(done));
    const { steps, stepCount, unwritten } = entries.at(-1)?.facts ?? {};
    return [[steps].flat().length, stepCount, unwritten];
  };
  assert.deepEqual(await saidOf(2), [2, undefined, listedChanges + 8]);
  assert.deepEqual(await saidOf(listedChanges + 3), [listedChanges, listedChanges + 3, 7]);
});
