/** The bytes of one file in memory, in pieces: a hole takes nothing, and a growing file is not copied. */

const pieceBytes = 64 * 1024;
const leastBytes = 512;

export class Content {
  /** By number. A piece may be shorter than it could be: zeros follow. */
  readonly #pieces = new Map<number, Buffer>();
  /** Bytes of memory that it takes. */
  stored = 0;

  read(offset: number, length: number): Buffer {
    const first = Math.floor(offset / pieceBytes);
    const from = offset - first * pieceBytes;
    const one = this.#pieces.get(first);
    // Mostly all of it is in one piece; the copy is the caller's to keep.
    if (one !== undefined && from + length <= one.length) return Buffer.from(one.subarray(from, from + length));
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const number = Math.floor((offset + done) / pieceBytes);
      const within = offset + done - number * pieceBytes;
      const count = Math.min(length - done, pieceBytes - within);
      const piece = this.#pieces.get(number);
      if (piece !== undefined && within < piece.length) piece.copy(bytes, done, within, within + count);
      done += count;
    }
    return bytes;
  }

  write(offset: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const number = Math.floor((offset + done) / pieceBytes);
      const within = offset + done - number * pieceBytes;
      const count = Math.min(bytes.length - done, pieceBytes - within);
      this.#room(number, within + count).set(bytes.subarray(done, done + count), within);
      done += count;
    }
  }

  erase(offset: number, end: number): void {
    const first = Math.floor(offset / pieceBytes);
    const last = Math.floor((end - 1) / pieceBytes);
    // Of a sparse file the pieces are few, of a small one the numbers.
    const numbers =
      last - first > this.#pieces.size
        ? [...this.#pieces.keys()].filter((number) => number >= first && number <= last)
        : Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    for (const number of numbers) {
      const piece = this.#pieces.get(number);
      if (piece === undefined) continue;
      const from = Math.max(0, offset - number * pieceBytes);
      const to = Math.min(pieceBytes, end - number * pieceBytes);
      if (from === 0 && to >= piece.length) {
        this.#pieces.delete(number);
        this.stored -= piece.length;
      } else piece.fill(0, Math.min(from, piece.length), Math.min(to, piece.length));
    }
  }

  seek(offset: number, size: number, wanted: 'data' | 'hole'): number | undefined {
    if (wanted === 'hole') {
      let number = Math.floor(offset / pieceBytes);
      while (this.#pieces.has(number)) number += 1;
      const found = Math.max(offset, number * pieceBytes);
      return found < size ? found : undefined;
    }
    const first = Math.floor(offset / pieceBytes);
    if (this.#pieces.has(first)) return offset;
    let nearest = Number.POSITIVE_INFINITY;
    for (const number of this.#pieces.keys()) if (number > first && number < nearest) nearest = number;
    return nearest * pieceBytes < size ? nearest * pieceBytes : undefined;
  }

  /** The piece with room for so many bytes: doubled as it grows, so that small files stay small. */
  #room(number: number, bytes: number): Buffer {
    const piece = this.#pieces.get(number);
    if (piece !== undefined && piece.length >= bytes) return piece;
    const grown = Buffer.alloc(Math.min(pieceBytes, Math.max(leastBytes, 2 ** Math.ceil(Math.log2(bytes)))));
    piece?.copy(grown);
    this.#pieces.set(number, grown);
    this.stored += grown.length - (piece?.length ?? 0);
    return grown;
  }
}
