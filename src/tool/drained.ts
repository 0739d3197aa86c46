/**
 * Waiting for room in a socket. One wait is shared by all who have more to say: a listener for each would cost the square of their
 * number when the socket drains, and a client decides how many there are.
 */
import type { Socket } from 'node:net';

/** Undefined where there is room, or no one reads any more. */
export function drainedOf(socket: Socket): () => Promise<void> | undefined {
  let draining: Promise<void> | undefined;
  return () => {
    if (socket.destroyed || !socket.writableNeedDrain) return undefined;
    draining ??= new Promise((resolve) => {
      const go = () => {
        socket.off('drain', go).off('close', go);
        draining = undefined;
        resolve();
      };
      socket.on('drain', go).on('close', go);
    });
    return draining;
  };
}
