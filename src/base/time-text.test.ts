import assert from 'node:assert/strict';
import { it } from 'node:test';
import { timeText } from './time-text.js';

it('every time has a text, also one that no Date can be', () => {
  assert.equal(timeText(0), '1970-01-01T00:00:00.000Z');
  assert.equal(timeText(-315_619_200_000), '1960-01-01T00:00:00.000Z');
  for (const far of [8.64e15, 1e17, Number.POSITIVE_INFINITY])
    assert.equal(timeText(far), '+275760-09-13T00:00:00.000Z');
  for (const far of [-8.64e15, -1e17]) assert.equal(timeText(far), '-271821-04-20T00:00:00.000Z');
});
