/** A caller that reads nothing of what it is told. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ExitCode, hasCode } from '../base/errno.js';
import { viewOutputBytes } from '../base/limits/objects.js';
import { type Answerer, serveCaller } from './caller.js';
import { ObjectFrames, objectFrame, objectKind } from './wire.js';

describe('a caller of an object', () => {
  it('is let go where it reads nothing: what waits for it stays below a limit', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-caller-'));
    const path = join(directory, 'socket');
    const piece = Buffer.alloc(4 << 20);
    let printed = 0;
    const served = new Promise<void>((resolve) => {
      const server = createServer((socket) => {
        server.close();
        const over = serveCaller(socket, async ({ print, signal }) => {
          for (; !signal.aborted && printed < 2 * viewOutputBytes; printed += piece.length) {
            print(piece);
            await nextTurn();
          }
          if (!signal.aborted) socket.destroy();
          return 0;
        });
        void over.then(resolve);
      }).listen(path, () => {
        const client = connect(path).pause();
        client.on('error', () => undefined);
        client.write(objectFrame(objectKind.call, Buffer.from('/ctx/tool/x\0/\0{}')));
      });
    });
    await served;
    assert.ok(printed > viewOutputBytes - piece.length, `${printed}`);
    assert.ok(
      printed <= viewOutputBytes + 2 * piece.length,
      `${printed} bytes were taken for a caller that reads none`,
    );
    rmSync(directory, { recursive: true });
  });
});

/** Of every connection: ended also where a test has failed. */
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection of two sockets in this process; what the caller was told, in frames. */
async function connection(answer: Answerer) {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-caller-'));
  const path = join(directory, 'socket');
  const server = createServer();
  const accepted = once(server, 'connection');
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  const client = connect(path);
  client.on('error', () => undefined);
  const [socket] = (await accepted) as [Socket];
  server.close();
  sockets.push(client, socket);
  const frames = new ObjectFrames();
  const told: string[] = [];
  client.on('data', (chunk) => {
    for (const { kind, payload } of frames.push(chunk))
      told.push(`${kind} ${kind === objectKind.exit ? payload.readUInt8(0) : payload}`);
  });
  const closed = once(client, 'close');
  const over = serveCaller(socket, answer);
  const done = async () => {
    await Promise.all([over, closed]);
    rmSync(directory, { recursive: true });
    return told;
  };
  return { client, told, done, call: () => client.write(objectFrame(objectKind.call, Buffer.from('/t\0/d\0{"a":1}'))) };
}

describe('a call', { timeout: 60_000 }, () => {
  it('is told what is printed, in order, and how it ended', async () => {
    const { call, done } = await connection(async ({ call: asked, print, printError }) => {
      assert.deepEqual(asked, { path: '/t', directory: '/d', input: '{"a":1}' });
      await print('one');
      await printError(Buffer.from('two'));
      await print('three');
      return 7;
    });
    call();
    assert.deepEqual(await done(), ['O one', 'E two', 'O three', 'C 7']);
  });

  it('asks its process for files one after the other, and is given what that answered', async () => {
    const { client, call, done, told } = await connection(async ({ reach, print }) => {
      for (const word of ['a', 'b']) await print(`got ${await reach(Buffer.from(`file ${word}`))}`);
      return 0;
    });
    client.on('data', () => {
      const asked = told.filter((text) => text.startsWith(objectKind.file)).length;
      const answered = told.filter((text) => text.includes('got')).length;
      if (asked > answered) client.write(objectFrame(objectKind.done, Buffer.from(`answer ${asked}`)));
    });
    call();
    assert.deepEqual(await done(), ['F file a', 'O got answer 1', 'F file b', 'O got answer 2', 'C 0']);
  });

  it('that throws ends with the code of a defect, and the caller is not left waiting', async () => {
    const { call, done } = await connection(() => Promise.reject(new RangeError('a defect')));
    call();
    assert.deepEqual(await done(), [`C ${ExitCode.internal}`]);
  });

  it('ends where its caller goes: what it waits for is refused, and so is what it asks for then', async () => {
    const errors: unknown[] = [];
    const { client, call, done } = await connection(async ({ reach, signal }) => {
      await reach(Buffer.from('x')).catch((error: unknown) => errors.push(error));
      assert.equal(signal.aborted, true);
      await reach(Buffer.from('y')).catch((error: unknown) => errors.push(error));
      return 0;
    });
    call();
    await once(client, 'data');
    client.destroy();
    assert.deepEqual(await done(), ['F x']);
    assert.deepEqual(
      errors.map((error) => hasCode(error, 'EPIPE')),
      [true, true],
    );
  });

  it('is made once, with frames that are some, in their place: anything else ends the connection', async () => {
    for (const bytes of [
      objectFrame(objectKind.done, Buffer.from('unasked')),
      objectFrame(objectKind.output, Buffer.from('of ours')),
      Buffer.from('no frame at all, which is longer than a head'),
      Buffer.alloc(64, 0xff),
    ]) {
      let calls = 0;
      const { client, done } = await connection(async () => {
        calls += 1;
        return 0;
      });
      client.write(bytes);
      assert.deepEqual([await done(), calls], [[], 0]);
    }
    let ended = false;
    const twice = await connection(
      ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            ended = true;
            resolve(0);
          });
        }),
    );
    twice.call();
    twice.call();
    assert.deepEqual([await twice.done(), ended], [[], true]);
  });
});
