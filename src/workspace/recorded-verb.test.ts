import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { listedChanges } from '../base/limits/store.js';
import { recordedVerb } from './recorded-verb.js';

it('a plan is on the disk before its first step is done, whatever else of the verb waits', async () => {
  for (const fails of [true, false]) {
    const order: string[] = [];
    const append = ({ status, durable, facts }: RecordEntry) =>
      void order.push(
        `${status}${facts?.['steps'] === undefined ? '' : ' with steps'}${durable === true ? ', synced' : ''}`,
      );
    const verb = recordedVerb(
      { recorder: { append } } as never,
      { type: 'apply', object: 'fork', facts: {} },
      (said) => {
        for (const path of ['a', 'b']) {
          said.onPlan([{ action: 'put', path }]);
          order.push(`writes ${path}`);
          said.onStep({ action: 'put', path });
        }
        if (fails) throw new Error('no room');
      },
    );
    await (fails ? assert.rejects(verb) : verb);
    assert.deepEqual(order, [
      'begin',
      'begin with steps, synced',
      'writes a',
      'begin with steps, synced',
      'writes b',
      fails ? 'failed with steps' : 'ok',
    ]);
  }
});

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
