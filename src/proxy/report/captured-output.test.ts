import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { outputFilesKept } from '../../base/limits/commands.js';
import { CapturedOutput } from './captured-output.js';
import { dropOldOutputs, OutputFile } from './output-file.js';

function capture(limit: number, chunks: readonly Uint8Array[]) {
  const output = new CapturedOutput(limit);
  for (const chunk of chunks) output.add(Buffer.from(chunk));
  return output.finish();
}

describe('captured output', () => {
  it('keeps the first bytes up to the limit, exactly, however they arrive, and counts all', () => {
    fc.assert(
      fc.property(fc.nat({ max: 40 }), fc.array(fc.uint8Array({ maxLength: 20 })), (limit, chunks) => {
        const whole = Buffer.concat(chunks);
        const kept = whole.subarray(0, limit);
        const { text, base64, bytes, dropped } = capture(limit, chunks);
        assert.equal(bytes, whole.length);
        assert.equal(dropped, whole.length - kept.length);
        assert.deepEqual(base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64'), kept);
      }),
      seeded(500),
    );
  });

  it('is plain text where it is UTF-8, also when a character arrives in two parts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (text, cut) => {
        const bytes = Buffer.from(text);
        const at = cut % (bytes.length + 1);
        assert.deepEqual(capture(1e6, [bytes.subarray(0, at), bytes.subarray(at)]), {
          text,
          bytes: bytes.length,
          dropped: 0,
        });
      }),
      seeded(200),
    );
  });

  it('says the bytes beside the text where a character is cut by the limit or is none', () => {
    assert.deepEqual(capture(2, [Buffer.from('aü')]), { text: 'a\ufffd', base64: 'YcM=', bytes: 3, dropped: 1 });
    assert.equal(capture(9, [Buffer.of(0xff, 0x41)]).base64, '/0E=');
  });

  it('has all of it in a file, up to that file’s own limit, where it keeps not all; and no file where it does', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-output-'));
    let number = 0;
    fc.assert(
      fc.property(
        fc.nat({ max: 40 }),
        fc.nat({ max: 80 }),
        fc.array(fc.uint8Array({ maxLength: 20 })),
        (limit, most, chunks) => {
          const path = join(directory, String(number++));
          const output = new CapturedOutput(limit, new OutputFile(path, most));
          for (const chunk of chunks) output.add(Buffer.from(chunk));
          const { file, dropped } = output.finish();
          const expected = Buffer.concat(chunks).subarray(0, most);
          assert.deepEqual(file, dropped === 0 || most === 0 ? undefined : { path, bytes: expected.length });
          if (file !== undefined) assert.deepEqual(readFileSync(path), expected);
        },
      ),
      seeded(200),
    );
    assert.ok(readdirSync(directory).length <= outputFilesKept);
    rmSync(directory, { recursive: true });
  });

  it('leaves the newest files beside its own, as many as are kept, and drops those before a time', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-output-'));
    for (let number = 1; number <= 2 * outputFilesKept; number += 1) {
      const file = new OutputFile(join(directory, String(number)));
      file.write(Buffer.from('x'));
      assert.deepEqual(file.finish(), { path: join(directory, String(number)), bytes: 1 });
      utimesSync(join(directory, String(number)), number, number);
      const left = readdirSync(directory).map(Number);
      const expected = Array.from({ length: Math.min(number, outputFilesKept) }, (_, back) => number - back);
      assert.deepEqual(new Set(left), new Set(expected), `after ${number}`);
    }
    dropOldOutputs(directory, (2 * outputFilesKept - 1) * 1000);
    assert.deepEqual(
      new Set(readdirSync(directory).map(Number)),
      new Set([2 * outputFilesKept, 2 * outputFilesKept - 1]),
    );
    rmSync(directory, { recursive: true });
    dropOldOutputs(directory, 0);
  });

  it('holds no memory for what it drops', () => {
    const output = new CapturedOutput(10);
    const chunk = Buffer.alloc(1 << 20);
    for (let index = 0; index < 4096; index += 1) output.add(chunk);
    assert.deepEqual([output.finish().bytes, output.finish().text.length], [2 ** 32, 10]);
  });
});
