/**
 * The FUSE server: one thread that reads a request, asks the engine and replies. It sleeps in the kernel between requests, so nothing
 * of it is on Node's event loop; that runs when nothing came for a while, when a signal came, and now and then under load.
 *
 * It must never touch its own mount: it would wait for itself.
 */
import { readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { hasCode } from '../base/errno.js';
import type { FileSystem } from '../vfs/filesystem.js';
import type { Dispatch } from './dispatch.js';
import type { FuseLibrary } from './mount.js';
import { requestBytes } from './wire.js';

export interface Serving {
  readonly descriptor: number;
  readonly library: FuseLibrary;
  readonly dispatch: Dispatch;
  readonly filesystem: FileSystem;
  /** Ends it between two requests. */
  readonly signal: AbortSignal;
}

const idleMilliseconds = 1_000;
const requestsBetweenTurns = 512;

/** Until the mount is gone or the signal aborts. */
export async function serve({ descriptor, library, dispatch, filesystem, signal }: Serving): Promise<void> {
  const request = Buffer.allocUnsafeSlow(requestBytes);
  let served = 0;
  while (!signal.aborted) {
    const ready = library.wait(descriptor, idleMilliseconds);
    if (ready === 0 || ready === -constants.errno.EINTR || served >= requestsBetweenTurns) {
      if (ready === 0) await filesystem.sync();
      served = 0;
      await new Promise((resolve) => setImmediate(resolve));
      if (ready !== 1) continue;
    }
    const length = received(descriptor, request);
    if (length === undefined) return;
    if (length === 0) continue;
    served += 1;
    const answered = dispatch.answer(request, length);
    const reply = answered instanceof Promise ? await answered : answered;
    if (reply !== undefined) send(descriptor, reply);
  }
}

/** 0 where the request was taken back, undefined where nothing is mounted any more. */
function received(descriptor: number, request: Buffer): number | undefined {
  try {
    return readSync(descriptor, request);
  } catch (error) {
    if (hasCode(error, 'ENODEV')) return undefined;
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EINTR') || hasCode(error, 'EAGAIN')) return 0;
    throw error;
  }
}

function send(descriptor: number, reply: Buffer): void {
  try {
    writeSync(descriptor, reply);
  } catch (error) {
    // Whoever asked has been killed meanwhile, or the mount has: the next read says which.
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENODEV')) throw error;
  }
}
