/**
 * Serves a tree from Node's own event loop: for a process that has other things to do, and an engine that answers at once, or writes
 * later (`laterWrites`). The process may never wait for whoever uses the tree, nor use it itself.
 */
import { closeSync, readSync, writeSync } from 'node:fs';
import { ErrnoError, hasCode } from '../base/errno.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { Dispatch } from './dispatch.js';
import type { FuseLibrary } from './mount.js';
import type { DispatchOptions } from './operations.js';
import { requestBytes } from './wire.js';

export interface LoopServing extends Omit<DispatchOptions, 'filesystem'> {
  readonly filesystem: FileSystem;
  readonly library: FuseLibrary;
  /** The socket by which a jail hands over the kernel's end; closed here. */
  readonly channel: number;
}

export interface LoopServer {
  /** Closes everything: whoever uses the tree gets ENOTCONN. Once is enough. */
  end(): void;
}

function watched(library: FuseLibrary, descriptor: number, readable: () => void): () => void {
  const stop = library.watch(descriptor, readable);
  if (typeof stop !== 'number') return stop;
  throw new ErrnoError('EIO', { operation: 'serve', reason: `the descriptor cannot be watched (errno ${-stop})` });
}

/** Until the mount is gone, or `end` is called. */
export function serveOnLoop({ filesystem, library, channel, ...options }: LoopServing): LoopServer {
  const dispatch = new Dispatch({ filesystem, ...options });
  let request: Buffer | undefined;
  let closing: (() => void) | undefined;
  const use = (descriptor: number, readable: () => void) => {
    const stop = watched(library, descriptor, readable);
    closing = () => {
      stop();
      closeSync(descriptor);
    };
  };
  const end = () => {
    closing?.();
    closing = undefined;
  };
  /** One request a turn: the loop says when there is another, and nobody else waits for long. */
  const answer = (descriptor: number) => {
    request ??= Buffer.allocUnsafeSlow(requestBytes);
    let length: number;
    try {
      length = readSync(descriptor, request);
    } catch (error) {
      // Taken back, or taken by a signal; anything else is the end of the mount.
      if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EINTR') && !hasCode(error, 'EAGAIN')) end();
      return;
    }
    const reply = dispatch.answer(request, length);
    if (reply instanceof Promise) void reply.then((later) => send(descriptor, later));
    else send(descriptor, reply);
  };
  const send = (descriptor: number, reply: Buffer | undefined) => {
    if (reply === undefined || closing === undefined) return;
    try {
      writeSync(descriptor, reply);
    } catch (error) {
      // Whoever asked has been killed meanwhile.
      if (!hasCode(error, 'ENOENT')) end();
    }
  };
  use(channel, () => {
    const descriptor = library.receive(channel);
    end();
    // A jail that could not be made has said why.
    if (descriptor >= 0) use(descriptor, () => answer(descriptor));
  });
  return { end };
}
