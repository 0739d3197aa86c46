/** A record as a line: what is one, and what follows what. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson, type Json } from '../base/canonical-json.js';
import {
  bodyOffset,
  bodyText,
  genesisHead,
  Hasher,
  isLine,
  lineText,
  statedHead,
  textOf,
  viewOf,
  wordsOf,
} from './format.js';
import type { RecordEntry } from './record.js';

const hasher = new Hasher();
const bodies = ['{}', '{"a":1}', `{"text":"${'ä€'.repeat(700)}"}`];

/** A chain of them, with bytes before and after. */
function chain(offset: number) {
  const heads: string[] = [];
  const lines = bodies.map((body, index) => {
    heads.push(hasher.next(heads[index - 1] ?? genesisHead, body));
    return Buffer.from(lineText(heads[index] ?? '', body));
  });
  const bytes = Buffer.concat([Buffer.alloc(offset, 0x7b), ...lines]);
  let start = offset;
  const places = lines.map(({ length }) => {
    const place = { start, end: start + length - 1 };
    start += length;
    return place;
  });
  return { bytes, heads, places };
}

describe('a line of the record', () => {
  it('is known by its shape, wherever it stands, and says its head', () => {
    for (const offset of [0, 5]) {
      const { bytes, heads, places } = chain(offset);
      places.forEach(({ start, end }, index) => {
        assert.ok(isLine(bytes, start, end));
        assert.equal(statedHead(bytes, start, end), heads[index]);
        for (const at of [start, start + 1, start + 66, start + 67, start + bodyOffset, end - 2, end - 1, end]) {
          const other = Buffer.from(bytes);
          other[at] = 0x20;
          assert.ok(!isLine(other, start, end), `byte ${at - start}`);
          assert.equal(statedHead(other, start, end), undefined);
        }
        for (const [at, byte] of [
          [start + 2, 0x67],
          [start + 65, 0x41],
        ] as const) {
          const other = Buffer.from(bytes);
          other[at] = byte;
          assert.ok(isLine(other, start, end), 'its head may be any text');
          assert.equal(statedHead(other, start, end), undefined);
        }
      });
    }
    const [shortest] = chain(0).places;
    assert.equal(shortest?.end, bodyOffset + 3, 'the shortest has an empty body');
    const short = Buffer.from(lineText(genesisHead, '{'));
    short[short.length - 3] = 0x7d;
    assert.ok(!isLine(short, 0, short.length - 1));
  });

  it('is written as it is hashed, and follows the one before it and no other', () => {
    const { bytes, heads, places } = chain(3);
    const view = viewOf(bytes);
    const previous = wordsOf(genesisHead);
    places.forEach(({ start, end }, index) => {
      for (const at of [start + 2, start + 40, start + 65, end - 2]) {
        const other = Buffer.from(bytes);
        other[at] = (other[at] ?? 0) ^ 1;
        assert.ok(!hasher.follows(Int32Array.from(previous), viewOf(other), start, end), `byte ${at - start}`);
      }
      const unchanged = wordsOf('1'.repeat(64));
      assert.ok(!hasher.follows(unchanged, view, start, end));
      assert.equal(textOf(unchanged), '1'.repeat(64));
      assert.ok(hasher.follows(previous, view, start, end));
      assert.equal(textOf(previous), heads[index]);
    });
    const to = Buffer.alloc(bytes.length, 0x7b);
    const written = wordsOf(genesisHead);
    let offset = 3;
    bodies.forEach((body, index) => {
      offset = hasher.writeLine(written, body, to, viewOf(to), offset);
      assert.equal(textOf(written), heads[index]);
    });
    assert.equal(offset, bytes.length);
    assert.deepEqual(to, bytes);
  });

  it('has a body that is canonical JSON, with what was given and nothing else', () => {
    const plain: RecordEntry = { type: 'exec "x"', object: 'ä\n', status: 'ok' };
    const more: readonly Partial<RecordEntry>[] = [
      {},
      { count: 0 },
      { count: 3 },
      { facts: {} },
      { facts: { z: 1, a: ['x', null], left: undefined } },
      { layer: 'hook' },
      { session: null },
      { session: 's"' },
      { durable: true, makesRoom: true, parent: 'p' },
    ];
    for (const agent of [null, 'a"b']) {
      for (const each of [...more, Object.assign({}, ...more)]) {
        const { durable: _d, makesRoom: _m, parent: _p, session = null, ...entry } = { ...plain, ...each };
        const ts = '2024-02-29T00:00:00.000Z';
        const expected = canonicalJson({ ...entry, session, agent, seq: 7, ts } as Json);
        assert.equal(bodyText({ ...plain, ...each }, agent, 7, ts), expected);
      }
    }
  });
});
