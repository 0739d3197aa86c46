import assert from 'node:assert/strict';
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import { type FuseLibrary, fuseLibrary } from '../fuse/fuse-library.js';
import { JailCommands } from './jail-commands.js';

describe('commands beside the one that a jail was made for', () => {
  it('are refused one by one where this process has no descriptor for their output, and the next is heard', async () => {
    let arrives: () => void = () => undefined;
    const told: readonly (readonly [id: number, stream: number])[] = [
      [1, 1],
      [2, 1],
    ];
    let at = 0;
    let isWatched = true;
    const pair = fuseLibrary(nativeProgram('fuse.node')).pair();
    assert.ok(typeof pair !== 'number');
    const library = {
      pair: () => pair,
      watch: (_socket: number, readable: () => void) => {
        arrives = readable;
        return () => {
          isWatched = false;
        };
      },
      receive: (_socket: number, about: Buffer) => {
        const [id, stream] = told[at++] ?? [0, 0];
        about.writeUInt32LE(id, 0);
        about.writeUInt32LE(stream, 4);
        return -constants.errno.EMFILE;
      },
    } as unknown as FuseLibrary;
    const commands = new JailCommands(library);
    commands.open();
    for (const { id } of [{ id: 1 }, { id: 2 }]) {
      const running = await commands.start({ plan: [], input: 'nothing', onOutput: () => undefined });
      arrives();
      commands.take({ id, what: 'exited', rest: '9' });
      await assert.rejects(running.done, { code: 'EMFILE' });
    }
    assert.ok(isWatched);
    commands.lose();
    closeSync(pair[1]);
  });
});
