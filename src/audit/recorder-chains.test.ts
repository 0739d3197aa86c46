/** To which chain an entry goes, who hears of it, and what is signed alone. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Position } from './format.js';
import type { RecordEntry } from './record.js';
import { bodiesOf, linesOf, type RecordPlace, recordPlace } from './record-fixture.js';
import type { RecorderOptions } from './recorder.js';
import { hidden } from './redact.js';

let place: RecordPlace;
const closing: (() => void)[] = [];
beforeEach(() => {
  place = recordPlace();
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
  place.remove();
});

function recorderOf(options: Partial<RecorderOptions> = {}) {
  const recorder = place.recorder(options);
  closing.push(() => recorder.close());
  return recorder;
}

const entry: RecordEntry = { type: 'x', object: 'y', status: 'ok' };
const refused: RecordEntry = { ...entry, status: 'denied', layer: 'hook' };
const typesOf = (chain: string) => bodiesOf(place.directory, chain).map(({ type }) => type);

describe('an entry', () => {
  it('is receipted with its chain and number, and a repeat of a refusal without one', () => {
    const recorder = recorderOf();
    const receipts = [entry, entry, refused, refused, { ...entry, agent: 'coder' }].map((each) =>
      recorder.append(each),
    );
    assert.deepEqual(receipts, [
      { chain: 'person', seq: 2 },
      { chain: 'person', seq: 3 },
      { chain: 'person', seq: 4 },
      { chain: 'person', seq: undefined },
      { chain: 'agent/coder', seq: 2 },
    ]);
  });

  it('goes to the chain of an agent that there is, or was, and of no other name', () => {
    const agents = new Set(['coder']);
    const recorder = recorderOf({ isAgent: (agent) => agents.has(agent) });
    const chainOf = (agent: string | null | undefined) => recorder.append({ ...entry, agent }).chain;
    assert.equal(chainOf('coder'), 'agent/coder');
    agents.clear();
    assert.equal(chainOf('coder'), 'agent/coder', 'it has a chain');
    for (const agent of ['never', '', '..', '../person', 'a/b', 'a b', 'x'.repeat(65), null, undefined])
      assert.equal(chainOf(agent), 'person', String(agent));
    assert.equal(
      recorderOf().append({ ...entry, agent: 'new' }).chain,
      'agent/new',
      'where nobody says which there are',
    );
    assert.deepEqual(readdirSync(join(place.directory, 'agent')).sort(), ['coder', 'new']);
  });

  it('of a refusal is heard of by the parent that the caller names, or else by the one that there is', () => {
    const asked: string[] = [];
    const parentOf = (agent: string) => {
      asked.push(agent);
      return agent === 'child' ? 'parent' : undefined;
    };
    const recorder = recorderOf({ parentOf });
    recorder.append({ ...entry, agent: 'child' });
    recorder.append(refused);
    recorder.append({ ...refused, agent: '../x' });
    assert.deepEqual(asked, []);
    recorder.append({ ...refused, agent: 'child', count: 3 });
    recorder.append({ ...refused, agent: 'child', parent: 'other', type: 'z' });
    recorder.append({ ...refused, agent: 'orphan' });
    assert.deepEqual(asked, ['child', 'orphan']);
    for (const [parent, type, count, record] of [
      ['parent', 'x', 3, 3],
      ['other', 'z', 1, 4],
    ] as const) {
      const [, heard, ...more] = bodiesOf(place.directory, `agent/${parent}`);
      assert.deepEqual(heard?.facts, { child: 'agent/child', count, layer: 'hook', record, type });
      assert.deepEqual([heard?.type, heard?.object, heard?.agent, more], ['child.denied', 'y', parent, []]);
    }
  });

  it('is told on when it is in its chain, without its secrets', () => {
    const told: (readonly [RecordEntry, string])[] = [];
    const onRecorded = (each: RecordEntry, ts: string) => {
      if (each.type !== 'x') return;
      assert.ok(typesOf('person').includes('x'));
      told.push([each, ts]);
    };
    const facts = { argv: ['curl', '--token', 'abc'], note: 'plain' };
    recorderOf({ onRecorded }).append({ ...entry, facts });
    const kept = { argv: ['curl', '--token', hidden], note: 'plain' };
    assert.deepEqual(told, [[{ ...entry, facts: kept }, new Date(0).toISOString()]]);
    assert.deepEqual(bodiesOf(place.directory)[1]?.facts, kept);
  });

  it('ends a segment that is full, which is told with its last head', () => {
    const told: (readonly [string, Position])[] = [];
    const onRotated: RecorderOptions['onRotated'] = (chain, end) => void told.push([chain, end]);
    for (const segmentBytes of [1 << 20, 1]) {
      assert.deepEqual(told, []);
      recorderOf({ segmentBytes, onRotated }).append({ ...entry, agent: 'coder' });
    }
    const [, , last] = linesOf(place.directory, 'agent/coder');
    assert.deepEqual(told, [['agent/coder', { seq: 3, head: last?.slice(2, 66) }]]);
  });
});

describe('the end of a chain', () => {
  it('has repeats of refusals that still waited', () => {
    const recorder = recorderOf();
    for (let count = 0; count < 3; count += 1) recorder.append(refused);
    assert.deepEqual(typesOf('person'), ['audit.open', 'x']);
    const { seq, head } = recorder.endOf('person');
    assert.deepEqual(typesOf('person'), ['audit.open', 'x', 'x']);
    const line = linesOf(place.directory)[2] ?? '';
    assert.deepEqual([seq, head, JSON.parse(line)[1].count], [3, line.slice(2, 66), 2]);
  });
});

describe('what one process does alone', () => {
  it('may hold itself again, is given back in the end, and is waited for by others', () => {
    const [one, other] = [recorderOf(), recorderOf()];
    const order: string[] = [];
    assert.equal(
      one.alone(() => {
        order.push('outer');
        return one.alone(() => order.push('inner'));
      }),
      2,
    );
    other.alone(() => order.push('other'));
    assert.throws(() => one.alone(() => assert.fail('it failed')), /it failed/);
    other.alone(() => one.close());
    assert.deepEqual(order, ['outer', 'inner', 'other']);
  });

  it('leaves no file open', () => {
    const open = () => readdirSync('/proc/self/fd').length;
    const recorder = place.recorder();
    recorder.append(entry);
    const before = open();
    for (let count = 0; count < 3; count += 1) recorder.alone(() => undefined);
    assert.equal(open(), before);
    recorder.close();
    const closed = open();
    assert.ok(closed < before);
    const again = place.recorder();
    again.append(entry);
    again.append({ ...entry, agent: 'coder' });
    again.close();
    assert.equal(open(), closed);
  });
});
