/**
 * BLAKE3 in plain code, for records: a few hundred bytes at a time. A WebAssembly module would have to be compiled at every
 * start, which costs more than a command's few records do; `npm run bench -- audit` has the comparison. Plain hash mode,
 * 32 bytes out; checked against the published vectors.
 */

const blockBytes = 64;
const chunkBytes = 1024;
export const digestBytes = 32;

const chunkStart = 1;
const chunkEnd = 2;
const parent = 4;
const root = 8;

/** Of an array that is long enough. */
function at(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}

function begin(value: Int32Array, to: number): void {
  value[to] = 0x6a09e667;
  value[to + 1] = 0xbb67ae85;
  value[to + 2] = 0x3c6ef372;
  value[to + 3] = 0xa54ff53a;
  value[to + 4] = 0x510e527f;
  value[to + 5] = 0x9b05688c;
  value[to + 6] = 0x1f83d9ab;
  value[to + 7] = 0x5be0cd19;
}

/** One block of `message` (16 words from `from`) into the eight words of `value` at `to`. Registers are locals: this is all the cost. */
function compress(
  value: Int32Array,
  to: number,
  message: Int32Array,
  from: number,
  counter: number,
  length: number,
  flags: number,
): void {
  let m0 = at(message, from);
  let m1 = at(message, from + 1);
  let m2 = at(message, from + 2);
  let m3 = at(message, from + 3);
  let m4 = at(message, from + 4);
  let m5 = at(message, from + 5);
  let m6 = at(message, from + 6);
  let m7 = at(message, from + 7);
  let m8 = at(message, from + 8);
  let m9 = at(message, from + 9);
  let m10 = at(message, from + 10);
  let m11 = at(message, from + 11);
  let m12 = at(message, from + 12);
  let m13 = at(message, from + 13);
  let m14 = at(message, from + 14);
  let m15 = at(message, from + 15);
  let v0 = at(value, to);
  let v1 = at(value, to + 1);
  let v2 = at(value, to + 2);
  let v3 = at(value, to + 3);
  let v4 = at(value, to + 4);
  let v5 = at(value, to + 5);
  let v6 = at(value, to + 6);
  let v7 = at(value, to + 7);
  let v8 = 0x6a09e667;
  let v9 = 0xbb67ae85 | 0;
  let v10 = 0x3c6ef372;
  let v11 = 0xa54ff53a | 0;
  let v12 = counter | 0;
  let v13 = (counter / 0x1_0000_0000) | 0;
  let v14 = length | 0;
  let v15 = flags | 0;
  for (let round = 0; ; round += 1) {
    v0 = (v0 + v4 + m0) | 0;
    v12 ^= v0;
    v12 = (v12 >>> 16) | (v12 << 16);
    v8 = (v8 + v12) | 0;
    v4 ^= v8;
    v4 = (v4 >>> 12) | (v4 << 20);
    v0 = (v0 + v4 + m1) | 0;
    v12 ^= v0;
    v12 = (v12 >>> 8) | (v12 << 24);
    v8 = (v8 + v12) | 0;
    v4 ^= v8;
    v4 = (v4 >>> 7) | (v4 << 25);
    v1 = (v1 + v5 + m2) | 0;
    v13 ^= v1;
    v13 = (v13 >>> 16) | (v13 << 16);
    v9 = (v9 + v13) | 0;
    v5 ^= v9;
    v5 = (v5 >>> 12) | (v5 << 20);
    v1 = (v1 + v5 + m3) | 0;
    v13 ^= v1;
    v13 = (v13 >>> 8) | (v13 << 24);
    v9 = (v9 + v13) | 0;
    v5 ^= v9;
    v5 = (v5 >>> 7) | (v5 << 25);
    v2 = (v2 + v6 + m4) | 0;
    v14 ^= v2;
    v14 = (v14 >>> 16) | (v14 << 16);
    v10 = (v10 + v14) | 0;
    v6 ^= v10;
    v6 = (v6 >>> 12) | (v6 << 20);
    v2 = (v2 + v6 + m5) | 0;
    v14 ^= v2;
    v14 = (v14 >>> 8) | (v14 << 24);
    v10 = (v10 + v14) | 0;
    v6 ^= v10;
    v6 = (v6 >>> 7) | (v6 << 25);
    v3 = (v3 + v7 + m6) | 0;
    v15 ^= v3;
    v15 = (v15 >>> 16) | (v15 << 16);
    v11 = (v11 + v15) | 0;
    v7 ^= v11;
    v7 = (v7 >>> 12) | (v7 << 20);
    v3 = (v3 + v7 + m7) | 0;
    v15 ^= v3;
    v15 = (v15 >>> 8) | (v15 << 24);
    v11 = (v11 + v15) | 0;
    v7 ^= v11;
    v7 = (v7 >>> 7) | (v7 << 25);
    v0 = (v0 + v5 + m8) | 0;
    v15 ^= v0;
    v15 = (v15 >>> 16) | (v15 << 16);
    v10 = (v10 + v15) | 0;
    v5 ^= v10;
    v5 = (v5 >>> 12) | (v5 << 20);
    v0 = (v0 + v5 + m9) | 0;
    v15 ^= v0;
    v15 = (v15 >>> 8) | (v15 << 24);
    v10 = (v10 + v15) | 0;
    v5 ^= v10;
    v5 = (v5 >>> 7) | (v5 << 25);
    v1 = (v1 + v6 + m10) | 0;
    v12 ^= v1;
    v12 = (v12 >>> 16) | (v12 << 16);
    v11 = (v11 + v12) | 0;
    v6 ^= v11;
    v6 = (v6 >>> 12) | (v6 << 20);
    v1 = (v1 + v6 + m11) | 0;
    v12 ^= v1;
    v12 = (v12 >>> 8) | (v12 << 24);
    v11 = (v11 + v12) | 0;
    v6 ^= v11;
    v6 = (v6 >>> 7) | (v6 << 25);
    v2 = (v2 + v7 + m12) | 0;
    v13 ^= v2;
    v13 = (v13 >>> 16) | (v13 << 16);
    v8 = (v8 + v13) | 0;
    v7 ^= v8;
    v7 = (v7 >>> 12) | (v7 << 20);
    v2 = (v2 + v7 + m13) | 0;
    v13 ^= v2;
    v13 = (v13 >>> 8) | (v13 << 24);
    v8 = (v8 + v13) | 0;
    v7 ^= v8;
    v7 = (v7 >>> 7) | (v7 << 25);
    v3 = (v3 + v4 + m14) | 0;
    v14 ^= v3;
    v14 = (v14 >>> 16) | (v14 << 16);
    v9 = (v9 + v14) | 0;
    v4 ^= v9;
    v4 = (v4 >>> 12) | (v4 << 20);
    v3 = (v3 + v4 + m15) | 0;
    v14 ^= v3;
    v14 = (v14 >>> 8) | (v14 << 24);
    v9 = (v9 + v14) | 0;
    v4 ^= v9;
    v4 = (v4 >>> 7) | (v4 << 25);
    if (round === 6) break;
    // The words change places between rounds: 2 6 3 10 7 0 4 13 1 11 12 5 9 14 15 8.
    const first = m0;
    m0 = m2;
    m2 = m3;
    m3 = m10;
    m10 = m12;
    m12 = m9;
    m9 = m11;
    m11 = m5;
    m5 = first;
    const second = m1;
    m1 = m6;
    m6 = m4;
    m4 = m7;
    m7 = m13;
    m13 = m14;
    m14 = m15;
    m15 = m8;
    m8 = second;
  }
  value[to] = v0 ^ v8;
  value[to + 1] = v1 ^ v9;
  value[to + 2] = v2 ^ v10;
  value[to + 3] = v3 ^ v11;
  value[to + 4] = v4 ^ v12;
  value[to + 5] = v5 ^ v13;
  value[to + 6] = v6 ^ v14;
  value[to + 7] = v7 ^ v15;
}

/**
 * Holds its working memory, so that hashing a record allocates nothing: write into `room(length)`, then ask for its digest.
 * Little-endian hosts only, as all of ours are.
 */
export class Blake3 {
  #words = new Int32Array(1024);
  #input = Buffer.from(this.#words.buffer);
  /** Chaining values of subtrees that wait for their right neighbour, eight words a level. */
  readonly #values = new Int32Array(8 * 56);
  readonly #result = Buffer.from(this.#values.buffer, 0, digestBytes);
  readonly #pair = new Int32Array(blockBytes / 4);

  /** Where to write what is hashed next; what was written before stays where the room was large enough already. */
  room(length: number): Buffer {
    if (this.#input.length < length + blockBytes) {
      const before = this.#input;
      this.#words = new Int32Array(2 ** Math.ceil(Math.log2(length + blockBytes)) / 4);
      this.#input = Buffer.from(this.#words.buffer);
      this.#input.set(before);
    }
    return this.#input;
  }

  /** Of the first `length` bytes of the room. The result is overwritten by the next call: copy it to keep it. */
  digestRoom(length: number): Buffer {
    this.#input.fill(0, length, length + blockBytes);
    this.#subtree(0, length, 0, root);
    return this.#result;
  }

  /**
   * Of `first` (32 bytes) and of the bytes of `view` from `from` to `end`: eight words, overwritten by the next call.
   * For code that hashes pieces of something large, each behind the digest before it: takes words from where they are,
   * aligned or not.
   */
  digestBehind(first: Int32Array, view: DataView, from: number, end: number): Int32Array {
    const length = digestBytes + end - from;
    this.room(length);
    const words = this.#words;
    for (let index = 0; index < digestBytes / 4; index += 1) words[index] = at(first, index);
    let to = digestBytes / 4;
    let offset = from;
    for (; offset + 4 <= end; offset += 4, to += 1) words[to] = view.getInt32(offset, true);
    let rest = 0;
    for (let index = end - 1; index >= offset; index -= 1) rest = (rest << 8) | view.getUint8(index);
    words[to] = rest;
    const blockEnd = (length + blockBytes) >>> 2;
    for (to += 1; to < blockEnd; to += 1) words[to] = 0;
    this.#subtree(0, length, 0, root);
    return this.#values;
  }

  digest(bytes: Uint8Array): Buffer {
    this.room(bytes.length).set(bytes);
    return this.digestRoom(bytes.length);
  }

  /** As `digest`, in hexadecimal. */
  hex(bytes: Uint8Array): string {
    return this.digest(bytes).toString('hex');
  }

  /** The chaining value of a subtree to `level`; its right half uses the levels above. */
  #subtree(from: number, end: number, level: number, flags: number): void {
    if (end - from <= chunkBytes) {
      this.#chunk(from, end, level, flags);
      return;
    }
    // The left half is the largest power of two of whole chunks that leaves something for the right.
    let left = chunkBytes;
    while (left * 2 < end - from) left *= 2;
    this.#subtree(from, from + left, level, 0);
    this.#subtree(from + left, end, level + 1, 0);
    const to = level * 8;
    this.#pair.set(this.#values.subarray(to, to + 16));
    begin(this.#values, to);
    compress(this.#values, to, this.#pair, 0, 0, blockBytes, parent | flags);
  }

  #chunk(from: number, end: number, level: number, flags: number): void {
    const to = level * 8;
    const values = this.#values;
    const words = this.#words;
    const counter = from / chunkBytes;
    begin(values, to);
    let start = chunkStart;
    let offset = from;
    for (; end - offset > blockBytes; offset += blockBytes) {
      compress(values, to, words, offset >>> 2, counter, blockBytes, start);
      start = 0;
    }
    // A last block that is not whole is followed by zeros only where it is the input's end, and it is nowhere else.
    compress(values, to, words, offset >>> 2, counter, end - offset, start | chunkEnd | flags);
  }
}
