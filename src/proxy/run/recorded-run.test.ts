import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordEntry, Recorder } from '../../audit/record.js';
import { ErrnoError } from '../../base/errno.js';
import type { Outcome } from '../../jail/report.js';
import type { ConnectionEvent } from '../../network/events.js';
import type { Host } from '../host.js';
import { type Recorded, RecordedRun } from './recorded-run.js';
import type { JailRun } from './run.js';

const outcome: Outcome = {
  ...{ exitCode: 0, signal: null, userMicroseconds: 1, systemMicroseconds: 2, peakMemoryKilobytes: 3 },
  ...{ copiedForRename: { files: 0, bytes: 0 }, refusedCalls: [] },
} as unknown as Outcome;

const ran: JailRun = {
  ...{ outcome, timedOut: false, durationMilliseconds: 5, stdout: null, stderr: null, connections: [] },
  limitsReached: [],
};

const connection: ConnectionEvent = {
  ...{ host: 'example.org', port: 443, address: '192.0.2.1', protocol: 'http', reason: null },
  ...{ verdict: 'allowed', bytesIn: 1, bytesOut: 2, milliseconds: 3, count: 4 },
} as unknown as ConnectionEvent;

/** What happens, in order: notes beside the record, and the record. `fails` is what an append throws. */
function stage(more: Partial<Recorded> = {}) {
  const order: string[] = [];
  const entries: RecordEntry[] = [];
  const fails: { with: Error | undefined } = { with: undefined };
  const append = (entry: RecordEntry) => {
    if (fails.with !== undefined) throw fails.with;
    order.push(`${entry.type} ${entry.status}`);
    entries.push(JSON.parse(JSON.stringify(entry)) as RecordEntry);
    return { chain: 'person', seq: entries.length };
  };
  const host = {
    now: () => new Date('2026-01-02T03:04:05.006Z'),
    architecture: 'x64',
    recorder: { append } as unknown as Recorder,
  } as Host;
  const recorded: Recorded = {
    run: 'a-run',
    note: {
      begin: ({ run, agent }) => void order.push(`note ${run} ${agent}`),
      end: ({ run, agent }) => void order.push(`end ${run} ${agent}`),
    },
    whose: { object: 'fork/x/main', agent: 'coder', parent: 'lead' },
    facts: { argv: ['true'] },
    ...more,
  };
  return { order, entries, fails, begin: () => RecordedRun.begin(host, recorded) };
}

const whose = { object: 'fork/x/main', agent: 'coder', parent: 'lead' };
const facts = { argv: ['true'], run: 'a-run' };
const full = new ErrnoError('ENOSPC', { operation: 'record', reason: 'the disk is full' });

describe('a run in the record', () => {
  it('is noted before the record has it, and until the record has its end', () => {
    const { begin, order, entries } = stage();
    const run = begin();
    assert.deepEqual(order, ['note a-run coder', 'exec begin']);
    run.end(ran, { changes: ['added a'] });
    assert.deepEqual(order.slice(2), ['exec ok', 'end a-run coder']);
    assert.deepEqual(entries, [
      { ...whose, type: 'exec', status: 'begin', facts },
      {
        ...whose,
        type: 'exec',
        status: 'ok',
        facts: {
          ...{ ...facts, exitCode: 0, signal: null, timedOut: false, changes: ['added a'] },
          ...{ refusals: [], connections: [], limitsReached: [] },
        },
      },
    ]);
  });

  it('says no agent where there is none', () => {
    const { begin, order } = stage({ whose: { object: 'o', agent: undefined, parent: undefined } });
    begin();
    assert.deepEqual(order, ['note a-run null', 'exec begin']);
  });

  it('that failed says by what code, and any defect is EIO', () => {
    for (const [error, code] of [
      [new ErrnoError('EBUSY', { operation: 'x', reason: 'y' }), 'EBUSY'],
      [new RangeError('a defect'), 'EIO'],
      [undefined, 'EIO'],
    ] as const) {
      const { begin, order, entries } = stage();
      begin().fail(error);
      assert.deepEqual(order, ['note a-run coder', 'exec begin', 'exec failed', 'end a-run coder']);
      assert.deepEqual(entries[1], { ...whose, type: 'exec', status: 'failed', facts: { ...facts, error: code } });
    }
  });

  it('that was cancelled has begun and failed, and does not run; one that can still be cancelled runs', () => {
    const { begin, order, entries } = stage({ signal: AbortSignal.abort() });
    assert.throws(begin, { code: 'ECANCELED', operation: 'exec' });
    assert.deepEqual(order, ['note a-run coder', 'exec begin', 'exec failed', 'end a-run coder']);
    assert.equal(entries[1]?.facts?.['error'], 'ECANCELED');
    assert.ok(stage({ signal: new AbortController().signal }).begin() instanceof RecordedRun);
  });

  it('does not begin where the record cannot be written', () => {
    const { begin, fails } = stage();
    fails.with = full;
    assert.throws(begin, { code: 'ENOSPC' });
  });

  it('is ok where it ended with 0 and within what it may write, and failed otherwise', () => {
    const limitError = { code: 'EDQUOT', reason: 'disk limit reached' } as const;
    for (const [changed, status] of [
      [{}, 'ok'],
      [{ outcome: { ...outcome, exitCode: 1 } }, 'failed'],
      [{ outcome: { ...outcome, exitCode: null, signal: 'SIGKILL' } }, 'failed'],
      [{ limitError }, 'failed'],
      [{ timedOut: true }, 'ok'],
    ] as const) {
      const { begin, entries } = stage();
      const { report } = begin().end({ ...ran, ...changed } as JailRun, {});
      const { exitCode, signal, timedOut, limitError: said } = entries[1]?.facts ?? {};
      const whole = { outcome, timedOut: false, ...changed };
      assert.deepEqual(
        [entries[1]?.status, exitCode, signal, timedOut, said],
        [
          status,
          whole.outcome.exitCode,
          whole.outcome.signal,
          whole.timedOut,
          'limitError' in changed ? limitError : undefined,
        ],
      );
      assert.deepEqual(
        [report.exitCode, report.signal, report.timedOut, report.limitError],
        [exitCode, signal, timedOut, said],
      );
      assert.equal('limitError' in report, 'limitError' in changed);
    }
  });

  it('has its refusals, connections, limits and lost output in its report and its record', () => {
    const { begin, entries, order } = stage();
    const [first, last] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)];
    const outputError = { stream: 'stdout', code: 'EPIPE' } as const;
    const heldCaches = [{ path: '/cache' }];
    const text = (file: string) => ({ text: '', bytes: 9, dropped: 9, file: { path: file, bytes: 9, dropped: 0 } });
    const { report, heldCaches: held } = begin().end(
      {
        ...{ ...ran, connections: [connection], limitsReached: ['pids limit reached'] },
        ...{ stdout: text('/o'), stderr: { text: '', bytes: 0, dropped: 0 } },
        outcome: {
          ...{ ...outcome, outputError, heldCaches, crowded: { threads: 1, most: 1 } },
          refusedCalls: [{ number: 165, count: 2, first, last }],
        },
      } as unknown as JailRun,
      {},
    );
    assert.deepEqual(held, heldCaches);
    const [refusal = assert.fail()] = report.refusals;
    const { why, ...refused } = refusal;
    assert.deepEqual(refused, {
      ...{ call: 'mount', count: 2 },
      ...{ firstAt: '2026-01-01T00:00:00.000Z', lastAt: '2026-01-02T00:00:00.000Z' },
    });
    assert.ok(why.length > 0);
    const { refusals, connections, limitsReached, outputError: lost, outputs } = entries[1]?.facts ?? {};
    assert.deepEqual(
      [refusals, connections, limitsReached, lost, outputs],
      [
        [refused],
        ['allowed example.org:443 4'],
        ['pids limit reached'],
        outputError,
        { stdout: { path: '/o', bytes: 9, dropped: 0 } },
      ],
    );
    assert.deepEqual(entries[2], {
      ...{ ...whose, type: 'call', status: 'denied', layer: 'jail', count: 2 },
      facts: { call: 'mount' },
    });
    assert.deepEqual(order.slice(2), ['exec ok', 'end a-run coder', 'call denied']);
    const { resources, outputError: said, connections: opened, record, startedAt, durationMilliseconds } = report;
    assert.deepEqual(Object.keys(resources).sort(), [
      ...['copiedForRename', 'peakMemoryKilobytes', 'systemMicroseconds', 'userMicroseconds'],
    ]);
    assert.deepEqual([said, opened, record], [outputError, [connection], { chain: 'person', seq: 2 }]);
    assert.deepEqual([startedAt, durationMilliseconds], ['2026-01-02T03:04:05.006Z', 5]);
  });

  it('has each connection as it opens and ends, and each threshold of a limit as it is reached', () => {
    const told: unknown[] = [];
    const { begin, entries } = stage({ onLimit: (event) => void told.push(event) });
    const run = begin();
    run.connections.opened(connection);
    for (const verdict of ['allowed', 'refused', 'failed'] as const) run.connections.ended({ ...connection, verdict });
    run.events.observe('disk', 80, 100);
    run.events.observe('disk', 100, 100);
    const seen = entries
      .slice(1)
      .map(({ type, status, layer, count, object, agent, facts: { run: of, percent } = {} }) => [
        ...[type, status, layer, count, object, agent, of, percent],
      ]);
    const mine = ['fork/x/main', 'coder'];
    assert.deepEqual(seen, [
      ['connect', 'begin', undefined, 4, ...mine, 'a-run', undefined],
      ['connect', 'ok', undefined, 4, ...mine, 'a-run', undefined],
      ['connect', 'denied', 'network', 4, ...mine, 'a-run', undefined],
      ['connect', 'failed', undefined, 4, ...mine, 'a-run', undefined],
      ['limit', 'ok', undefined, undefined, ...mine, undefined, 80],
      ['limit', 'denied', undefined, undefined, ...mine, undefined, 100],
    ]);
    const { bytesIn, bytesOut, milliseconds, reason, count, verdict } = entries[2]?.facts ?? {};
    assert.deepEqual([bytesIn, bytesOut, milliseconds, reason, count, verdict], [1, 2, 3, null, undefined, undefined]);
    const { limitEvents } = run.end(ran, {}).report;
    assert.deepEqual([limitEvents, told.length], [told, 2]);
  });

  it('says in its report what could not be written of it, and goes on; it stays noted until the record has its end', () => {
    const { begin, fails, order } = stage();
    const run = begin();
    fails.with = full;
    run.events.observe('disk', 1, 1);
    run.connections.opened(connection);
    run.connections.ended(connection);
    const refusedCalls = [{ number: 165, count: 2, first: 0, last: 0 }];
    const { unwritten, report } = run.end({ ...ran, outcome: { ...outcome, refusedCalls } }, {});
    const why = (what: string) => `could not write ${what}: the disk is full (ENOSPC)`;
    assert.deepEqual(
      unwritten,
      ['a limit', 'a connection', 'a connection', 'how it ended', 'what it was refused'].map(why),
    );
    assert.deepEqual([report.record, report.exitCode], [null, 0]);
    assert.deepEqual(order, ['note a-run coder', 'exec begin'], 'the next process adds its end');
  });

  it('passes a defect on', () => {
    const { begin, fails } = stage();
    const run = begin();
    fails.with = new RangeError('a defect');
    assert.throws(() => run.end(ran, {}), RangeError);
  });

  it('has ended also where its note cannot be taken away', () => {
    const note = {
      begin: () => undefined,
      end: () => {
        throw full;
      },
    };
    const { begin } = stage({ note });
    const { unwritten, report } = begin().end(ran, {});
    assert.deepEqual(unwritten, ['could not write that it ended: the disk is full (ENOSPC)']);
    assert.deepEqual(report.record, { chain: 'person', seq: 2 });
  });
});
