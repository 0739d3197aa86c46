/**
 * One set-up at a time in a checkout.
 *
 * The lock is the kernel's: `flock` locks the open file that this process shares with it and exits; the lock stays with
 * our descriptor. It ends with this process however that ends, so there is no stale lock to detect and none to break.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { dist } from './checkout.mjs';
import { SetupFailure, unavailable } from './failure.mjs';
import { say } from './progress.mjs';

export async function withLock(work) {
  const descriptor = openLockFile();
  try {
    if (!flock(descriptor, '--nonblock')) {
      say('waiting for another set-up of this checkout to finish');
      if (!flock(descriptor)) throw new SetupFailure('interrupted while waiting for another set-up of this checkout.');
    }
    return await work();
  } finally {
    closeSync(descriptor);
  }
}

function openLockFile() {
  try {
    mkdirSync(dist, { recursive: true });
    return openSync(join(dist, '.lock'), 'a');
  } catch (error) {
    throw new SetupFailure(
      `something has to be built, but ${dist} cannot be written: ${error.message}\n` +
        'Run `npm run setup` as the owner of this checkout, or use a clone of your own.',
      unavailable,
    );
  }
}

function flock(descriptor, ...options) {
  const result = spawnSync('flock', [...options, '3'], { stdio: ['ignore', 'ignore', 'inherit', descriptor] });
  if (result.error) {
    throw new SetupFailure(`flock cannot be run (${result.error.message}): install util-linux.`, unavailable);
  }
  return result.status === 0;
}
