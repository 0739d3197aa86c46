import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConnectionEvent, ConnectionLog } from './events.js';

const event: ConnectionEvent = {
  host: 'a.example',
  port: 443,
  address: null,
  protocol: 'connect',
  verdict: 'refused',
  reason: 'not granted',
  bytesIn: 1,
  bytesOut: 2,
  milliseconds: 3,
  count: 1,
};

describe('connections in the report', () => {
  it('are told at once, and repeats with a count', () => {
    const told: ConnectionEvent[] = [];
    const log = new ConnectionLog((each) => told.push(each));
    for (let i = 0; i < 1000; i++) log.add(event);
    assert.deepEqual(told, [event]);
    log.flush();
    assert.deepEqual(told[1], { ...event, count: 999, bytesIn: 999, bytesOut: 1998, milliseconds: 2997 });
    log.flush();
    assert.equal(told.length, 2);
    assert.deepEqual(log.totals(), [{ ...event, count: 1000, bytesIn: 1000, bytesOut: 2000, milliseconds: 3000 }]);
  });

  it('are told after a second where they repeat', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const told: ConnectionEvent[] = [];
    const log = new ConnectionLog((each) => told.push(each));
    log.add(event);
    log.add(event);
    context.mock.timers.tick(1000);
    assert.equal(told.length, 2);
  });

  it('are bounded: made-up names are counted together, and none is lost', () => {
    const told: ConnectionEvent[] = [];
    const log = new ConnectionLog((each) => told.push(each), 10);
    for (let i = 0; i < 100; i++) log.add({ ...event, host: `h${i}.example` });
    log.add({ ...event, verdict: 'allowed' });
    log.flush();
    const count = (events: readonly ConnectionEvent[]) => events.reduce((sum, each) => sum + each.count, 0);
    assert.equal(count(told), 101);
    assert.equal(count(log.totals()), 101);
    assert.deepEqual(
      log
        .totals()
        .slice(10)
        .map(({ host, verdict, count: times }) => [host, verdict, times]),
      [
        ['*', 'refused', 90],
        ['*', 'allowed', 1],
      ],
    );
  });
});
