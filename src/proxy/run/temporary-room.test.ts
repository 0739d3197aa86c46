import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupPollMilliseconds } from '../../base/limits/commands.js';
import { nativeProgram } from '../../base/native-program.js';
import { watchTemporary } from './temporary-room.js';

test('a directory that somebody removes meanwhile ends neither the command nor ctx', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-temporary-'));
  const ended: string[] = [];
  const watch = watchTemporary({ directory, treeProgram: nativeProgram('tree'), end: (reason) => ended.push(reason) });
  rmSync(directory, { recursive: true });
  await sleep(2 * groupPollMilliseconds);
  await watch.stop();
  assert.deepEqual(ended, []);
});
