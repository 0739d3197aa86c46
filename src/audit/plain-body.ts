/**
 * Most records are plain: written by us, in ASCII, no refusal and not about the record itself. Those are read strictly from
 * their bytes, without making a text or a value of them: a verifier reads millions. It takes nothing that `parseBody` would
 * refuse, and leaves to it whatever is not plain: escapes, other letters, fractions, refusals, `audit.*`.
 */

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const deepest = 16;

/** What stands for itself in a JSON string. */
const isPlainByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x80 && byte !== quote && byte !== 0x5c ? 1 : 0,
);

/** Of a place that is there: a line ends with a newline, which nothing here takes. */
function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}

// Each takes one thing from `from` on and says where it ends, or gives -1.

function text(bytes: Uint8Array, from: number, expected: Uint8Array): number {
  const { length } = expected;
  for (let index = 0; index < length; index += 1) if (bytes[from + index] !== expected[index]) return -1;
  return from + length;
}

function string(bytes: Uint8Array, from: number): number {
  if (at(bytes, from) !== quote) return -1;
  let end = from + 1;
  while (isPlainByte[at(bytes, end)] === 1) end += 1;
  return at(bytes, end) === quote ? end + 1 : -1;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Fifteen digits are exact, and written in one way only. */
function integer(bytes: Uint8Array, from: number): number {
  const first = at(bytes, from) === 0x2d ? from + 1 : from;
  if (at(bytes, first) === 0x30) return first === from ? first + 1 : -1;
  let end = first;
  while (isDigit(at(bytes, end))) end += 1;
  return end > first && end - first <= 15 ? end : -1;
}

function isBefore(bytes: Uint8Array, left: number, leftEnd: number, right: number, rightEnd: number): boolean {
  const shorter = Math.min(leftEnd - left, rightEnd - right);
  for (let index = 0; index < shorter; index += 1) {
    const difference = at(bytes, left + index) - at(bytes, right + index);
    if (difference !== 0) return difference < 0;
  }
  return leftEnd - left < rightEnd - right;
}

function object(bytes: Uint8Array, from: number, depth: number): number {
  if (depth > deepest || at(bytes, from) !== 0x7b) return -1;
  let end = from + 1;
  if (at(bytes, end) === 0x7d) return end + 1;
  for (let before = 0, beforeEnd = 0; ; ) {
    const keyEnd = string(bytes, end);
    if (keyEnd < 0 || at(bytes, keyEnd) !== colon) return -1;
    // Without their quotes, which sort before most letters and behind some.
    if (beforeEnd > 0 && !isBefore(bytes, before, beforeEnd, end + 1, keyEnd - 1)) return -1;
    before = end + 1;
    beforeEnd = keyEnd - 1;
    end = value(bytes, keyEnd + 1, depth);
    if (end < 0) return -1;
    if (at(bytes, end) === 0x7d) return end + 1;
    if (at(bytes, end) !== comma) return -1;
    end += 1;
  }
}

function array(bytes: Uint8Array, from: number, depth: number): number {
  if (depth > deepest) return -1;
  let end = from + 1;
  if (at(bytes, end) === 0x5d) return end + 1;
  for (;;) {
    end = value(bytes, end, depth);
    if (end < 0) return -1;
    if (at(bytes, end) === 0x5d) return end + 1;
    if (at(bytes, end) !== comma) return -1;
    end += 1;
  }
}

const words = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')] as const;

function value(bytes: Uint8Array, from: number, depth: number): number {
  switch (at(bytes, from)) {
    case quote:
      return string(bytes, from);
    case 0x7b:
      return object(bytes, from, depth + 1);
    case 0x5b:
      return array(bytes, from, depth + 1);
    case 0x74:
      return text(bytes, from, words[0]);
    case 0x66:
      return text(bytes, from, words[1]);
    case 0x6e:
      return text(bytes, from, words[2]);
    default:
      return integer(bytes, from);
  }
}

function nullOrString(bytes: Uint8Array, from: number): number {
  return at(bytes, from) === quote ? string(bytes, from) : text(bytes, from, words[2]);
}

const members = {
  facts: Buffer.from(',"facts":'),
  object: Buffer.from(',"object":'),
  seq: Buffer.from(',"seq":'),
  session: Buffer.from(',"session":'),
  status: Buffer.from(',"status":"'),
  ts: Buffer.from('","ts":"'),
  type: Buffer.from('","type":'),
} as const;
/** A refusal is not among them. */
const plainStatuses = [Buffer.from('ok'), Buffer.from('begin'), Buffer.from('failed')] as const;
const ownBusiness = Buffer.from('"audit.');
const timePattern = Buffer.from('0000-00-00T00:00:00.000Z');

function status(bytes: Uint8Array, from: number): number {
  for (const each of plainStatuses) {
    const end = text(bytes, from, each);
    if (end >= 0) return end;
  }
  return -1;
}

/** Of one chain: all its records are of one agent. Holds what the last one said. */
export class PlainBodies {
  readonly #opening: Buffer;
  readonly #time = Buffer.alloc(timePattern.length);
  #ts = '';
  #seq = 0;

  constructor(agent: string | null) {
    this.#opening = Buffer.from(`{"agent":${JSON.stringify(agent)}`);
  }

  get seq(): number {
    return this.#seq;
  }

  get ts(): string {
    return this.#ts;
  }

  /** Whether the body from `from` to `end` is a plain record's of this chain. */
  read(bytes: Buffer, from: number, end: number): boolean {
    let next = text(bytes, from, this.#opening);
    if (next < 0) return false;
    if (at(bytes, next + 2) === 0x66) {
      next = object(bytes, text(bytes, next, members.facts), 0);
      if (next < 0) return false;
    }
    next = text(bytes, next, members.object);
    next = next < 0 ? -1 : string(bytes, next);
    next = next < 0 ? -1 : text(bytes, next, members.seq);
    const seqAt = next;
    next = next < 0 ? -1 : integer(bytes, next);
    const seqEnd = next;
    next = next < 0 ? -1 : text(bytes, next, members.session);
    next = next < 0 ? -1 : nullOrString(bytes, next);
    next = next < 0 ? -1 : text(bytes, next, members.status);
    next = next < 0 ? -1 : status(bytes, next);
    next = next < 0 ? -1 : text(bytes, next, members.ts);
    next = next < 0 ? -1 : this.#takeTime(bytes, next);
    next = next < 0 ? -1 : text(bytes, next, members.type);
    if (next < 0 || text(bytes, next, ownBusiness) >= 0) return false;
    next = string(bytes, next);
    if (next !== end - 1 || at(bytes, next) !== 0x7d) return false;
    let seq = 0;
    for (let index = seqAt; index < seqEnd; index += 1) seq = seq * 10 + at(bytes, index) - 0x30;
    this.#seq = seq;
    return seq > 0;
  }

  /** Many records have the time of the one before. */
  #takeTime(bytes: Buffer, from: number): number {
    const end = text(bytes, from, this.#time);
    if (end >= 0) return end;
    for (let index = 0; index < timePattern.length; index += 1) {
      const byte = at(bytes, from + index);
      const expected = timePattern[index];
      if (expected === 0x30 ? !isDigit(byte) : byte !== expected) return -1;
    }
    bytes.copy(this.#time, 0, from, from + timePattern.length);
    this.#ts = this.#time.toString('latin1');
    return from + timePattern.length;
  }
}
