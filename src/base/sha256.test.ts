import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sha256 } from './sha256.js';

const reference = (text: string) => createHash('sha256').update(text).digest('hex');

describe('sha256', () => {
  it('is what node:crypto says, for every length around a block', () => {
    for (let length = 0; length <= 300; length += 1)
      assert.equal(sha256('x'.repeat(length)), reference('x'.repeat(length)));
  });

  it('is what node:crypto says, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => assert.equal(sha256(text), reference(text))),
      { numRuns: 500 },
    );
  });
});
