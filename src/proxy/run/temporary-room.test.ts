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

/** What a command is ended for that writes `rounds` times so many files of so many bytes. */
async function endedFor(limits: TemporaryLimits, rounds: number, files: number, bytes: number) {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-temporary-'));
  const ended: string[] = [];
  const use = { bytes: 0, inodes: 0 };
  const watch = watchTemporary({
    directory,
    treeProgram: nativeProgram('tree'),
    limits,
    end: (reason) => ended.push(reason),
    inUse: () => ({ ...use }),
  });
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (let file = 0; file < files; file += 1)
        writeFileSync(join(directory, `${round}.${file}`), Buffer.alloc(bytes, 1));
      use.bytes += files * bytes;
      use.inodes += files;
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
  assert.deepEqual(await endedFor({ bytes: 2 * bytes, files: 1000 }, 4, 1, bytes / 4), { meanwhile: 0, ended: [] });
  const over = await endedFor({ bytes, files: 1000 }, 6, 1, bytes / 4);
  assert.deepEqual([over.meanwhile, over.ended.length], [1, 1], over.ended.join('\n'));
  const many = await endedFor({ bytes: 64 * bytes, files: 25 }, 3, 10, 0);
  assert.match(many.ended.join('\n'), /^\/tmp is full: it holds 3\d of 25 files/);
});

test('a limit is what may be held', () => {
  const limits = { bytes: 10, files: 3 };
  assert.equal(temporaryExcess(limits, { bytes: 10, inodes: 3 }), undefined);
  assert.match(temporaryExcess(limits, { bytes: 11, inodes: 3 }) ?? '', /holds 11 of 10 bytes/);
  assert.match(temporaryExcess(limits, { bytes: 10, inodes: 4 }) ?? '', /holds 4 of 3 files/);
});
