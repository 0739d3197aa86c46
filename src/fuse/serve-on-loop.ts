/**
 * Serves a tree from Node's own event loop: for a process that has other things to do, and an engine that answers at
 * once. The process may never wait for the process that uses the tree, nor use it itself.
 */
import { closeSync, readSync, writeSync } from 'node:fs';
import { ErrnoError, hasCode } from '../base/errno.js';
import type { Answer } from '../vfs/answer.js';
import type { FuseLibrary } from './fuse-library.js';
import { initReply } from './init-reply.js';
import { opcodes, replyLength, requestBytes } from './wire.js';

/** One takes some 30 us. */
const requestsInTurn = 32;

/** What answers requests, each at once. */
export interface LoopDispatch {
  answer(request: Buffer, length: number): Answer<Buffer | undefined>;
}

export interface LoopServing {
  readonly library: FuseLibrary;
  /** The socket by which a jail hands over the kernel's end; closed here. */
  readonly channel: number;
  /** Made for the first request that looks into the tree: most mounts are never looked into. What it rejects with ends the mount. */
  dispatch(): Promise<LoopDispatch>;
}

export interface LoopServer {
  /** Closes everything: the process that uses the tree gets ENOTCONN. Once is enough. */
  end(): void;
}

function watched(library: FuseLibrary, descriptor: number, readable: () => void): () => void {
  const stop = library.watch(descriptor, readable);
  if (typeof stop !== 'number') return stop;
  throw new ErrnoError('EIO', { operation: 'serve', reason: `the descriptor cannot be watched (errno ${-stop})` });
}

/** Until the mount is gone, or `end` is called. The tree is one that others change, and whose locks are the kernel's. */
export function serveOnLoop({ library, channel, dispatch }: LoopServing): LoopServer {
  let request: Buffer | undefined;
  let made: LoopDispatch | undefined;
  let descriptor = channel;
  let stop: (() => void) | undefined;
  let isOver = false;
  const pause = () => {
    stop?.();
    stop = undefined;
  };
  const end = () => {
    if (isOver) return;
    isOver = true;
    pause();
    closeSync(descriptor);
  };
  const send = (answer: Buffer | undefined) => {
    if (answer === undefined || isOver) return;
    try {
      writeSync(descriptor, answer, 0, replyLength(answer));
    } catch (error) {
      // The caller has been killed meanwhile.
      if (!hasCode(error, 'ENOENT')) end();
    }
  };
  const reply = (to: LoopDispatch, bytes: Buffer, length: number) => {
    const answer = to.answer(bytes, length);
    if (answer instanceof Promise) void answer.then(send);
    else send(answer);
  };
  /** Nothing else is read until it is there: the kernel keeps what comes. */
  const answerFirst = async (bytes: Buffer, length: number) => {
    pause();
    try {
      made = await dispatch();
    } catch (error) {
      end();
      if (!(error instanceof ErrnoError)) throw error;
      return;
    }
    if (isOver) return;
    reply(made, bytes, length);
    if (!isOver) stop = watched(library, descriptor, serve);
  };
  /** Those that follow at once, too: a turn of the loop for each would cost more than most of them. No one else waits for long. */
  const serve = () => {
    for (let count = 0; count < requestsInTurn; count += 1) {
      serveOne();
      if (isOver || stop === undefined || library.wait(descriptor, 0) !== 1) return;
    }
  };
  const serveOne = () => {
    request ??= Buffer.allocUnsafeSlow(requestBytes);
    let length: number;
    try {
      length = readSync(descriptor, request);
    } catch (error) {
      // Taken back, or taken by a signal; anything else is the end of the mount.
      if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EINTR') && !hasCode(error, 'EAGAIN')) end();
      return;
    }
    if (made !== undefined) return reply(made, request, length);
    if (request.readUInt32LE(4) === opcodes.init) {
      return send(initReply(request, { shared: true, servesLocks: false, truncates: true, keepsNames: false }));
    }
    void answerFirst(request, length);
  };
  const take = () => {
    const received = library.receive(channel);
    pause();
    closeSync(channel);
    // A jail that could not be made has said why.
    isOver = received < 0;
    if (isOver) return;
    descriptor = received;
    stop = watched(library, descriptor, serve);
  };
  try {
    stop = watched(library, channel, take);
  } catch (error) {
    closeSync(channel);
    throw error;
  }
  return { end };
}
