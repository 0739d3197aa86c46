import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Body } from '../audit/format.js';
import { statuses } from '../audit/record.js';
import { deniedIn, runsOf } from './recorded-runs.js';

let seq = 0;
function record(status: Body['status'], facts: NonNullable<Body['facts']>, type = 'exec') {
  seq += 1;
  const body = { type, status, seq, ts: `t${seq}`, object: 'fork/a/main', agent: null, session: null, facts };
  return { chain: 'person', head: '', body };
}

test('what was denied is what a record says so of, with the command that was', () => {
  const argv = ['rm', '-rf', '/'];
  for (const status of statuses) {
    assert.equal(deniedIn([record(status, { argv })]).length, status === 'denied' ? 1 : 0, status);
  }
  for (const facts of [{}, { argv: [] }, { argv: 'rm' }]) assert.deepEqual(deniedIn([record('denied', facts)]), []);
  assert.deepEqual(deniedIn([record('denied', { argv }, 'apply')]), []);
  const denied = record('denied', { argv });
  const [found] = deniedIn([denied]);
  assert.deepEqual([found?.run, found?.state, found?.begunAt], [`person:${denied.body.seq}`, 'denied', denied.body.ts]);
});

test('a run is put together from its beginning and its end, whatever is between them', () => {
  for (const [end, state] of [
    [undefined, 'open'],
    [record('ok', { run: 'r1', exitCode: 0 }), 'ended'],
    [record('failed', { run: 'r1', error: 'EIO' }), 'failed'],
    [record('failed', { run: 'r1', error: 'EIO', interrupted: true }), 'interrupted'],
    [record('ok', { run: 'r1', interrupted: true }), 'interrupted'],
  ] as const) {
    const begin = record('begin', { run: 'r1', argv: ['true'] });
    const others = [record('begin', { run: 'r2' }), record('ok', { run: 'r3' }), record('ok', { run: 'r1' }, 'apply')];
    const runs = runsOf([begin, ...others, ...(end === undefined ? [] : [end])]);
    assert.deepEqual(
      runs.map((each) => [each.run, each.state]),
      [
        ['r1', state],
        ['r2', 'open'],
      ],
    );
    assert.equal(runs[0]?.endedAt, end?.body.ts ?? null);
    assert.deepEqual([runs[0]?.record.begin.seq, runs[0]?.record.end?.seq], [begin.body.seq, end?.body.seq]);
    assert.ok(!('run' in (runs[0]?.facts ?? {})));
  }
});
