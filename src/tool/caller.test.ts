/** A caller that reads nothing of what it is told. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { viewOutputBytes } from '../base/limits/objects.js';
import { serveCaller } from './caller.js';
import { objectFrame, objectKind } from './wire.js';

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
