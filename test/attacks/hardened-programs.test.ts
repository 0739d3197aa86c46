/** The native programs read trees, plans and calls that may be hostile: a slip in them must be hard to use. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkout } from '../support/program.js';

/** ET_DYN, PT_INTERP, PT_DYNAMIC, PT_GNU_RELRO, PT_GNU_STACK, PF_X, DT_FLAGS_1, DF_1_NOW of elf(5). */
const elf = {
  anyAddress: 3,
  interpreter: 3,
  dynamic: 2,
  relro: 0x6474e552,
  stack: 0x6474e551,
  executable: 1,
  flags: 0x6ffffffb,
  now: 1,
} as const;

function segmentsOf(file: Buffer) {
  const [at, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const from = at + index * size;
    const [offset, bytes] = [8, 32].map((field) => Number(file.readBigUInt64LE(from + field)));
    return {
      type: file.readUInt32LE(from),
      flags: file.readUInt32LE(from + 4),
      offset: offset ?? 0,
      bytes: bytes ?? 0,
    };
  });
}

function dynamicValue(file: Buffer, { offset, bytes }: { offset: number; bytes: number }, tag: number): number {
  for (let at = offset; at < offset + bytes; at += 16) {
    if (Number(file.readBigUInt64LE(at)) === tag) return Number(file.readBigUInt64LE(at + 8));
  }
  return 0;
}

describe('every native program and library', () => {
  const directory = join(checkout, 'dist', 'native');
  for (const name of readdirSync(directory)) {
    it(`${name} can stand at any address, has no memory that is both written and run, and checks its stack`, () => {
      const file = readFileSync(join(directory, name));
      const segments = segmentsOf(file);
      assert.equal(file.readUInt16LE(16), elf.anyAddress);
      assert.ok(segments.some(({ type }) => type === elf.relro));
      for (const { flags } of segments.filter(({ type }) => type === elf.stack))
        assert.equal(flags & elf.executable, 0);
      const dynamic = segments.find(({ type }) => type === elf.dynamic);
      assert.ok(dynamic !== undefined && (dynamicValue(file, dynamic, elf.flags) & elf.now) !== 0);
      assert.ok(file.includes('__stack_chk_fail'));
      // What needs no loader is led astray by none.
      if (!name.endsWith('.node')) assert.ok(!segments.some(({ type }) => type === elf.interpreter));
    });
  }
});
