import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { type OutputEvent, StreamEvents } from './stream-events.js';

function bytesOf(events: readonly OutputEvent[], stream: string): Buffer {
  const own = events.filter((event) => event.stream === stream);
  return Buffer.concat(
    own.map((event) => ('text' in event ? Buffer.from(event.text) : Buffer.from(event.base64, 'base64'))),
  );
}

describe('output as events', () => {
  it('is every byte of each stream, in order, however it arrives', () => {
    const chunk = fc.record({ stream: fc.constantFrom('stdout', 'stderr'), bytes: fc.uint8Array({ maxLength: 12 }) });
    fc.assert(
      fc.property(fc.array(chunk), (chunks) => {
        const events = new StreamEvents();
        const told = chunks.flatMap(({ stream, bytes }) => [...events.take(stream as 'stdout', Buffer.from(bytes))]);
        const all = [...told, ...events.end()];
        for (const name of ['stdout', 'stderr']) {
          const wrote = Buffer.concat(chunks.filter(({ stream }) => stream === name).map(({ bytes }) => bytes));
          assert.deepEqual(bytesOf(all, name), wrote);
        }
      }),
      seeded(500),
    );
  });

  it('is text wherever it is UTF-8, also when it is cut within characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
        const events = new StreamEvents();
        const bytes = Buffer.from(text);
        const all: OutputEvent[] = [];
        for (let at = 0; at < bytes.length; at += size)
          all.push(...events.take('stdout', bytes.subarray(at, at + size)));
        assert.deepEqual(events.end(), []);
        assert.equal(all.map((event) => ('text' in event ? event.text : '?')).join(''), text);
      }),
      seeded(300),
    );
  });
});
