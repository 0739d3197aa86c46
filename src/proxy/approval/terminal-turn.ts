/**
 * One question at a time on a terminal, so that what is typed answers the question that is shown: a lock on the terminal's own
 * device, which ends with the process. The native client takes the same (`native/call`). What runs there could take it too: then
 * nothing is asked at the terminal, and the answer can be given elsewhere.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../base/errno.js';
import { loadFileLock } from '../../base/file-lock.js';
import { approvalLookMilliseconds } from '../../base/limits/decisions.js';
import type { Host } from '../host.js';

export interface Turn {
  end(): void;
}

/** On the terminal that is stderr, where questions are shown; undefined where the signal came first. */
export async function terminalTurn(host: Pick<Host, 'lockLibrary'>, signal: AbortSignal): Promise<Turn | undefined> {
  const lock = loadFileLock(host.lockLibrary, 0, 'terminal');
  // Opened anew: a lock is of an open file, and the others here have stderr open with us. /dev/tty is one for all terminals.
  const path = '/proc/self/fd/2';
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  for (; !signal.aborted; await sleep(approvalLookMilliseconds)) {
    try {
      lock.hold(descriptor, path);
      return { end: () => closeSync(descriptor) };
    } catch (error) {
      if (hasCode(error, 'EAGAIN')) continue;
      closeSync(descriptor);
      throw error;
    }
  }
  closeSync(descriptor);
  return undefined;
}
