/**
 * SHA-256 of short texts, in plain code. Loading `node:crypto` brings its ciphers, certificates and streams and costs a
 * fifth of a start, which the hook pays for every tool call. For bulk data and for anything secret, `node:crypto` it is.
 */

const blockBytes = 64;

/** The standard's: fractions of the cube roots of the first 64 primes, and of the square roots of the first 8. */
const constants = Int32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2,
);
const initialState = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const;

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The message, a one bit, zeros, and its length in bits, in whole blocks. */
function padded(message: Uint8Array): DataView {
  const size = Math.ceil((message.length + 9) / blockBytes) * blockBytes;
  const bytes = new Uint8Array(size);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(size - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(size - 4, (message.length * 8) >>> 0);
  return view;
}

/** Of a word array that is long enough. */
function at(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}

function schedule(view: DataView, offset: number, words: Int32Array): void {
  for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(offset + index * 4);
  for (let index = 16; index < blockBytes; index += 1) {
    const early = at(words, index - 15);
    const late = at(words, index - 2);
    const low = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const high = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    words[index] = at(words, index - 16) + low + at(words, index - 7) + high;
  }
}

/** Eight registers that turn: register `i` of a round stands at `(i - round) & 7`, so that nothing is moved. */
function compress(state: Int32Array, words: Int32Array): void {
  const turning = state.slice();
  for (let round = 0; round < blockBytes; round += 1) {
    const a = at(turning, -round & 7);
    const b = at(turning, (1 - round) & 7);
    const c = at(turning, (2 - round) & 7);
    const e = at(turning, (4 - round) & 7);
    const f = at(turning, (5 - round) & 7);
    const g = at(turning, (6 - round) & 7);
    const h = (7 - round) & 7;
    const mixed = (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g));
    const first = at(turning, h) + mixed + at(constants, round) + at(words, round);
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    const d = (3 - round) & 7;
    turning[d] = at(turning, d) + first;
    turning[h] = first + second;
  }
  for (let index = 0; index < 8; index += 1) state[index] = at(state, index) + at(turning, index);
}

/** Hexadecimal. */
export function sha256(text: string): string {
  const state = Int32Array.from(initialState);
  const words = new Int32Array(blockBytes);
  const view = padded(Buffer.from(text));
  for (let offset = 0; offset < view.byteLength; offset += blockBytes) {
    schedule(view, offset, words);
    compress(state, words);
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
