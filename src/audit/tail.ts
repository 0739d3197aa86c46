/**
 * The end of a segment: its last whole record, and whatever is behind it that is none. Pure, over the last bytes of the
 * file; where they do not suffice it asks for more.
 *
 * Whether the record is true to its head is not asked here: every command would pay for it, and what was changed has to stay
 * where it is, for `verify` to find.
 */
import { having, integer, parsedAs, text } from '../base/shape.js';
import { type Body, bodyOffset, statedHead } from './format.js';

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

const lastShape = having({ seq: integer(1), ts: text, type: text });

function recordIn(bytes: Buffer, start: number, end: number): LastRecord | undefined {
  const head = statedHead(bytes, start, end);
  if (head === undefined) return undefined;
  const body = parsedAs<Body>(bytes.toString('utf8', start + bodyOffset, end - 1), lastShape);
  return body && { head, seq: body.seq, ts: body.ts, type: body.type };
}

/** `whole`: the bytes are the whole segment. */
export function readTail(bytes: Buffer, whole: boolean): TailReading {
  for (let end = bytes.lastIndexOf('\n'); end >= 0; ) {
    const before = end === 0 ? -1 : bytes.lastIndexOf('\n', end - 1);
    if (before < 0 && !whole) return { kind: 'more' };
    const last = recordIn(bytes, before + 1, end);
    if (last !== undefined) return { kind: 'read', last, end: end + 1 };
    end = before;
  }
  return whole ? { kind: 'read', last: undefined, end: 0 } : { kind: 'more' };
}
