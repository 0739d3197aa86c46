/** One body from one stream to another: as much as its framing says, no faster than it is taken. */
import type { Readable, Writable } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
import { networkRedactMilliseconds } from '../base/limits/network.js';
import { bodyReader, framed, framedEnd } from './body.js';
import type { Framing } from './http-message.js';
import type { Redactor } from './redact.js';

const closedEarly = (operation: string) => new ErrnoError('ECANCELED', { operation, reason: 'the peer closed early' });

export async function write(sink: Writable, bytes: Buffer): Promise<void> {
  if (sink.destroyed || sink.writableEnded) throw closedEarly('write');
  if (sink.write(bytes)) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (act: () => void) => {
      sink.off('drain', onDrain).off('close', onClose);
      act();
    };
    const onDrain = () => settle(resolve);
    const onClose = () => settle(() => reject(closedEarly('write')));
    sink.on('drain', onDrain).on('close', onClose);
  });
}

export interface TransferOptions {
  readonly redactor?: Redactor | undefined;
  /** Told of each piece that was sent. */
  readonly onSent?: (() => void) | undefined;
}

/** Does not end the sink, and leaves the source open: what follows the body stays in it. */
export function transferBody(
  source: Readable,
  sink: Writable,
  framing: Framing,
  options: TransferOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => new Transfer(source, sink, framing, options, resolve, reject).start());
}

/** By events and without a promise a piece: of a large body there are many thousands. */
class Transfer {
  readonly #reader;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    readonly source: Readable,
    readonly sink: Writable,
    readonly framing: Framing,
    readonly options: TransferOptions,
    readonly resolve: () => void,
    readonly reject: (error: unknown) => void,
  ) {
    this.#reader = bodyReader(framing);
  }

  start(): void {
    const { source, sink } = this;
    if (this.#reader.done || source.readableEnded) {
      this.#onEnd();
      return;
    }
    if (source.destroyed) {
      this.#onSourceClose();
      return;
    }
    sink.on('drain', this.#onDrain).on('close', this.#onSinkClose);
    source.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onSourceClose);
    source.resume();
    this.#restartClock();
  }

  readonly #onData = (piece: Buffer) =>
    this.#guarded(() => {
      const { redactor } = this.options;
      for (const own of this.#reader.push(piece)) this.#send(redactor?.push(own) ?? own);
      if (this.#reader.done) this.#finish();
      else this.#restartClock();
    });
  readonly #onEnd = () => this.#guarded(() => this.#sourceEnded());
  readonly #onError = (error: unknown) => this.#settle(() => this.reject(error));
  readonly #onSourceClose = () => this.#settle(() => this.reject(closedEarly('read')));
  readonly #onSinkClose = () => this.#settle(() => this.reject(closedEarly('write')));
  readonly #onDrain = () => {
    this.source.resume();
    this.#restartClock();
  };

  /** By the clock alone: whether bytes are let go does not depend on what they are. It stands while the sink is full. */
  #restartClock(): void {
    const { redactor } = this.options;
    if (redactor === undefined) return;
    clearTimeout(this.#timer);
    if (!this.source.isPaused()) {
      const letGo = () => this.#guarded(() => this.#send(redactor.flush()));
      this.#timer = setTimeout(letGo, networkRedactMilliseconds);
    }
  }

  #send(piece: Buffer): void {
    const { sink, source, framing, options } = this;
    if (sink.destroyed || sink.writableEnded) throw closedEarly('write');
    const parts = framed(framing, piece);
    if (parts.length > 1) sink.cork();
    for (const bytes of parts) sink.write(bytes);
    if (parts.length > 1) sink.uncork();
    if (sink.writableNeedDrain) source.pause();
    options.onSent?.();
  }

  #sourceEnded(): void {
    this.#reader.end();
    this.#finish();
  }

  #finish(): void {
    const { sink, framing, options } = this;
    if (options.redactor !== undefined) this.#send(options.redactor.finish());
    for (const bytes of framedEnd(framing)) sink.write(bytes);
    this.#settle(this.resolve);
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#settle(() => this.reject(error));
    }
  }

  /** The source is left as it was found: paused, with what it has yet to say. */
  #settle(act: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const { source, sink } = this;
    sink.off('drain', this.#onDrain).off('close', this.#onSinkClose);
    source
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('error', this.#onError)
      .off('close', this.#onSourceClose);
    source.pause();
    act();
  }
}
