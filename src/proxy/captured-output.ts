/** Output kept for the report, up to a limit: endless output costs counting, not memory. */
import type { CapturedStream } from './envelope.js';

export class CapturedOutput {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#limit - this.#kept;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  finish(): CapturedStream {
    const bytes = Buffer.concat(this.#chunks);
    const text = bytes.toString('utf8');
    const exact = Buffer.from(text).equals(bytes);
    return {
      text,
      ...(exact ? {} : { base64: bytes.toString('base64') }),
      bytes: this.#total,
      dropped: this.#total - this.#kept,
    };
  }
}
