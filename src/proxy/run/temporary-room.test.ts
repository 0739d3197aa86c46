import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupPollMilliseconds } from '../../base/limits/commands.js';
import { nativeProgram } from '../../base/native-program.js';
import { type TemporaryLimits, temporaryExcess, watchTemporary } from './temporary-room.js';

test('a directory that somebody removes meanwhile ends neither the command nor ctx', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-temporary-'));
  const ended: string[] = [];
  const watch = watchTemporary({ directory, treeProgram: nativeProgram('tree'), end: (reason) => ended.push(reason) });
  rmSync(directory, { recursive: true });
  await sleep(2 * groupPollMilliseconds);
  await watch.stop();
  assert.deepEqual(ended, []);
});

/** What a command that writes `rounds` times is ended for; `write` makes one round in the directory. */
async function endedFor(limits: TemporaryLimits, rounds: number, write: (directory: string, round: number) => void) {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-temporary-'));
  const ended: string[] = [];
  const request = {
    directory,
    treeProgram: nativeProgram('tree'),
    limits,
    end: (reason: string) => ended.push(reason),
  };
  const watch = watchTemporary(request);
  try {
    for (let round = 0; round < rounds; round += 1) {
      write(directory, round);
      await sleep(3 * groupPollMilliseconds);
    }
    const meanwhile = ended.length;
    await watch.stop();
    return { meanwhile, ended };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a command that fills it by and by is ended once, whenever that is', async () => {
  const bytes = 1024 * 1024;
  const writeBytes = (directory: string, round: number) =>
    writeFileSync(join(directory, String(round)), Buffer.alloc(bytes / 4, 1), { flush: true });
  const within = await endedFor({ bytes: 2 * bytes, files: 1000 }, 4, writeBytes);
  assert.deepEqual(within, { meanwhile: 0, ended: [] });
  const over = await endedFor({ bytes, files: 1000 }, 6, writeBytes);
  assert.equal(over.ended.length, 1, over.ended.join('\n'));
  assert.equal(over.meanwhile, 1, 'while it runs');
  const writeFiles = (directory: string, round: number) => {
    for (let file = 0; file < 10; file += 1) writeFileSync(join(directory, `${round}.${file}`), '');
  };
  const many = await endedFor({ bytes: 64 * bytes, files: 25 }, 3, writeFiles);
  assert.match(many.ended.join('\n'), /^\/tmp is full: it holds 3\d of 25 files/);
});

test('a limit is what may be held', () => {
  const limits = { bytes: 10, files: 3 };
  assert.equal(temporaryExcess(limits, { bytes: 10, inodes: 3 }), undefined);
  assert.match(temporaryExcess(limits, { bytes: 11, inodes: 3 }) ?? '', /holds 11 of 10 bytes/);
  assert.match(temporaryExcess(limits, { bytes: 10, inodes: 4 }) ?? '', /holds 4 of 3 files/);
});
