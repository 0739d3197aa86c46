import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { Inbox } from './inbox.js';

/** Everything up to the first line feed. */
const line = (bytes: Buffer) => {
  const feed = bytes.indexOf(0x0a);
  return feed < 0 ? undefined : { value: bytes.toString('latin1', 0, feed), used: feed + 1 };
};

describe('an inbox', () => {
  it('gives a client that drips no more time than one that says nothing', async () => {
    for (const drips of [true, false]) {
      const stream = new PassThrough();
      const timer = setInterval(() => drips && stream.write('x'), 10);
      let isOver = false;
      const end = setTimeout(() => {
        isOver = true;
        clearInterval(timer);
      }, 3_000);
      const start = performance.now();
      try {
        await assert.rejects(new Inbox(stream, { bytes: 1_000_000, milliseconds: 80 }).read(line), { code: 'EAGAIN' });
        assert.ok(!isOver, 'it waited for as long as something came');
        assert.ok(performance.now() - start >= 79);
      } finally {
        clearInterval(timer);
        clearTimeout(end);
        stream.destroy();
      }
    }
  });

  it('waits longer where the clock was started again, and not otherwise', async () => {
    const stream = new PassThrough();
    const inbox = new Inbox(stream, { bytes: 100, milliseconds: 80 });
    const start = performance.now();
    setTimeout(() => inbox.restartClock(), 40);
    await assert.rejects(inbox.read(line), { code: 'EAGAIN' });
    assert.ok(performance.now() - start >= 119);
  });

  it('takes as many bytes as it says, however they are cut, and no more', async () => {
    const most = 40;
    for (const size of [most - 1, most, most + 1]) {
      for (const cut of [1, 7, most, 1000]) {
        const stream = new PassThrough();
        const text = `${'x'.repeat(size - 1)}\n`;
        const read = new Inbox(stream, { bytes: most, milliseconds: 20_000 }).read(line);
        const told = read.then(
          (value) => value.length + 1,
          (error: { code?: string }) => error.code,
        );
        for (let at = 0; at < text.length; at += cut) stream.write(text.slice(at, at + cut));
        assert.equal(await told, size <= most ? size : 'E2BIG', `${size} in pieces of ${cut}`);
        stream.destroy();
      }
    }
  });

  it('leaves what follows in the stream, whole and once', async () => {
    for (const cut of [1, 3, 100]) {
      const stream = new PassThrough();
      const text = 'head\nand the rest of it';
      for (let at = 0; at < text.length; at += cut) stream.write(text.slice(at, at + cut));
      stream.end();
      const inbox = new Inbox(stream, { bytes: 100, milliseconds: 20_000 });
      assert.equal(await inbox.first(), 'h'.charCodeAt(0));
      assert.equal(await inbox.read(line), 'head');
      let rest = '';
      for await (const chunk of stream) rest += String(chunk);
      assert.equal(rest, 'and the rest of it');
    }
  });

  it('says so where the peer is gone, before it is asked and while it waits', async () => {
    for (const leave of [(stream: PassThrough) => stream.end(), (stream: PassThrough) => stream.destroy()]) {
      for (const isEarly of [true, false]) {
        const stream = new PassThrough();
        if (isEarly) leave(stream);
        const read = new Inbox(stream, { bytes: 100, milliseconds: 20_000 }).read(line);
        if (!isEarly) setTimeout(leave, 5, stream);
        await assert.rejects(read, { code: 'ECANCELED' });
      }
    }
  });
});
