import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { type LimitEvent, LimitEvents } from './limit-events.js';

const clock = () => new Date(0);

describe('the events of limits', () => {
  it('tell each threshold once, with the time, what was used and of how much', () => {
    const heard: LimitEvent[] = [];
    const events = new LimitEvents(clock, (event) => heard.push(event));
    for (const used of [0, 79, 80, 81, 99, 100, 120, 80]) events.observe('disk', used, 100);
    assert.deepEqual(events.all, [
      { at: '1970-01-01T00:00:00.000Z', limit: 'disk', percent: 80, used: 80, most: 100 },
      { at: '1970-01-01T00:00:00.000Z', limit: 'disk', percent: 100, used: 100, most: 100 },
    ]);
    assert.deepEqual(heard, events.all);
  });

  it('believe the kernel that a limit was held and so used up, though use is below it by now', () => {
    const events = new LimitEvents(clock);
    assert.equal(events.observe('pids', 7, 8, true), true);
    assert.equal(events.observe('pids', 7, 8, true), false);
    assert.deepEqual(
      events.all.map(({ percent, used }) => [percent, used]),
      [[100, 8]],
    );
  });

  it('never go back, and never say 80 after 100, whatever is observed', () =>
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 30 })), fc.integer({ min: 1, max: 20 }), (uses, most) => {
        const events = new LimitEvents(clock);
        for (const used of uses) events.observe('inodes', used, most);
        const told = events.all.map(({ percent }) => percent);
        assert.deepEqual(
          told,
          [...new Set(told)].sort((a, b) => a - b),
        );
        assert.equal(
          told.includes(100),
          uses.some((used) => used >= most),
        );
      }),
      seeded(200),
    ));
});
