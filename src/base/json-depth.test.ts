import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isDeeperThan } from './json-depth.js';
import { parseJson } from './shape.js';

it('JSON is as deep as its lists and objects, whatever its texts hold', () => {
  const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
  for (const levels of [2, 4, 200]) {
    assert.equal(isDeeperThan(nested(levels), levels), false);
    assert.equal(isDeeperThan(nested(levels), levels - 1), true);
    assert.equal(isDeeperThan(`[${nested(levels)},${nested(levels)}]`, levels + 1), false);
  }
  for (const text of ['[[[[', '\\"[[[[', ']]][[['])
    assert.equal(isDeeperThan(JSON.stringify({ text }), 1), false, text);
});

it('JSON that would exhaust a stack is refused before it is made', () => {
  const levels = 100_000;
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const)
    assert.throws(() => parseJson(`${open.repeat(levels)}1${close.repeat(levels)}`), {
      name: 'SyntaxError',
      message: /deep$/,
    });
});
