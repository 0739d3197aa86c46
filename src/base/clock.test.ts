import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { after, writableTime } from './clock.js';

describe('the clock', () => {
  it('is refused where its year has more than four digits, or none', () => {
    const last = new Date('9999-12-31T23:59:59.999Z');
    assert.equal(writableTime(last), last);
    for (const time of [new Date(last.getTime() + 1), new Date('-000001-12-31T00:00:00Z')]) {
      assert.throws(() => writableTime(time), { code: 'EINVAL', message: /expected a year from 0 to 9999/ });
    }
  });
});

const day = 24 * 60 * 60 * 1_000;

it('what is to run after longer than a timer can be runs then, and once', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let ran = 0;
  after(60 * day, () => {
    ran += 1;
  });
  // Made timers begin again at the end of a tick, so ticks are short.
  const pass = (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) context.mock.timers.tick(day / 24);
    return ran;
  };
  assert.deepEqual([pass(25 * 24), pass(34 * 24), pass(24 + 3), pass(60 * 24)], [0, 0, 1, 1]);
});

it('what was taken back does not run, however far it had come', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  for (const waited of [0, 30 * day]) {
    const takeBack = after(60 * day, () => assert.fail('it was taken back'));
    context.mock.timers.tick(waited);
    takeBack();
    context.mock.timers.tick(100 * day);
  }
});
