/** One body from one stream to another: as much as its framing says, no faster than it is taken. */
import type { Readable, Writable } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
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

/** Does not end the sink, and leaves the source open: what follows the body stays in it. */
export async function transferBody(
  source: Readable,
  sink: Writable,
  framing: Framing,
  redactor?: Redactor | undefined,
): Promise<void> {
  const reader = bodyReader(framing);
  const send = async (piece: Buffer) => {
    for (const bytes of framed(framing, piece)) await write(sink, bytes);
  };
  if (!reader.done) {
    for await (const chunk of source.iterator({ destroyOnReturn: false })) {
      for (const piece of reader.push(chunk as Buffer))
        await send(redactor === undefined ? piece : redactor.push(piece));
      if (reader.done) break;
    }
    reader.end();
  }
  if (redactor !== undefined) await send(redactor.finish());
  for (const bytes of framedEnd(framing)) await write(sink, bytes);
}
