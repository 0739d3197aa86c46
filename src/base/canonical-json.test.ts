import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { canonicalJson, type Json } from './canonical-json.js';
import { ErrnoError } from './errno.js';

/** The same, the plain way. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}

function text(value: unknown): string {
  if (value instanceof Map) return `{${[...value].map(([key, member]) => `${text(key)}:${text(member)}`).join(',')}}`;
  return Array.isArray(value) ? `[${value.map(text).join(',')}]` : JSON.stringify(value);
}

describe('canonical JSON', () => {
  it('is one text for one value, whatever the order its members came in', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const written = canonicalJson(value as Json);
        assert.equal(written, text(sorted(value)));
        assert.equal(canonicalJson(JSON.parse(written) as Json), written);
      }),
      seeded(500),
    );
  });

  it('leaves out what is undefined, and sorts numbers among keys as texts', () => {
    assert.equal(canonicalJson({ b: 1, a: undefined, 10: 'x', 9: 'y' }), '{"10":"x","9":"y","b":1}');
    assert.equal(canonicalJson([-0, 1e21, 'a\n"\u007f', '\ud800']), '[0,1e+21,"a\\n\\"\u007f","\\ud800"]');
  });

  it('refuses what JSON cannot say', () => {
    const deep = Array.from({ length: 100 }).reduce((inner: Json) => [inner], null);
    const bad: readonly unknown[] = [Number.NaN, { a: [Infinity] }, [undefined], { a: () => 1 }, new Date(0), 1n, deep];
    for (const value of bad) assert.throws(() => canonicalJson(value as Json), ErrnoError);
  });
});
