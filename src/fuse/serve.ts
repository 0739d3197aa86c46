/**
 * The FUSE server: one thread that reads a request, asks the engine and replies. It sleeps in the kernel between requests, so nothing
 * of it is on Node's event loop; that runs when nothing came for a while, when a signal came, and now and then under load.
 *
 * It must never touch its own mount: it would wait for itself.
 */
import { readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { ErrnoError, hasCode } from '../base/errno.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { Awaited } from './awaited.js';
import type { Dispatch } from './dispatch.js';
import { Invalidation } from './invalidation.js';
import type { FuseLibrary } from './mount.js';
import { replyLength, requestBytes } from './wire.js';

export interface Serving {
  readonly descriptor: number;
  readonly library: FuseLibrary;
  readonly dispatch: Dispatch;
  readonly filesystem: FileSystem;
  /** For so long nothing of this process's own is done while no one asks. */
  readonly idleMilliseconds?: number | undefined;
  /** Ends it between two requests. */
  readonly signal: AbortSignal;
}

const usualIdle = 1_000;
const requestsBetweenTurns = 512;
/** Answers of a remote engine come on the event loop, so the thread sleeps in the kernel for no longer than this while one is awaited. */
const turnMilliseconds = 1;
/** The same while nothing is awaited but locks, which are looked for as often. */
const lockTurnMilliseconds = 10;
/** Of requests that wait for a remote engine; what comes beyond them waits in the kernel. */
const mostAwaited = 64;

/** Until the mount is gone or the signal aborts. */
export async function serve(serving: Serving): Promise<void> {
  const { descriptor, dispatch, filesystem } = serving;
  const invalidation = new Invalidation(descriptor, dispatch.nodes, filesystem);
  // Refusals are answers here, and most are of names that are not there: no one reads where they come from.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await answerAll(serving, invalidation);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    invalidation.end();
  }
}

async function answerAll(serving: Serving, invalidation: Invalidation): Promise<void> {
  const { descriptor, library, dispatch, filesystem, signal, idleMilliseconds = usualIdle } = serving;
  const request = Buffer.allocUnsafeSlow(requestBytes);
  const awaited = new Awaited(dispatch, (reply) => send(descriptor, reply));
  let served = 0;
  /** What answers on the event loop is waited for in short turns. */
  const patience = () => {
    if (awaited.size > awaited.locks || invalidation.pending > 0) return turnMilliseconds;
    return awaited.size > 0 ? lockTurnMilliseconds : idleMilliseconds;
  };
  while (!signal.aborted) {
    const ready = library.wait(descriptor, patience());
    if (ready !== 1 || awaited.size > 0 || invalidation.pending > 0 || served >= requestsBetweenTurns) {
      if (ready === 0 && awaited.size === 0) await syncedWhileIdle(filesystem);
      served = 0;
      await turn();
      if (isPause(ready) || awaited.size - awaited.locks >= mostAwaited) continue;
    }
    const length = received(descriptor, request);
    if (length === undefined) break;
    if (length === 0) continue;
    served += 1;
    if (awaited.size > 0 && awaited.interrupts(request)) continue;
    const mayWait = dispatch.mayWait(request);
    const bytes = mayWait ? Buffer.from(request.subarray(0, length)) : request;
    const answered = dispatch.answer(bytes, length);
    if (!(answered instanceof Promise)) {
      if (answered !== undefined) send(descriptor, answered);
      continue;
    }
    const settled = awaited.add(bytes, answered);
    // What a remote engine knows by itself is answered before the thread sleeps.
    await (mayWait ? turn() : settled);
  }
  await awaited.all();
}

/** One turn of the event loop, with everything that is due in it. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Nothing came, or a signal did; whatever else it is, the next read says. */
function isPause(ready: number): boolean {
  return ready === 0 || ready === -constants.errno.EINTR;
}

/** What cannot be written now stays in memory, and `fsync` or the end says so: no one waits for this one. */
async function syncedWhileIdle(filesystem: FileSystem): Promise<void> {
  try {
    await filesystem.sync();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
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

export function send(descriptor: number, reply: Buffer): void {
  try {
    writeSync(descriptor, reply, 0, replyLength(reply));
  } catch (error) {
    // The caller has been killed meanwhile, or the mount has: the next read says which.
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENODEV')) throw error;
  }
}
