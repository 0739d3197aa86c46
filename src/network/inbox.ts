/**
 * Reads the beginning of a conversation from a socket: at most so many bytes, until a deadline that a drip does not
 * move. What was read beyond is put back, so that the stream goes on from there.
 */
import type { Duplex } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
import { millisecondsUntil } from './end-signal.js';

export interface Taken<T> {
  readonly value: T;
  /** Bytes it stood in. */
  readonly used: number;
}

export interface InboxLimits {
  readonly bytes: number;
  readonly milliseconds: number;
}

const firstCapacity = 1024;
const nothing = Buffer.alloc(0);

export class Inbox {
  readonly #stream: Duplex;
  readonly #limits: InboxLimits;
  #deadline: number;
  #onRestart: (() => void) | undefined;
  /** A chunk as it came, or what several were put together in. */
  #buffer: Buffer = nothing;
  #length = 0;

  constructor(stream: Duplex, limits: InboxLimits) {
    this.#stream = stream;
    this.#limits = limits;
    this.#deadline = performance.now() + limits.milliseconds;
  }

  /**
   * What `take` makes of the bytes so far; it is asked again with more until it answers, and may remember how far it
   * looked. E2BIG beyond the limit, EAGAIN at the deadline, ECANCELED where the peer is gone.
   */
  async read<T>(take: (bytes: Buffer) => Taken<T> | undefined): Promise<T> {
    for (;;) {
      const taken = take(this.#buffer.subarray(0, this.#length));
      // Whatever came in one piece, a value that stands in too many bytes is as much too long as one without an end.
      if ((taken?.used ?? this.#length) > this.#limits.bytes) {
        throw new ErrnoError('E2BIG', {
          operation: 'read',
          reason: `expected a head of at most ${this.#limits.bytes} bytes (networkHeadBytes)`,
        });
      }
      if (taken !== undefined) {
        this.#putBack(taken.used);
        return taken.value;
      }
      await this.#more();
    }
  }

  /** The first byte; it is read again by the `read` that has to follow. */
  async first(): Promise<number> {
    while (this.#length === 0) await this.#more();
    return this.#buffer[0] as number;
  }

  /** The time counts from now on: what is waited for could not have come before. */
  restartClock(): void {
    this.#deadline = performance.now() + this.#limits.milliseconds;
    this.#onRestart?.();
  }

  /** At once: a stream whose last bytes are held elsewhere would end without them. */
  #putBack(from: number): void {
    const rest = this.#buffer.subarray(from, this.#length);
    this.#buffer = nothing;
    this.#length = 0;
    if (rest.length > 0) this.#stream.unshift(rest);
  }

  async #more(): Promise<void> {
    let chunk = this.#stream.read() as Buffer | null;
    while (chunk === null) {
      await this.#readable();
      chunk = this.#stream.read() as Buffer | null;
    }
    if (this.#length === 0) {
      this.#buffer = chunk;
      this.#length = chunk.length;
      return;
    }
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      // Doubling: a client that sends single bytes costs no more than one that does not.
      const grown = Buffer.alloc(Math.max(needed, 2 * this.#buffer.length, firstCapacity));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  #readable(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (act: () => void) => {
        clearTimeout(timer);
        this.#onRestart = undefined;
        stream.off('readable', onReadable).off('end', onGone).off('close', onGone);
        act();
      };
      const onReadable = () => settle(resolve);
      const onGone = () =>
        settle(() => reject(new ErrnoError('ECANCELED', { operation: 'read', reason: 'the peer closed early' })));
      const onLate = () => {
        const reason = `expected a whole head within ${this.#limits.milliseconds} ms (networkHeadMilliseconds)`;
        settle(() => reject(new ErrnoError('EAGAIN', { operation: 'read', reason })));
      };
      const wait = () => {
        clearTimeout(timer);
        timer = setTimeout(onLate, millisecondsUntil(this.#deadline));
      };
      wait();
      this.#onRestart = wait;
      if (stream.destroyed || stream.readableEnded) onGone();
      else stream.on('readable', onReadable).on('end', onGone).on('close', onGone);
    });
  }
}
