import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writableTime } from './clock.js';

describe('the clock', () => {
  it('is refused where its year has more than four digits, or none', () => {
    const last = new Date('9999-12-31T23:59:59.999Z');
    assert.equal(writableTime(last), last);
    for (const time of [new Date(last.getTime() + 1), new Date('-000001-12-31T00:00:00Z')]) {
      assert.throws(() => writableTime(time), { code: 'EINVAL', message: /expected a year from 0 to 9999/ });
    }
  });
});
