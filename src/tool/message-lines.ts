/** Lines of JSON out of a stream's pieces, each bounded. A line that is longer is EFBIG, and nothing of it is kept. Pure. */
import { ErrnoError } from '../base/errno.js';

const lineFeed = 0x0a;

export class MessageLines {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  *push(chunk: Buffer): Iterable<Buffer> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      const line =
        this.#pieces.length === 1 && this.#pieces[0] !== undefined ? this.#pieces[0] : Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#length = 0;
      start = end + 1;
      yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#most) {
      const reason = `it sent a message of more than ${this.#most} bytes`;
      throw new ErrnoError('EFBIG', { operation: 'message', reason });
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }
}
