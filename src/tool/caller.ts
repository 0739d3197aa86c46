/** One caller of an object: its connection to the view's socket, from its call to the exit code it is told. */
import type { Socket } from 'node:net';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { viewOutputBytes } from '../base/limits/objects.js';
import { drainedOf } from './drained.js';
import {
  decodeCall,
  type ObjectCall,
  type ObjectFrame,
  ObjectFrames,
  objectContentBytes,
  objectFrame,
  objectKind,
} from './wire.js';

export interface Calling {
  readonly call: ObjectCall;
  /** A caller that has more to say waits for what is returned: a slow reader slows its tool, as in any pipe. */
  print(bytes: Buffer | string): void | Promise<void>;
  printError(bytes: Buffer | string): void | Promise<void>;
  /** Asks the caller's process to do something to a file; one at a time. */
  reach(request: Buffer): Promise<Buffer>;
  /** Told what went wrong, beside the text that is printed. */
  fails?(error: ErrnoError): void;
  /** Aborted when the caller has gone, or reads nothing of what it is told. */
  readonly signal: AbortSignal;
}

/** Answers with the exit code. */
export type Answerer = (calling: Calling) => Promise<number>;

const gone = () => new ErrnoError('EPIPE', { operation: 'call', reason: 'the process that made the call has ended' });

/** Resolves when the connection is over. Never rejects: what a caller does wrong ends its connection. */
export function serveCaller(socket: Socket, answer: Answerer): Promise<void> {
  const ending = new AbortController();
  const frames = new ObjectFrames();
  let calling: Promise<void> | undefined;
  let waiting: { resolve(reply: Buffer): void; reject(error: Error): void } | undefined;

  const drained = drainedOf(socket);

  const send = (kind: 'O' | 'E', bytes: Buffer | string): void | Promise<void> => {
    const all = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
    for (let at = 0; at < all.length && !socket.destroyed; at += objectContentBytes) {
      socket.write(objectFrame(kind, all.subarray(at, at + objectContentBytes)));
    }
    if (socket.writableLength > viewOutputBytes) socket.destroy();
    return drained();
  };

  const begin = async (payload: Buffer): Promise<void> => {
    const code = await answer({
      call: decodeCall(payload),
      print: (bytes) => send(objectKind.output, bytes),
      printError: (bytes) => send(objectKind.error, bytes),
      reach: async (request) => {
        await drained();
        return new Promise((resolve, reject) => {
          if (ending.signal.aborted) return reject(gone());
          waiting = { resolve, reject };
          socket.write(objectFrame(objectKind.file, request));
        });
      },
      signal: ending.signal,
    });
    if (!socket.destroyed) socket.end(objectFrame(objectKind.exit, Buffer.from([code])));
  };

  const take = ({ kind, payload }: ObjectFrame) => {
    if (kind === objectKind.call && calling === undefined) {
      calling = begin(Buffer.from(payload)).catch(() => {
        if (!socket.destroyed) socket.end(objectFrame(objectKind.exit, Buffer.from([ExitCode.internal])));
      });
      return;
    }
    const asked = waiting;
    if (kind !== objectKind.done || asked === undefined) return void socket.destroy();
    waiting = undefined;
    asked.resolve(Buffer.from(payload));
  };

  socket.on('data', (chunk) => {
    try {
      for (const frame of frames.push(chunk)) take(frame);
    } catch {
      socket.destroy(); // no frame: not a client of ours
    }
  });
  socket.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('close', () => {
      ending.abort();
      waiting?.reject(gone());
      void Promise.resolve(calling).then(() => resolve());
    });
  });
}
