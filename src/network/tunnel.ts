/** Bytes both ways between two sockets, with back-pressure; either side may end its half first. */
import type { Socket } from 'node:net';
import type { BulkReader } from './bulk-reader.js';

/** Closes so that the peer sees an error and not an end: by a reset, where the connection is still there. */
export function breakOff(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

/** Resolves when both are closed. The host was opened with `bulk`: most bytes come from there. */
export function tunnel(client: Socket, host: Socket, bulk: BulkReader, idleMilliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    let open = 2;
    const join = (own: Socket, other: Socket) => {
      const onClose = () => {
        // One that ended its half has said all: the rest goes out. Otherwise half a transfer must not look whole.
        if (own.readableEnded) other.destroySoon();
        else breakOff(other);
        open -= 1;
        if (open === 0) resolve();
      };
      // Whatever is read from one is written to the other: both clocks see both directions.
      own.setTimeout(idleMilliseconds, () => {
        breakOff(own);
        breakOff(other);
      });
      if (own.destroyed) onClose();
      else own.once('close', onClose);
    };
    client.pipe(host);
    bulk.join(host, client);
    join(client, host);
    join(host, client);
  });
}
