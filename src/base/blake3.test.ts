import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Blake3 } from './blake3.js';

const file = new URL('../../../../test/vectors/blake3.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: { length: number; hash: string }[] };
const input = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe('BLAKE3', () => {
  it('gives what the published vectors say', () => {
    const hash = new Blake3();
    assert.ok(cases.length >= 30);
    for (const { length, hash: expected } of cases) assert.equal(hash.hex(input(length)), expected, String(length));
  });

  it('says the same whatever it hashed before', () => {
    const used = new Blake3();
    for (const { length } of [...cases].reverse()) used.hex(input(length));
    for (const { length, hash: expected } of cases) assert.equal(used.hex(input(length)), expected, String(length));
  });

  it('hashes a piece of something large behind a digest, wherever it stands', () => {
    const hash = new Blake3();
    const large = input(5000);
    const first = new Int32Array(8).map((_, index) => index * 0x01020304);
    for (const length of [0, 1, 3, 31, 32, 33, 95, 96, 97, 1000, 2100]) {
      for (const from of [0, 1, 2, 3, 101]) {
        const piece = large.subarray(from, from + length);
        const expected = hash.hex(Buffer.concat([Buffer.from(first.buffer), piece]));
        hash.hex(large);
        const view = new DataView(large.buffer);
        const words = hash.digestBehind(first, view, from, from + length).slice(0, 8);
        assert.equal(Buffer.from(words.buffer).toString('hex'), expected, `${length} bytes from ${from}`);
      }
    }
  });
});
