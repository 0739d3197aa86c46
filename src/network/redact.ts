/**
 * Hides secrets in a stream, wherever its pieces are cut. Each is overwritten with as many stars, so that lengths stay
 * true; so is every run of eight or more bytes of one, since a part is enough to guess the rest.
 *
 * Nothing but the stars themselves depends on a secret's bytes. The same number of bytes is held back at all times,
 * whatever they are, and `flush`, which the caller's clock asks for, lets go of all of them: a reader who can see
 * sizes and times learns the length of the longest secret and no more. What was let go stays known, so a secret that
 * is cut by a flush is still covered from its eighth byte on.
 */
const star = 0x2a;

/** A run of a secret that is at least this long is covered; shorter ones are too common. */
export const shortestRun = 8;

export class Redactor {
  /** Covered where they stand whole. */
  readonly #whole: readonly Buffer[];
  /** Every `shortestRun` bytes in a row of their words. */
  readonly #runs: ReadonlySet<string>;
  /** Which pairs of bytes begin one of these: nearly all positions are decided by this table. */
  readonly #begins: Uint8Array;
  readonly #heldBytes: number;
  readonly #onRun: (run: string) => void;
  #recent: Buffer = Buffer.alloc(0);
  #covered: Uint8Array = new Uint8Array(0);
  /** The last so many of the recent bytes were not given out yet. */
  #held = 0;
  #run = '';

  /** `onRun` is told each covered run when it has ended, as text; what it throws ends the stream. */
  constructor(texts: readonly string[], onRun: (run: string) => void = () => undefined) {
    this.#whole = [...new Set(texts)].filter((text) => text !== '').map((text) => Buffer.from(text, 'latin1'));
    this.#runs = new Set(texts.flatMap((text) => text.split(' ')).flatMap(runsOf));
    this.#begins = new Uint8Array(0x1_0000);
    for (const run of this.#runs) this.#begins[(run.charCodeAt(0) << 8) | run.charCodeAt(1)] = 1;
    this.#heldBytes = Math.max(0, ...this.#whole.map(({ length }) => length - 1));
    this.#onRun = onRun;
  }

  push(piece: Buffer): Buffer {
    const known = this.#recent.length;
    const bytes = Buffer.concat([this.#recent, piece]);
    const covered = new Uint8Array(bytes.length);
    covered.set(this.#covered);
    this.#cover(bytes, covered);
    const start = known - this.#held;
    const end = Math.max(start, bytes.length - this.#heldBytes);
    const kept = Math.max(0, bytes.length - this.#heldBytes);
    this.#recent = bytes.subarray(kept);
    this.#covered = covered.subarray(kept);
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
    const alone = new Redactor([], this.#onRun);
    const bytes = Buffer.from(latin1, 'latin1');
    const covered = new Uint8Array(bytes.length);
    this.#cover(bytes, covered);
    const out = alone.#out(bytes, covered);
    alone.#endRun();
    return out.toString('latin1');
  }

  #cover(bytes: Buffer, covered: Uint8Array): void {
    for (const whole of this.#whole) {
      for (let at = bytes.indexOf(whole); at >= 0; at = bytes.indexOf(whole, at + 1)) {
        covered.fill(1, at, at + whole.length);
      }
    }
    if (this.#runs.size === 0) return;
    for (let at = 0; at + shortestRun <= bytes.length; at++) {
      if (this.#begins[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] === 0) continue;
      if (this.#runs.has(bytes.toString('latin1', at, at + shortestRun))) covered.fill(1, at, at + shortestRun);
    }
  }

  #out(bytes: Buffer, covered: Uint8Array): Buffer {
    if (this.#run === '' && !covered.includes(1)) return bytes;
    const out = Buffer.from(bytes);
    for (const [at, is] of covered.entries()) {
      if (is === 0) {
        this.#endRun();
      } else {
        this.#run += String.fromCharCode(bytes[at] as number);
        out[at] = star;
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

function runsOf(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - shortestRun + 1) }, (_, at) =>
    text.slice(at, at + shortestRun),
  );
}
