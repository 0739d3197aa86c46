/**
 * Reads a socket into one buffer and writes from there to another: of a tunnel nothing is looked at, so nothing has to be kept.
 * A stream would allocate every piece anew, a quarter of this size.
 */
import type { Socket } from 'node:net';
import { networkBulkBytes, networkFirstBulkBytes } from '../base/limits/network.js';

export class BulkReader {
  #buffer = Buffer.allocUnsafeSlow(networkFirstBulkBytes);
  #source: Socket | undefined;
  #sink: Socket | undefined;
  #last = 0;
  #isWaiting = false;
  /** The first buffer was filled by one read. */
  #isFull = false;

  /** For `connect`, together with `pause`: reading starts with `join`. */
  readonly onread = {
    // Asked for before each read. Most connections carry little: one that fills its buffer gets a large one.
    buffer: (): Buffer => {
      if (this.#isFull) this.#buffer = Buffer.allocUnsafeSlow(networkBulkBytes);
      this.#isFull = false;
      return this.#buffer;
    },
    callback: (bytes: number): boolean => this.#take(bytes),
  };

  join(source: Socket, sink: Socket): void {
    this.#source = source;
    this.#sink = sink;
    source.once('end', () => sink.end());
    source.resume();
  }

  /** False pauses the source: the buffer is in use until the sink has taken all of it. */
  #take(bytes: number): boolean {
    const sink = this.#sink;
    if (sink === undefined || sink.destroyed || sink.writableEnded) return true;
    this.#isFull = bytes === networkFirstBulkBytes && this.#buffer.length === bytes;
    this.#last += 1;
    const mine = this.#last;
    sink.write(this.#buffer.subarray(0, bytes), () => {
      // Earlier ones were taken at once, and say so late.
      if (!this.#isWaiting || mine !== this.#last) return;
      this.#isWaiting = false;
      this.#source?.resume();
    });
    this.#isWaiting = sink.writableLength > 0;
    return !this.#isWaiting;
  }
}
