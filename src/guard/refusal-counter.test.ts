import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusalCounter } from './refusal-counter.js';

const refusal = (path: string) => ({ scope: 'fs.read', operation: 'open', path, code: 'EACCES' }) as const;

describe('refusals that are counted', () => {
  it('are told once, equal ones as one', () => {
    const counter = new RefusalCounter(10);
    for (const path of ['/a', '/b', '/a']) counter.add(refusal(path));
    assert.deepEqual(counter.take(), [
      { ...refusal('/a'), count: 2 },
      { ...refusal('/b'), count: 1 },
    ]);
    assert.deepEqual(counter.take(), []);
  });

  it('are all counted, however many there are', () => {
    const counter = new RefusalCounter(2);
    for (let path = 0; path < 1_000; path += 1) counter.add(refusal(`/${path}`));
    counter.add(refusal('/1'));
    assert.deepEqual(
      counter.take().map(({ path, count }) => [path, count]),
      [
        ['/0', 1],
        ['/1', 2],
        ['(others)', 998],
      ],
    );
  });
});
