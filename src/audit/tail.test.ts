import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readTail } from './tail.js';

const head = 'a'.repeat(64);
const line = (seq: number, padding = 0) =>
  `["${head}",${JSON.stringify({ seq, ts: '2026-01-01', type: 'exec', facts: 'é'.repeat(padding) })}]\n`;

/** How a segment that was cut off goes on behind its last record. */
const torn = ['', '[', line(9).slice(0, -1), line(9).slice(0, 80), 'x'.repeat(300), `x\n${'y'.repeat(300)}`, '\n\n'];

it('the end of a segment is the same, however many of its last bytes are looked at, or more are asked for', () => {
  for (const records of [[], [line(1)], [line(1), line(2, 90), line(3)]]) {
    for (const rest of torn) {
      const whole = Buffer.from(records.join('') + rest);
      const end = Buffer.byteLength(records.join(''));
      const expected = { seq: records.length === 0 ? undefined : records.length, end };
      const seen = new Set<string>();
      for (let length = 0; length <= whole.length; length += 1) {
        const reading = readTail(whole.subarray(whole.length - length), length === whole.length);
        seen.add(reading.kind);
        if (reading.kind === 'more') continue;
        const found = { seq: reading.last?.seq, end: whole.length - length + reading.end };
        assert.deepEqual(found, expected, `${records.length} records, ${JSON.stringify(rest)}, ${length} bytes`);
      }
      assert.ok(seen.has('read'));
      if (whole.length > 0) assert.ok(seen.has('more'));
    }
  }
});
