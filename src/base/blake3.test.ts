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
});
