/**
 * Finds secrets in bytes, in a time that does not depend on theirs: a jail that has a host send back what it likes can
 * measure how long it takes. A search that looks closer where a text begins like the one it seeks shows by its time how
 * it begins, and then how it goes on.
 *
 * So every position costs the same: a hash of the eight bytes that end there, by a key that is drawn for each search, and
 * one look into a table of the hashes that are sought. It looks closer where eight bytes are those of a secret, which
 * the stars over them show anyway.
 */
import { randomFillSync } from 'node:crypto';

/** A run of a secret that is at least this long is covered; shorter ones are too common. */
export const shortestRun = 8;

/** Each step moves the hash so far: after `shortestRun` steps a byte has left its 32 bits. */
const stepBits = 32 / shortestRun;

/** Places for the hashes of few runs, near to the processor, and for many: at most one in a hundred or so is taken. */
const fewRuns = 128;
const fewBits = 14;
const manyBits = 20;

/** A text that has a run: where it stands as a whole, that run is at this offset. */
interface Anchored {
  readonly text: Buffer;
  readonly offset: number;
}

/** A text without any: found by the hash of all of its bytes. */
interface Short {
  readonly text: Buffer;
  readonly hash: number;
  /** What a byte has become in the hash when it leaves the window. */
  readonly leaving: number;
}

export class SecretSearch {
  /** The length of the longest text. */
  readonly longest: number;
  /** Every `shortestRun` bytes in a row of a word of theirs, and the texts that it is the first run of. */
  readonly #runs = new Map<string, Anchored[]>();
  readonly #short: readonly Short[];
  /** What each byte adds to a hash. */
  readonly #key = new Int32Array(256);
  /** Each at the place that its upper bits name, or at the next one that is free: zero. */
  readonly #hashes: Int32Array;
  readonly #shift: number;

  constructor(texts: readonly string[]) {
    const whole = [...new Set(texts)].filter((text) => text !== '');
    this.longest = Math.max(0, ...whole.map(({ length }) => length));
    for (const run of whole.flatMap((text) => text.split(' ')).flatMap(runsOf)) this.#runs.set(run, []);
    const short: Short[] = [];
    for (const text of whole) {
      const [run] = text.split(' ').flatMap(runsOf);
      if (run === undefined) short.push(shortText(text));
      else if (text.includes(' '))
        this.#runs.get(run)?.push({ text: Buffer.from(text, 'latin1'), offset: text.indexOf(run) });
    }
    this.#short = short;
    const bits = this.#runs.size <= fewRuns ? fewBits : manyBits;
    this.#shift = 32 - bits;
    this.#hashes = new Int32Array(2 ** bits);
    this.#fill();
  }

  /** Calls back with the borders of everything that is to be covered, in no order. */
  find(bytes: Buffer, found: (start: number, end: number) => void): void {
    if (this.#runs.size > 0) this.#findRuns(bytes, found);
    for (const short of this.#short) findShort(bytes, short, found);
  }

  #findRuns(bytes: Buffer, found: (start: number, end: number) => void): void {
    // Names of its own for what each step needs, and four steps at once: the loop takes twice as long without.
    const [key, hashes, shift, length] = [this.#key, this.#hashes, this.#shift, bytes.length];
    let last = 0;
    let at = 0;
    for (; at + 4 <= length; at += 4) {
      const first = ((last << stepBits) + (key[bytes[at] as number] as number)) | 0;
      const second = ((first << stepBits) + (key[bytes[at + 1] as number] as number)) | 0;
      const third = ((second << stepBits) + (key[bytes[at + 2] as number] as number)) | 0;
      last = ((third << stepBits) + (key[bytes[at + 3] as number] as number)) | 0;
      const taken =
        (hashes[first >>> shift] as number) |
        (hashes[second >>> shift] as number) |
        (hashes[third >>> shift] as number) |
        (hashes[last >>> shift] as number);
      if (taken === 0) continue;
      if (this.#isSought(first)) this.#lookCloser(bytes, at + 1, found);
      if (this.#isSought(second)) this.#lookCloser(bytes, at + 2, found);
      if (this.#isSought(third)) this.#lookCloser(bytes, at + 3, found);
      if (this.#isSought(last)) this.#lookCloser(bytes, at + 4, found);
    }
    for (; at < length; at++) {
      last = ((last << stepBits) + (key[bytes[at] as number] as number)) | 0;
      if (this.#isSought(last)) this.#lookCloser(bytes, at + 1, found);
    }
  }

  #fill(): void {
    let sought: Set<number>;
    do {
      randomFillSync(this.#key);
      sought = new Set(Array.from(this.#runs.keys(), (run) => this.#hashOf(run)));
      // Zero means that a place is free.
    } while (sought.has(0));
    for (const hash of sought) this.#hashes[this.#placeOf(hash)] = hash;
  }

  #hashOf(run: string): number {
    return Buffer.from(run, 'latin1').reduce((hash, byte) => ((hash << stepBits) + (this.#key[byte] as number)) | 0, 0);
  }

  #isSought(hash: number): boolean {
    return this.#hashes[this.#placeOf(hash)] === hash;
  }

  /** Where it is, or would be. */
  #placeOf(hash: number): number {
    let place = hash >>> this.#shift;
    while (this.#hashes[place] !== 0 && this.#hashes[place] !== hash) place = (place + 1) % this.#hashes.length;
    return place;
  }

  #lookCloser(bytes: Buffer, end: number, found: (start: number, end: number) => void): void {
    const start = end - shortestRun;
    const anchored = start < 0 ? undefined : this.#runs.get(bytes.toString('latin1', start, end));
    if (anchored === undefined) return;
    found(start, end);
    for (const { text, offset } of anchored) {
      const from = start - offset;
      if (from >= 0 && text.equals(bytes.subarray(from, from + text.length))) found(from, from + text.length);
    }
  }
}

function runsOf(word: string): string[] {
  return Array.from({ length: Math.max(0, word.length - shortestRun + 1) }, (_, at) =>
    word.slice(at, at + shortestRun),
  );
}

/** Odd, so that no byte is lost by multiplying. */
const factor = (randomFillSync(new Int32Array(1))[0] ?? 0) | 1;

function shortText(latin1: string): Short {
  const text = Buffer.from(latin1, 'latin1');
  let hash = 0;
  let leaving = 1;
  for (const byte of text) {
    hash = (Math.imul(hash, factor) + byte) | 0;
    leaving = Math.imul(leaving, factor);
  }
  return { text, hash, leaving };
}

function findShort(
  bytes: Buffer,
  { text, hash: wanted, leaving }: Short,
  found: (start: number, end: number) => void,
): void {
  let hash = 0;
  for (let at = 0; at < bytes.length; at++) {
    const gone = at < text.length ? 0 : (bytes[at - text.length] as number);
    hash = (Math.imul(hash, factor) + (bytes[at] as number) - Math.imul(gone, leaving)) | 0;
    const start = at + 1 - text.length;
    if (hash === wanted && start >= 0 && text.equals(bytes.subarray(start, at + 1))) found(start, at + 1);
  }
}
