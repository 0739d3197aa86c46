/**
 * Hides secrets in a stream, wherever its pieces are cut. Each is overwritten with as many stars, so that lengths stay
 * true; so is every run of eight or more bytes of one, since a part is enough to guess the rest.
 *
 * Nothing but the stars themselves depends on a secret's bytes. The same number of bytes is held back at all times,
 * whatever they are, and `flush`, which the caller's clock asks for, lets go of all of them: a reader who can see
 * sizes and times learns the length of the longest secret and no more. What was let go stays known, so a secret that
 * is cut by a flush is still covered from its eighth byte on.
 */
import type { SecretSearch } from './secret-search.js';

const star = 0x2a;

const nothing = new Uint8Array(0);

export class Redactor {
  readonly #search: SecretSearch;
  readonly #heldBytes: number;
  readonly #onRun: (run: string) => void;
  #recent: Buffer = Buffer.alloc(0);
  /** Which of the recent bytes are to be covered; empty where none is. */
  #covered: Uint8Array = nothing;
  /** The last so many of the recent bytes were not given out yet. */
  #held = 0;
  #run = '';

  /** `onRun` is told each covered run when it has ended, as text; what it throws ends the stream. */
  constructor(search: SecretSearch, onRun: (run: string) => void = () => undefined) {
    this.#search = search;
    this.#heldBytes = Math.max(0, search.longest - 1);
    this.#onRun = onRun;
  }

  push(piece: Buffer): Buffer {
    const known = this.#recent.length;
    const bytes = Buffer.concat([this.#recent, piece]);
    const covered = this.#cover(bytes, this.#covered);
    const start = known - this.#held;
    const end = Math.max(start, bytes.length - this.#heldBytes);
    const kept = Math.max(0, bytes.length - this.#heldBytes);
    this.#recent = bytes.subarray(kept);
    const later = covered.subarray(kept);
    this.#covered = later.includes(1) ? later : nothing;
    this.#held = bytes.length - end;
    return this.#out(bytes.subarray(start, end), covered.subarray(start, end));
  }

  /** What is held back, for a reader who has waited long enough. */
  flush(): Buffer {
    const start = this.#recent.length - this.#held;
    this.#held = 0;
    return this.#out(this.#recent.subarray(start), this.#covered.subarray(start));
  }

  /** The stream has ended. */
  finish(): Buffer {
    const rest = this.flush();
    this.#endRun();
    return rest;
  }

  /** A text by itself, which is no part of the stream. */
  text(latin1: string): string {
    const alone = new Redactor(this.#search, this.#onRun);
    const bytes = Buffer.from(latin1, 'latin1');
    const out = alone.#out(bytes, alone.#cover(bytes, nothing));
    alone.#endRun();
    return out.toString('latin1');
  }

  #cover(bytes: Buffer, before: Uint8Array): Uint8Array {
    let covered = before;
    if (before.length > 0) {
      covered = new Uint8Array(bytes.length);
      covered.set(before);
    }
    this.#search.find(bytes, (start, end) => {
      if (covered.length === 0) covered = new Uint8Array(bytes.length);
      covered.fill(1, start, end);
    });
    return covered;
  }

  #out(bytes: Buffer, covered: Uint8Array): Buffer {
    if (this.#run === '' && !covered.includes(1)) return bytes;
    const out = Buffer.from(bytes);
    for (let at = 0; at < bytes.length; at++) {
      if (covered[at] === 1) {
        this.#run += String.fromCharCode(bytes[at] as number);
        out[at] = star;
      } else {
        this.#endRun();
      }
    }
    return out;
  }

  #endRun(): void {
    if (this.#run === '') return;
    const run = this.#run;
    this.#run = '';
    this.#onRun(run);
  }
}
