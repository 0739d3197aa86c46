/**
 * The end of a segment: its last whole record, and whatever stands behind it that is none. Pure, over the last bytes of the
 * file; where they do not suffice it asks for more.
 */
import { type Body, bodyOffset, type Hasher, statedHead } from './format.js';

export interface LastRecord {
  readonly head: string;
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
}

export type TailReading =
  | { readonly kind: 'more' }
  /** `end`: where the last whole record ends, from the start of the bytes; what follows is torn. */
  | { readonly kind: 'read'; readonly last: LastRecord | undefined; readonly end: number };

const newline = 0x0a;

function recordIn(bytes: Buffer, start: number, end: number): LastRecord | undefined {
  const head = statedHead(bytes, start, end);
  if (head === undefined) return undefined;
  try {
    const { seq, ts, type } = JSON.parse(bytes.toString('utf8', start + bodyOffset, end - 1)) as Body;
    return { head, seq, ts, type };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `whole`: the bytes are the whole segment. Its first record follows another file, and is taken by its shape alone. */
export function readTail(bytes: Buffer, whole: boolean, hasher: Hasher): TailReading {
  for (let end = bytes.lastIndexOf(newline); end >= 0; ) {
    const before = end === 0 ? -1 : bytes.lastIndexOf(newline, end - 1);
    if (before < 0 && !whole) return { kind: 'more' };
    const last = recordIn(bytes, before + 1, end);
    if (last !== undefined) {
      if (before < 0) return { kind: 'read', last, end: end + 1 };
      const earlier = bytes.lastIndexOf(newline, before - 1);
      if (earlier < 0 && !whole) return { kind: 'more' };
      const previous = statedHead(bytes, earlier + 1, before);
      const follows =
        previous !== undefined && hasher.nextOf(previous, bytes, before + 1 + bodyOffset, end - 1) === last.head;
      if (follows) return { kind: 'read', last, end: end + 1 };
    }
    end = before;
  }
  return whole ? { kind: 'read', last: undefined, end: 0 } : { kind: 'more' };
}
