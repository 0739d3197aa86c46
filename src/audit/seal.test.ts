/** Seals with anchors: what an anchor holds and the record does not have is never built upon. */
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Anchor, AnchorPoint } from './anchor.js';
import { agentChain } from './layout.js';
import { directoryReader } from './reader.js';
import { type RecordPlace, recordPlace } from './record-fixture.js';
import { sealAll } from './seal.js';
import { verify } from './verify.js';

let place: RecordPlace;
beforeEach(() => {
  place = recordPlace();
});
afterEach(() => place.remove());

/** In memory. */
function anchorOf(points: AnchorPoint[]): Anchor {
  return {
    name: 'test',
    next: () => (points.at(-1)?.counter ?? 0) + 1,
    commit: (point) => void points.push(point),
    read: () => (points.length === 0 ? { kind: 'empty' } : { kind: 'points', points }),
  };
}

function sealed(anchors: readonly Anchor[], agent?: string) {
  const recorder = place.recorder();
  try {
    recorder.append({ type: 'x', object: 'y', status: 'ok', agent });
    return sealAll(recorder, anchors);
  } finally {
    recorder.close();
  }
}

const found = (points: AnchorPoint[] = []) =>
  verify({ reader: directoryReader(place.directory), anchors: points.length === 0 ? [] : [anchorOf(points)] });

describe('a seal', () => {
  it('gives its head to every anchor, each time with the next counter', () => {
    const points: AnchorPoint[] = [];
    for (const counter of [1, 2, 3]) {
      assert.deepEqual(sealed([anchorOf(points)]).anchors, [{ name: 'test', counter }]);
      assert.equal(points.length, counter);
    }
    assert.ok(found(points).ok);
  });

  it('is of each chain that grew, once, and of none where nothing was added', () => {
    const recorder = place.recorder();
    const add = (agent?: string) => recorder.append({ type: 'x', object: 'y', status: 'ok', agent });
    const chains = () => sealAll(recorder, []).chains.map(({ chain, seq }) => `${chain} ${seq}`);
    add('coder');
    add();
    const [person, coder, host] = chains();
    assert.deepEqual([person, coder], ['person 2', 'agent/coder 2']);
    assert.match(host ?? '', /^host \d+$/);
    assert.deepEqual(chains(), []);
    add('coder');
    assert.deepEqual(
      chains().map((each) => each.split(' ')[0]),
      ['agent/coder', 'host'],
    );
    add();
    assert.deepEqual(chains()[0], 'person 3');
    recorder.close();
    assert.ok(found().ok);
  });

  it('is not given to an anchor that holds another record than this one, which says so', () => {
    const points: AnchorPoint[] = [];
    sealed([anchorOf(points)]);
    sealed([anchorOf(points)]);
    const [first, second] = points;
    assert.ok(first !== undefined && second !== undefined);
    const wrong: readonly AnchorPoint[][] = [
      [first, { ...second, head: 'f'.repeat(64) }],
      [first, { ...second, seq: 999 }],
      [first, { ...second, root: 'another key' }],
      [first, { ...second, counter: 1 }],
      [],
    ];
    for (const held of wrong) {
      const before = held.length;
      const [told] = sealed([anchorOf(held)]).anchors;
      assert.match(told?.error ?? '', /EIO/, JSON.stringify(held.at(-1)));
      assert.equal(held.length, before, 'nothing is anchored on top of it');
    }
    assert.equal(sealed([anchorOf(points)]).anchors[0]?.error, undefined);
  });
});

describe('a chain in the place of another', () => {
  it('is found by its beginning, sealed or not', () => {
    sealed([], 'coder');
    const other = recordPlace();
    const recorder = other.recorder({ now: () => new Date(5) });
    recorder.append({ type: 'x', object: 'other', status: 'ok', agent: 'coder' });
    recorder.close();
    assert.ok(found().ok);
    const chain = agentChain('coder').split('/');
    rmSync(join(place.directory, ...chain), { recursive: true });
    cpSync(join(other.directory, ...chain), join(place.directory, ...chain), { recursive: true });
    other.remove();
    const { ok, problems } = found();
    assert.equal(ok, false);
    assert.ok(
      problems.some(({ fault }) => fault === 'chain'),
      JSON.stringify(problems),
    );
  });
});
