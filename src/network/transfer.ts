/** One body from one stream to another: as much as its framing says, no faster than it is taken. */
import type { Readable, Writable } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
import { networkRedactMilliseconds } from '../base/limits/network.js';
import { bodyReader, framed, framedEnd } from './body.js';
import type { Framing } from './http-message.js';
import type { Redactor } from './redact.js';

export async function write(sink: Writable, bytes: Buffer): Promise<void> {
  const gone = () => new ErrnoError('ECANCELED', { operation: 'write', reason: 'the peer closed early' });
  if (sink.destroyed || sink.writableEnded) throw gone();
  if (sink.write(bytes)) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (act: () => void) => {
      sink.off('drain', onDrain).off('close', onClose);
      act();
    };
    const onDrain = () => settle(resolve);
    const onClose = () => settle(() => reject(gone()));
    sink.on('drain', onDrain).on('close', onClose);
  });
}

export interface TransferOptions {
  readonly redactor?: Redactor | undefined;
  /** Told of each piece that was sent. */
  readonly onSent?: (() => void) | undefined;
}

/** Does not end the sink, and leaves the source open: what follows the body stays in it. */
export async function transferBody(
  source: Readable,
  sink: Writable,
  framing: Framing,
  { redactor, onSent }: TransferOptions = {},
): Promise<void> {
  const reader = bodyReader(framing);
  const send = async (piece: Buffer) => {
    for (const bytes of framed(framing, piece)) await write(sink, bytes);
    onSent?.();
  };
  if (!reader.done) {
    const pieces = source.iterator({ destroyOnReturn: false });
    for (;;) {
      const next = pieces.next();
      // By the clock alone: whether bytes are let go does not depend on what they are.
      if (redactor !== undefined && !(await arrivesSoon(next))) await send(redactor.flush());
      const { done, value } = await next;
      if (done === true) break;
      for (const piece of reader.push(value as Buffer)) await send(redactor?.push(piece) ?? piece);
      if (reader.done) {
        await pieces.return?.();
        break;
      }
    }
    reader.end();
  }
  if (redactor !== undefined) await send(redactor.finish());
  for (const bytes of framedEnd(framing)) await write(sink, bytes);
}

async function arrivesSoon(next: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), networkRedactMilliseconds);
  });
  const arrived = next.then(
    () => true as const,
    () => true as const,
  );
  try {
    return await Promise.race([arrived, late]);
  } finally {
    clearTimeout(timer);
  }
}
