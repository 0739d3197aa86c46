import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodePath, encodePath } from './path-bytes.js';

const pieces = fc.oneof(
  fc.uint8Array({ maxLength: 4 }),
  fc.string({ unit: 'binary', maxLength: 3 }).map((text) => new Uint8Array(Buffer.from(text))),
  fc
    .constantFrom('edafbfedbfbf', 'c0af', 'f4908080', 'efbfbd', 'e282', 'f09f9880')
    .map((hex) => Buffer.from(hex, 'hex')),
);
const names = fc.array(pieces).map((parts) => Buffer.concat(parts));

describe('path bytes', () => {
  it('loses no byte of any name', () => {
    fc.assert(
      fc.property(names, (bytes) => assert.deepEqual(encodePath(decodePath(bytes)), bytes)),
      { numRuns: 2000 },
    );
  });

  it('gives two names two texts', () => {
    fc.assert(
      fc.property(names, names, (a, b) => assert.equal(decodePath(a) === decodePath(b), a.equals(b))),
      { numRuns: 2000 },
    );
  });

  it('keeps valid UTF-8 as its text, the replacement character included', () => {
    for (const text of ['', 'plain', 'naïve/😀', '\ufffd']) {
      assert.equal(decodePath(Buffer.from(text)), text);
      assert.deepEqual(encodePath(text), Buffer.from(text));
    }
  });

  it('marks invalid bytes one by one', () => {
    assert.equal(decodePath(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xc3])), 'a\udcffé\udcc3');
  });

  it('refuses a surrogate that stands for no byte', () => {
    assert.throws(() => encodePath('a\ud800'), { code: 'EINVAL' });
    assert.throws(() => encodePath('a\udc00'), { code: 'EINVAL' });
  });
});
