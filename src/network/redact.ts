/**
 * Hides given texts in a stream, wherever its pieces are cut. Each is overwritten with as many stars, so that lengths
 * stay true. Only what could be the beginning of one is held back: a stream of events flows on.
 */
const star = 0x2a;

export class Redactor {
  readonly #patterns: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);

  constructor(texts: readonly string[]) {
    this.#patterns = [...new Set(texts)].filter((text) => text !== '').map((text) => Buffer.from(text, 'latin1'));
  }

  push(piece: Buffer): Buffer {
    const bytes = Buffer.concat([this.#held, piece]);
    this.#cover(bytes);
    const kept = bytes.length - this.#beginning(bytes);
    this.#held = bytes.subarray(kept);
    return bytes.subarray(0, kept);
  }

  /** What was held back: the stream ended before it became more than a beginning. */
  finish(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  text(latin1: string): string {
    const bytes = Buffer.from(latin1, 'latin1');
    this.#cover(bytes);
    return bytes.toString('latin1');
  }

  #cover(bytes: Buffer): void {
    // All are found before any is covered: one may be a part of another.
    const found = this.#patterns.flatMap((pattern) => occurrences(bytes, pattern));
    for (const [from, to] of found) bytes.fill(star, from, to);
  }

  /** How many last bytes could be the beginning of a pattern. */
  #beginning(bytes: Buffer): number {
    return Math.max(0, ...this.#patterns.map((pattern) => overlap(bytes, pattern)));
  }
}

function occurrences(bytes: Buffer, pattern: Buffer): [number, number][] {
  const found: [number, number][] = [];
  for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1))
    found.push([at, at + pattern.length]);
  return found;
}

function overlap(bytes: Buffer, pattern: Buffer): number {
  for (let length = Math.min(pattern.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(pattern.subarray(0, length))) return length;
  }
  return 0;
}
