import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { ErrnoError } from '../base/errno.js';
import {
  encodeBytes,
  encodeFrame,
  encodeRequest,
  FrameReader,
  frameBytes,
  readRequest,
  readSize,
  wireKind,
} from './jail-wire.js';

const kinds = Object.values(wireKind);

describe('frames of a kept jail', () => {
  it('come out as they went in, however the stream is cut', () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 50 })), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 40 }),
        (frames, cuts) => {
          const stream = Buffer.concat(frames.map(([kind, bytes]) => encodeFrame(kind, Buffer.from(bytes))));
          const reader = new FrameReader();
          const read: [string, string][] = [];
          let at = 0;
          for (const size of [...cuts, stream.length]) {
            for (const { kind, payload } of reader.push(stream.subarray(at, at + size)))
              read.push([kind, payload.toString('hex')]);
            at += size;
          }
          assert.deepEqual(
            read,
            frames.map(([kind, bytes]) => [kind, Buffer.from(bytes).toString('hex')]),
          );
        },
      ),
      seeded(200),
    ));

  it('split what one has no room for', () => {
    const bytes = Buffer.alloc(frameBytes * 2 + 5, 'x');
    const frames = [...encodeBytes(wireKind.output, bytes)];
    assert.ok(frames.every(({ length }) => length <= frameBytes + 4));
    const reader = new FrameReader();
    const read = frames.flatMap((frame) => [...reader.push(frame)]).map(({ payload }) => payload.length);
    assert.equal(
      read.reduce((sum, length) => sum + length, 0),
      bytes.length,
    );
  });

  it('are refused where a length is nonsense, before anything is kept', () => {
    for (const length of [0, frameBytes + 1, 0xffffffff]) {
      const head = Buffer.alloc(5);
      head.writeUInt32LE(length);
      assert.throws(() => [...new FrameReader().push(head)], ErrnoError);
    }
    for (const length of [1, frameBytes]) {
      const frame = encodeFrame(wireKind.output, Buffer.alloc(length - 1));
      assert.equal(frame.readUInt32LE(0), length);
      const read = [...new FrameReader().push(frame)];
      assert.deepEqual(
        read.map(({ payload }) => payload.length),
        [length - 1],
      );
    }
  });
});

describe('a request to a kept jail', () => {
  const text = (...strings: readonly string[]) => Buffer.from(strings.map((string) => `${string}\0`).join(''));

  it('has a directory, a terminal, words and an environment', () => {
    const request = readRequest(text('/work', '24 80', '02', 'b', '2', 'exec', '', 'A=1=2', 'NOTHING', '=odd', 'B='));
    assert.deepEqual(request, {
      directory: '/work',
      terminal: { rows: 24, columns: 80 },
      isTerminal: { stdin: true, stdout: false, stderr: true },
      stdin: 'other',
      build: 'b',
      words: ['exec', ''],
      environment: { A: '1=2', B: '' },
    });
  });

  it('is refused where it is cut short or says more words than it has', () => {
    const whole = text('/work', '', '', '', '1', 'exec', 'A=1');
    for (let end = 0; end < whole.length - 4; end += 1) {
      assert.throws(() => readRequest(whole.subarray(0, end)), ErrnoError, `${end} bytes`);
    }
    assert.throws(() => readRequest(text('/work', '', '', '', '9', 'exec')), ErrnoError);
    assert.throws(() => readRequest(text('relative', '', '', '', '0')), ErrnoError);
  });

  it('is read as it was written, whatever is in it', () => {
    const environment = { A: '1=2', EMPTY: '', ODD: '\u00e4 \n', GONE: undefined };
    const asked = { directory: '/w \u00e4', build: 'b', words: ['exec', '', '--', 'a\nb', 'X=1'], environment };
    assert.deepEqual(readRequest(encodeRequest(asked)), {
      directory: asked.directory,
      terminal: undefined,
      isTerminal: { stdin: false, stdout: false, stderr: false },
      stdin: 'other',
      build: 'b',
      words: asked.words,
      environment: { A: '1=2', EMPTY: '', ODD: '\u00e4 \n' },
    });
  });

  it('says of each stream what it is, and the size of a terminal', () => {
    const read = (terminal: string, terminals: string) => readRequest(text('/', terminal, terminals, '', '0'));
    for (const [names, streams] of [
      ['', [false, false, false]],
      ['0', [true, false, false]],
      ['1', [false, true, false]],
      ['2', [false, false, true]],
      ['012', [true, true, true]],
    ] as const) {
      const { stdin, stdout, stderr } = read('', names).isTerminal;
      assert.deepEqual([stdin, stdout, stderr], streams, names);
    }
    assert.deepEqual(
      ['f', 'n', '0', ''].map((names) => read('', names).stdin),
      ['file', 'nothing', 'other', 'other'],
    );
    for (const size of ['', '24', '24 x', '24 80 1', '-1 80', '100000 1', ' 24 80']) {
      assert.equal(read(size, '').terminal, undefined, size);
    }
    assert.deepEqual(read('0 99999', '').terminal, { rows: 0, columns: 99999 });
    assert.deepEqual(readSize(Buffer.from([1, 2, 3, 4])), { rows: 0x201, columns: 0x403 });
    for (const bytes of [0, 3, 5]) assert.equal(readSize(Buffer.alloc(bytes)), undefined);
  });

  it('is refused where the number of its words is none', () => {
    for (const count of ['', '-1', '1.5', '0x1', ' 1', 'one', '1e0']) {
      assert.throws(() => readRequest(text('/work', '', '', '', count, 'exec', 'A=1')), ErrnoError, count);
    }
    assert.deepEqual(readRequest(text('/work', '', '', '', '1', 'exec')).words, ['exec']);
  });

  it('never crashes on random bytes', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readRequest(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof ErrnoError);
        }
      }),
      seeded(200),
    ));
});
