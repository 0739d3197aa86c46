/**
 * Bodies, read by their framing: exactly the bytes that belong to one message, whatever follows. Chunks are taken apart
 * and written anew, so that extensions, trailers and odd sizes end here. Pure state machines: bytes in, bytes out.
 */
import { networkHeadBytes } from '../base/limits/network.js';
import { refuseMessage } from './http-head.js';
import type { Framing } from './http-message.js';

export interface BodyReader {
  /** The body's bytes in this piece of the stream. */
  push(piece: Buffer): readonly Buffer[];
  /** Nothing more belongs to the body. */
  readonly done: boolean;
  /** The stream has ended; refused where the body has not. */
  end(): void;
}

class LengthReader implements BodyReader {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  push(piece: Buffer): readonly Buffer[] {
    const own = piece.subarray(0, Math.min(piece.length, this.#left));
    this.#left -= own.length;
    return own.length > 0 ? [own] : [];
  }

  end(): void {
    if (!this.done) refuseMessage('expected a whole body; it was cut short');
  }
}

class UntilCloseReader implements BodyReader {
  readonly done = false;

  push(piece: Buffer): readonly Buffer[] {
    return [piece];
  }

  end(): void {
    // Any end is the end.
  }
}

const chunkSize = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

class ChunkedReader implements BodyReader {
  #state: 'size' | 'data' | 'after data' | 'trailer' | 'done' = 'size';
  #line = '';
  #left = 0;
  #trailerBytes = 0;

  get done(): boolean {
    return this.#state === 'done';
  }

  push(piece: Buffer): readonly Buffer[] {
    const data: Buffer[] = [];
    let at = 0;
    while (at < piece.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const own = piece.subarray(at, at + this.#left);
        data.push(own);
        at += own.length;
        this.#left -= own.length;
        if (this.#left === 0) this.#state = 'after data';
      } else {
        at = this.#readLine(piece, at);
      }
    }
    return data;
  }

  end(): void {
    if (!this.done) refuseMessage('expected a last chunk; the body was cut short');
  }

  #readLine(piece: Buffer, at: number): number {
    const feed = piece.indexOf(0x0a, at);
    const stop = feed < 0 ? piece.length : feed + 1;
    this.#line += piece.toString('latin1', at, stop);
    if (this.#line.length > networkHeadBytes)
      refuseMessage(`expected a chunk's line of at most ${networkHeadBytes} bytes`);
    if (feed >= 0) {
      if (!this.#line.endsWith('\r\n')) refuseMessage('expected chunk lines that end in CR LF');
      this.#takeLine(this.#line.slice(0, -2));
      this.#line = '';
    }
    return stop;
  }

  #takeLine(line: string): void {
    if (this.#state === 'after data') {
      if (line !== '') refuseMessage('expected CR LF after a chunk');
      this.#state = 'size';
    } else if (this.#state === 'size') {
      const match = chunkSize.exec(line);
      if (match === null) refuseMessage('expected a chunk size in hexadecimal');
      this.#left = Number.parseInt(match?.[1] ?? '', 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    } else {
      this.#trailerBytes += line.length + 2;
      if (this.#trailerBytes > networkHeadBytes)
        refuseMessage(`expected trailers of at most ${networkHeadBytes} bytes`);
      if (line === '') this.#state = 'done';
    }
  }
}

export function bodyReader(framing: Framing): BodyReader {
  switch (framing.kind) {
    case 'none':
      return new LengthReader(0);
    case 'length':
      return new LengthReader(framing.bytes);
    case 'chunked':
      return new ChunkedReader();
    case 'until close':
      return new UntilCloseReader();
  }
}

/** A piece of a body as it is written on. */
export function framed(framing: Framing, piece: Buffer): readonly Buffer[] {
  if (framing.kind !== 'chunked') return [piece];
  if (piece.length === 0) return [];
  return [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')];
}

export function framedEnd(framing: Framing): readonly Buffer[] {
  return framing.kind === 'chunked' ? [Buffer.from('0\r\n\r\n')] : [];
}
