/** Takes a mount of ours away, and waits for its server: what was written is durable when this returns. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../base/clock.js';
import { ErrnoError } from '../base/errno.js';
import { systemPath } from '../base/system-programs.js';
import { mountsAt, notStarted } from './mount.js';

const serverEndMilliseconds = 60_000;
const lookMilliseconds = 10;

/** The path is not resolved: that would ask the server, which may be gone. */
export async function unmount(directory: string): Promise<void> {
  const path = resolve(directory);
  const mounted = mountsAt(path).at(-1);
  if (mounted?.server === undefined) {
    const reason =
      mounted === undefined ? 'nothing is mounted there' : `${mounted.type} is mounted there, but not by ctx`;
    throw new ErrnoError('EINVAL', { operation: 'unmount', path: directory, reason });
  }
  const { status, stderr, error } = spawnSync('fusermount3', ['-u', '--', path], {
    encoding: 'utf8',
    env: { PATH: systemPath },
  });
  if (error !== undefined) throw notStarted('unmount', error);
  if (status !== 0) {
    const busy = /busy/.test(stderr);
    throw new ErrnoError(busy ? 'EBUSY' : 'EPERM', {
      operation: 'unmount',
      path: directory,
      reason: busy ? 'it is in use: files are open, or it is the working directory of a process' : stderr.trim(),
      remedy: busy ? 'close them (fuser -vm DIR lists who has them), then try again' : undefined,
    });
  }
  await ended(mounted.server, directory);
}

async function ended(server: number, directory: string): Promise<void> {
  const deadline = monotonic() + serverEndMilliseconds;
  while (isAlive(server)) {
    if (monotonic() > deadline) {
      const reason = `it is unmounted, but its server (process ${server}) has not ended`;
      throw new ErrnoError('ETIMEDOUT', { operation: 'unmount', path: directory, reason });
    }
    await sleep(lookMilliseconds);
  }
}

/** One that has ended and waits to be collected writes nothing any more. */
function isAlive(process: number): boolean {
  if (!existsSync(`/proc/${process}`)) return false;
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false; // It has ended since.
  }
}
