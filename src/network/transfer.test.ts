/** One body from stream to stream, in memory: as much as its framing says, as fast as it is taken, and every end. */
import assert from 'node:assert/strict';
import { type Duplex, PassThrough, Readable, Writable } from 'node:stream';
import { describe, it, mock } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { networkHeadBytes, networkRedactMilliseconds } from '../base/limits/network.js';
import { answerFor, asErrno, httpAnswer } from './answer.js';
import { bodyReader, framed, framedEnd } from './body.js';
import type { Framing } from './http-message.js';
import { Redactor } from './redact.js';
import { SecretSearch } from './secret-search.js';
import { transferBody, write } from './transfer.js';

const counted = (bytes: number): Framing => ({ kind: 'length', bytes });
const chunked: Framing = { kind: 'chunked' };
const untilClose: Framing = { kind: 'until close' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Takes what it is given when a test says so. */
class Slow extends Writable {
  readonly taken: Buffer[] = [];
  #free: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: 4 });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(chunk);
    this.#free = done;
  }

  take(): void {
    const free = this.#free;
    this.#free = undefined;
    free?.();
  }

  get text(): string {
    return Buffer.concat(this.taken).toString();
  }
}

const listeners = (stream: Duplex | Readable | Writable) =>
  ['data', 'end', 'error', 'close', 'drain'].map((event) => stream.listenerCount(event)).join();

async function carried(pieces: readonly string[], framing: Framing, ends = true) {
  const [source, sink] = [new PassThrough(), new PassThrough()];
  const before = [listeners(source), listeners(sink)];
  const done = transferBody(source, sink, framing).then(
    () => 'whole',
    (error) => error.code,
  );
  for (const piece of pieces) {
    source.write(piece);
    await turn();
  }
  if (ends) source.end();
  const how = await done;
  assert.deepEqual([listeners(source), listeners(sink)], before, 'both are as they were found');
  assert.equal(sink.writableEnded, false, 'its end is for the caller to say');
  return { how, text: String(sink.read() ?? ''), rest: source };
}

describe('a body', () => {
  it('is carried as its framing says, and what follows it stays where it is', async () => {
    for (const ends of [true, false]) {
      const found = await carried(['ab', 'cGET', ' /'], counted(3), ends);
      assert.deepEqual([found.how, found.text, String(found.rest.read())], ['whole', 'abc', ' /']);
    }
    assert.deepEqual(await carried([], { kind: 'none' }, false).then(({ how, text }) => [how, text]), ['whole', '']);
    assert.deepEqual(await carried([], counted(0), false).then(({ how, text }) => [how, text]), ['whole', '']);
    const all = await carried(['ab', 'c'], untilClose);
    assert.deepEqual([all.how, all.text], ['whole', 'abc']);
    const chunks = await carried(['3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nT: r\r\n\r\n'], chunked, false);
    assert.deepEqual([chunks.how, chunks.text], ['whole', '3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n']);
  });

  it('that is cut short or malformed is not whole, and no end of it is written', async () => {
    for (const [pieces, framing, ends] of [
      [['ab'], counted(3), true],
      [[], counted(1), true],
      [['3\r\nabc\r\n'], chunked, true],
      [[], chunked, true],
      [['x\r\n'], chunked, false],
    ] as const) {
      const { how, text } = await carried(pieces, framing, ends);
      assert.equal(how, 'EINVAL', JSON.stringify(pieces));
      assert.ok(!text.includes('0\r\n\r\n'));
    }
  });

  it('ends with its source or its sink, whichever is gone', async () => {
    for (const gone of ['source', 'sink'] as const) {
      for (const isEarly of [true, false]) {
        const streams = { source: new PassThrough(), sink: new PassThrough() };
        if (isEarly) streams[gone].destroy();
        const done = transferBody(streams.source, streams.sink, counted(5));
        streams.source.write('a', () => undefined);
        if (!isEarly) setImmediate(() => streams[gone].destroy());
        streams.source.on('error', () => undefined);
        await assert.rejects(done, { code: 'ECANCELED' }, `${gone} ${isEarly}`);
      }
    }
    const failing = new PassThrough();
    const done = transferBody(failing, new PassThrough(), counted(5));
    failing.destroy(new Error('a reset'));
    await assert.rejects(done, /a reset/);
    const ended = Readable.from([]);
    ended.resume();
    await turn();
    await turn();
    await assert.rejects(transferBody(ended, new PassThrough(), counted(5)), { code: 'EINVAL' });
    await transferBody(ended, new PassThrough(), untilClose);
  });

  it('is read no faster than it is taken', async () => {
    const [source, sink] = [new PassThrough(), new Slow()];
    let sent = 0;
    const done = transferBody(source, sink, counted(24), { onSent: () => (sent += 1) });
    for (const piece of ['abcdefgh', 'ijklmnop', 'qrstuvwx']) {
      source.write(piece);
      await turn();
    }
    assert.deepEqual([sink.text, sent, source.isPaused()], ['abcdefgh', 1, true]);
    for (const expected of ['abcdefghijklmnop', 'abcdefghijklmnopqrstuvwx']) {
      sink.take();
      await turn();
      await turn();
      assert.equal(sink.text, expected);
    }
    await done;
    assert.equal(sent, 3);
  });

  it('lets go of what its redactor holds by the clock, and not while its sink is full', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const secret = 'tok-0123456789abcdef';
      const [source, sink] = [new PassThrough(), new PassThrough()];
      const redactor = new Redactor(new SecretSearch([secret]));
      const done = transferBody(source, sink, untilClose, { redactor });
      source.write('short');
      await turn();
      mock.timers.tick(networkRedactMilliseconds - 1);
      assert.equal(sink.read(), null);
      source.write(' more');
      await turn();
      mock.timers.tick(networkRedactMilliseconds - 1);
      assert.equal(sink.read(), null, 'each piece starts the clock again');
      mock.timers.tick(1);
      assert.equal(String(sink.read()), 'short more');
      source.write(`<${secret}>`);
      source.end();
      await done;
      assert.equal(String(sink.read()), `<${'*'.repeat(secret.length)}>`);
      mock.timers.tick(10 * networkRedactMilliseconds);
      assert.equal(sink.read(), null);
    } finally {
      mock.timers.reset();
    }
  });
});

describe('bytes that are written', () => {
  it('wait until there is room, and fail where there is none any more', async () => {
    const sink = new Slow();
    await write(sink, Buffer.from('ab'));
    let isDone = false;
    const waiting = write(sink, Buffer.from('cdefgh')).then(() => {
      isDone = true;
    });
    await turn();
    assert.equal(isDone, false);
    sink.take();
    await turn();
    sink.take();
    await waiting;
    assert.equal(listeners(sink), listeners(new Slow()));
    const late = write(sink, Buffer.from('abcdefgh'));
    sink.destroy();
    await assert.rejects(late, { code: 'ECANCELED' });
    await assert.rejects(write(sink, Buffer.from('x')), { code: 'ECANCELED' });
    const ended = new PassThrough();
    ended.end();
    await assert.rejects(write(ended, Buffer.from('x')), { code: 'ECANCELED' });
  });

  it('are framed anew, and end as their framing says', () => {
    const text = (parts: readonly Buffer[]) => Buffer.concat(parts).toString();
    for (const framing of [counted(5), untilClose, { kind: 'none' } as const]) {
      assert.deepEqual([text(framed(framing, Buffer.from('ab'))), framedEnd(framing)], ['ab', []]);
    }
    assert.equal(text(framed(chunked, Buffer.alloc(26, 'x'))), `1a\r\n${'x'.repeat(26)}\r\n`);
    assert.deepEqual(framed(chunked, Buffer.alloc(0)), [], 'an empty chunk would be the last');
    assert.equal(text(framedEnd(chunked)), '0\r\n\r\n');
  });

  it('of chunks have lines and trailers of so many bytes', () => {
    const reads = (wire: string) => {
      const reader = bodyReader(chunked);
      reader.push(Buffer.from(wire, 'latin1'));
      return reader.done;
    };
    const extension = (length: number) => `0;${'x'.repeat(length - 4)}\r\n\r\n`;
    assert.equal(reads(extension(networkHeadBytes)), true);
    assert.throws(() => reads(extension(networkHeadBytes + 1)), { code: 'EINVAL' });
    const trailer = (length: number) => `0\r\nT: ${'x'.repeat(length - 7)}\r\n\r\n`;
    assert.equal(reads(trailer(networkHeadBytes)), true, 'with the empty line at its end');
    assert.throws(() => reads(trailer(networkHeadBytes + 1)), { code: 'EINVAL' });
    for (const size of ['fffffffffffff', '', ' 1', '1 x', '1;\u0001', 'g']) {
      assert.throws(() => reads(`${size}\r\n`), { code: 'EINVAL' }, size);
    }
    for (const size of ['ffffffffffff', '1 ', '1\t;a', '1;a="\x80"', 'A', 'a'])
      assert.equal(reads(`${size}\r\n`), false, size);
  });
});

describe('an answer to a client', () => {
  const told: Readonly<Record<string, readonly [status: string, socks: number, verdict: string]>> = {
    EACCES: ['403 Forbidden', 2, 'refused'],
    EINVAL: ['400 Bad Request', 1, 'refused'],
    E2BIG: ['431 Request Header Fields Too Large', 1, 'refused'],
    EAGAIN: ['408 Request Timeout', 1, 'refused'],
    ENOTSUP: ['501 Not Implemented', 7, 'refused'],
    ENOENT: ['502 Bad Gateway', 4, 'failed'],
    EIO: ['502 Bad Gateway', 5, 'failed'],
    ETIMEDOUT: ['504 Gateway Timeout', 6, 'failed'],
    ECANCELED: ['502 Bad Gateway', 1, 'failed'],
  };

  it('is the same for each kind of failure, in HTTP and in SOCKS', () => {
    for (const [code, [status, socks, verdict]] of Object.entries(told)) {
      const error = new ErrnoError(code as 'EIO', { operation: 'x', reason: 'why ä\r\nX-Evil: 1' });
      assert.deepEqual(answerFor(error), { status, socks, verdict }, code);
      const text = httpAnswer(error);
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const lines = head.split('\r\n');
      assert.equal(lines[0], `HTTP/1.1 ${status}`);
      assert.deepEqual(lines.slice(1), [
        'Content-Type: text/plain',
        `Content-Length: ${body.length}`,
        'X-Ctx-Reason: why ???X-Evil: 1',
        'Connection: close',
      ]);
      assert.equal(body, 'ctx: why ???X-Evil: 1\n');
    }
  });

  it('says of what the system said its code and no more', () => {
    const known = new ErrnoError('EACCES', { operation: 'x', reason: 'y' });
    assert.equal(asErrno(known, 'connecting'), known);
    const system = Object.assign(new Error('connect 10.0.0.1:5 secret'), { code: 'ECONNREFUSED' });
    const { code, reason } = asErrno(system, 'connecting');
    assert.deepEqual([code, reason], ['EIO', 'connecting failed (ECONNREFUSED)']);
    for (const thrown of [new Error('secret'), 'secret', undefined]) {
      assert.equal(asErrno(thrown, 'connecting').reason, 'connecting failed (unknown)');
    }
  });
});
