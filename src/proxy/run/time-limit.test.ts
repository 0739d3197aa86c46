import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RunningJail } from '../../jail/launch.js';
import type { Outcome } from '../../jail/report.js';
import { LimitEvents } from '../report/limit-events.js';
import { withTimeout } from './time-limit.js';

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('the clock of a command', () => {
  it('may be longer than a timer of Node can be', async () => {
    const started = Promise.resolve();
    const done = new Promise<Outcome>((resolve) => setTimeout(() => resolve({} as Outcome), 50));
    const jail = { started, done, signal: () => assert.fail('it was asked to end') } as unknown as RunningJail;
    const events = new LimitEvents(() => new Date());
    assert.deepEqual(await withTimeout(jail, 1e12, events), [{}, false]);
    assert.deepEqual(events.all, []);
  });

  it('does not run on where the end is known before the start', async () => {
    const before = timers();
    let start: () => void = () => assert.fail();
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const done = Promise.resolve({} as Outcome);
    const jail = { started, done } as unknown as RunningJail;
    const events = new LimitEvents(() => new Date());
    assert.deepEqual(await withTimeout(jail, 60_000, events), [{}, false]);
    start();
    await started;
    await Promise.resolve();
    assert.equal(timers(), before);
  });
});
