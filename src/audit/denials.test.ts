/** Refusals: what is counted is recorded or waits to be, whatever comes between, against a naive count. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { denialRepeatMilliseconds, denialsWatched } from '../base/limits/decisions.js';
import { type DenialState, noDenials, parseDenials, planDenials, waiting } from './denials.js';
import type { RecordEntry, RefusalLayer } from './record.js';

const refused = (more: Partial<RecordEntry> = {}): RecordEntry => ({
  type: 'exec',
  object: 'a',
  status: 'denied',
  layer: 'hook',
  ...more,
});
const plan = (entries: readonly RecordEntry[], more: Partial<Parameters<typeof planDenials>[0]> = {}) =>
  planDenials({ state: noDenials, entries, seq: 0, now: 0, ...more });
const isAlert = ({ type }: RecordEntry) => type === 'audit.alert';

type Totals = Partial<Record<RefusalLayer, number>>;

function add(totals: Totals, { layer = 'proxy', count = 1 }: Pick<RecordEntry, 'layer' | 'count'>): void {
  totals[layer] = (totals[layer] ?? 0) + count;
}

const entry = fc
  .record({
    status: fc.constantFrom('denied' as const, 'denied' as const, 'ok' as const),
    object: fc.constantFrom('a', 'b'),
    layer: fc.constantFrom<RefusalLayer | undefined>('hook', 'guard', undefined),
    count: fc.constantFrom(undefined, 1, 3),
  })
  .map(({ layer, count, ...rest }) => ({
    type: 'exec',
    ...rest,
    ...(layer === undefined || rest.status === 'ok' ? {} : { layer }),
    ...(count === undefined || rest.status === 'ok' ? {} : { count }),
  }));
const step = fc.record({
  entries: fc.array(entry, { maxLength: 3 }),
  later: fc.constantFrom(0, 1, denialRepeatMilliseconds - 1, denialRepeatMilliseconds, -5),
  flush: fc.constantFrom(true, false, false),
  /** The state is written, and the records are not. */
  crashes: fc.constantFrom(true, false, false, false),
  /** The state is on the disk, and the last so many records are not. */
  cut: fc.constantFrom(0, 0, 0, 1, 4),
});

describe('refusals', () => {
  it('are counted once: in a record, or waiting for one, also after a crash or a power cut', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const counted: Totals = {};
        const chain: RecordEntry[] = [];
        let state: DenialState = noDenials;
        let now = 100_000;
        for (const { entries, later, flush, crashes, cut } of steps) {
          now += later;
          const planned = planDenials({ state, entries, seq: chain.length, now, flush });
          for (const each of entries) if (each.status === 'denied') add(counted, each);
          planned.places.forEach((place, index) => {
            const given = entries[index];
            const isRefusal = given?.status === 'denied';
            if (place !== undefined) assert.equal(planned.entries[place]?.object, given?.object);
            else assert.ok(isRefusal, 'what is no refusal is always recorded');
          });
          // As the chain does it: what did not change is not written.
          if (planned.changed) state = planned.state;
          if (!crashes) chain.push(...planned.entries);
          chain.splice(Math.max(0, chain.length - cut));
          const total: Totals = {};
          for (const each of chain) if (each.status === 'denied') add(total, each);
          for (const [layer, count] of Object.entries(waiting(state, chain.length))) {
            add(total, { layer: layer as RefusalLayer, count });
          }
          assert.deepEqual(total, counted);
          assert.deepEqual(state.totals, counted);
        }
        const last = planDenials({ state, entries: [], seq: chain.length, now, flush: true });
        assert.deepEqual([last.state.watched, waiting(last.state, chain.length + last.entries.length)], [[], {}]);
      }),
      seeded(1000),
    );
  });

  it('are recorded as they came, repeats by their count when their time is over or the clock went back', () => {
    const first = plan([refused({ durable: true, makesRoom: true, count: 2 }), refused({ count: 4 }), refused()]);
    assert.deepEqual(first.places, [0, undefined, undefined]);
    assert.deepEqual(first.entries, [refused({ durable: true, makesRoom: true, count: 2 })]);
    const again = (now: number, flush = false) =>
      planDenials({ state: first.state, entries: [], seq: 1, now, flush }).entries;
    const repeated = [{ ...refused(), count: 5, facts: { repeated: true } }];
    for (const now of [0, 1, denialRepeatMilliseconds - 1]) assert.deepEqual(again(now), []);
    for (const now of [denialRepeatMilliseconds, denialRepeatMilliseconds + 1, -1]) {
      assert.deepEqual(again(now), repeated);
    }
    assert.deepEqual(again(0, true), repeated);
    const facts = plan([refused({ facts: { path: '/x' } }), refused({ facts: { path: '/x' } })]);
    assert.deepEqual(planDenials({ state: facts.state, entries: [], seq: 1, now: 0, flush: true }).entries, [
      refused({ count: 1, facts: { path: '/x', repeated: true } }),
    ]);
  });

  it('are equal by type, object, layer, session and facts, and by nothing else', () => {
    const ways: readonly Partial<RecordEntry>[] = [
      { type: 'tool' },
      { object: 'b' },
      { layer: 'guard' },
      { session: 's' },
      { facts: { path: '/x' } },
    ];
    for (const way of ways) assert.deepEqual(plan([refused(), refused(way)]).places, [0, 1], JSON.stringify(way));
    const same: readonly Partial<RecordEntry>[] = [{}, { session: null }, { facts: {} }, { count: 3 }, { agent: 'x' }];
    for (const way of same) assert.deepEqual(plan([refused(), refused(way)]).places, [0, undefined]);
    const { layer: _layer, ...without } = refused();
    assert.deepEqual(plan([without, refused({ layer: 'proxy' })]).places, [0, undefined], 'the proxy’s by default');
  });

  it('raise one alert where the count passes a power of ten, or several at once', () => {
    const alerted = (before: number, more: number) => {
      const state: DenialState = { ...noDenials, totals: { hook: before } };
      const { entries } = planDenials({ state, entries: [refused({ count: more })], seq: 5, now: 0 });
      return entries.filter(isAlert).map(({ facts }) => facts?.['threshold']);
    };
    for (const [before, more, expected] of [
      [0, 9, []],
      [0, 10, [10]],
      [8, 1, []],
      [9, 1, [10]],
      [10, 1, []],
      [10, 89, []],
      [10, 90, [100]],
      [0, 100, [100]],
      [99, 1_000, [1_000]],
    ] as const) {
      assert.deepEqual(alerted(before, more), expected, `${before} and ${more}`);
    }
    const [, alert] = plan([refused({ count: 12 })]).entries;
    assert.deepEqual(alert, {
      type: 'audit.alert',
      object: 'denials',
      status: 'ok',
      facts: { denials: 12, threshold: 10 },
    });
  });

  it('are watched up to a number; the oldest is recorded with its count to make room', () => {
    const many = Array.from({ length: denialsWatched }, (_, index) => refused({ object: `o${index}` }));
    const full = plan([...many, refused({ object: 'o0', count: 2 })]);
    assert.equal(full.state.watched.length, denialsWatched);
    assert.equal(full.entries.filter((each) => !isAlert(each)).length, denialsWatched);
    const next = planDenials({ state: full.state, entries: [refused({ object: 'new' })], seq: 99, now: 1 });
    assert.equal(next.state.watched.length, denialsWatched);
    assert.deepEqual(
      next.entries.map(({ object, count }) => [object, count]),
      [
        ['o0', 2],
        ['new', undefined],
      ],
    );
    assert.deepEqual(next.places, [1]);
  });

  it('of an agent with a parent are for the parent to hear, where they are recorded', () => {
    const { notices } = plan([{ ...refused(), status: 'ok' }, refused({ parent: 'p' }), refused({ parent: 'p' })]);
    assert.deepEqual(notices, [{ parent: 'p', entry: refused({ parent: 'p' }), index: 1 }]);
    assert.deepEqual(plan([refused()]).notices, []);
  });

  it('change nothing where there are none; what comes first keeps its place', () => {
    const entries = [{ ...refused(), status: 'ok' as const }];
    const quiet = plan(entries);
    assert.deepEqual([quiet.entries, quiet.places, quiet.state, quiet.changed], [entries, [0], noDenials, false]);
    const torn = { type: 'audit.torn', object: 'x', status: 'ok' } as const;
    const first = plan(entries, { first: [torn] });
    assert.deepEqual([first.entries, first.places, first.changed], [[torn, ...entries], [1], false]);
    assert.equal(plan([refused()]).changed, true);
    const known = plan([refused()]).state;
    assert.equal(planDenials({ state: known, entries: [refused()], seq: 1, now: 0 }).changed, true);
    assert.equal(planDenials({ state: known, entries: [], seq: 1, now: denialRepeatMilliseconds }).changed, true);
  });

  it('are made up for where their record did not come to its place', () => {
    const { state } = plan([refused({ count: 3 }), refused({ object: 'b', layer: 'guard' })], { seq: 7 });
    assert.deepEqual(
      state.intents.map(({ seq }) => seq),
      [8, 9],
    );
    const made = (seq: number) => planDenials({ state, entries: [], seq, now: 1 }).entries;
    const missing = (layer: RefusalLayer, count: number) => ({
      type: 'audit.recovered',
      object: `denials/${layer}`,
      status: 'denied',
      layer,
      count,
    });
    assert.deepEqual(made(9), []);
    assert.deepEqual(made(8), [missing('guard', 1)]);
    assert.deepEqual(made(7), [missing('hook', 3), missing('guard', 1)]);
    assert.deepEqual(waiting(state, 8), { guard: 1 });
  });

  it('are read back from their file, and from nothing else', () => {
    const { state } = plan([refused(), refused()]);
    assert.deepEqual(parseDenials(JSON.stringify(state)), state);
    const broken = ['', '{', 'null', '[]', '1', '{}'];
    const without = (['version', 'totals', 'watched', 'intents'] as const).flatMap((member) =>
      [undefined, 'x', 2].map((value) => JSON.stringify({ ...state, [member]: value })),
    );
    for (const text of [...broken, ...without]) assert.equal(parseDenials(text), undefined, text);
  });
});
