/** Frames of a view's socket, as native/object/wire.h describes them. Pure. */
import { isUtf8 } from 'node:buffer';
import { ErrnoError } from '../base/errno.js';
import { decodePath } from '../base/path-bytes.js';

export const objectKind = { call: 'R', done: 'D', output: 'O', error: 'E', file: 'F', exit: 'C' } as const;
export type ObjectFrameKind = (typeof objectKind)[keyof typeof objectKind];

/** The client's room for one frame, and what of it is for content. */
export const objectFrameBytes = (1 << 20) + (64 << 10);
export const objectContentBytes = 1 << 20;

export interface ObjectFrame {
  readonly kind: string;
  readonly payload: Buffer;
}

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'call', reason });
}

export function objectFrame(kind: ObjectFrameKind, payload: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(payload.length + 1, 0);
  head.write(kind, 4, 'latin1');
  return Buffer.concat([head, payload]);
}

/** Whole frames out of a stream's pieces. EINVAL for what is none. */
export class ObjectFrames {
  #pieces: Buffer[] = [];
  #length = 0;

  *push(chunk: Buffer): Iterable<ObjectFrame> {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= 5) {
      const head = this.#joined(5);
      const length = head.readUInt32LE(0);
      if (length < 1 || length > objectFrameBytes) refuse(`expected a frame, got one of ${length} bytes`);
      if (this.#length < 4 + length) return;
      const all = this.#joined(4 + length);
      this.#pieces = [all.subarray(4 + length)];
      this.#length -= 4 + length;
      yield { kind: all.toString('latin1', 4, 5), payload: all.subarray(5, 4 + length) };
    }
  }

  /** The pieces as one where the first has less: a large frame is joined once. */
  #joined(bytes: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#pieces;
    if (first.length >= bytes) return first;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }
}

export interface ObjectCall {
  /** Of the executable, as its caller sees it. */
  readonly path: string;
  /** Where it was started. */
  readonly directory: string;
  /** Undefined where it is not UTF-8. */
  readonly input: string | undefined;
}

export function decodeCall(payload: Buffer): ObjectCall {
  const first = payload.indexOf(0);
  const second = first < 0 ? -1 : payload.indexOf(0, first + 1);
  if (second < 0) refuse('expected the path of an object, a directory and an input');
  const directory = decodePath(payload.subarray(first + 1, second));
  if (!directory.startsWith('/')) refuse('expected a directory');
  const input = payload.subarray(second + 1);
  if (input.length > objectContentBytes) refuse('expected an input of at most 1 MiB');
  const text = isUtf8(input) ? input.toString('utf8') : undefined;
  return { path: decodePath(payload.subarray(0, first)), directory, input: text };
}
