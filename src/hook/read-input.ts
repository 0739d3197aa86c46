/** A harness's message: all of its input, bounded. */
import { isUtf8 } from 'node:buffer';
import { read } from 'node:fs';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { hookInputBytes } from '../base/limits/decisions.js';

const chunkBytes = 64 * 1024;
const standardInput = 0;
/** Where stdin does not block. */
const pauseMilliseconds = 2;

/** The next piece of the message; an empty one at its end. */
export type NextChunk = () => Promise<Buffer>;

export function stdinChunk(): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  return new Promise((settle, fail) => {
    const attempt = () =>
      read(standardInput, chunk, 0, chunk.length, null, (error, length) => {
        if (error === null) settle(chunk.subarray(0, length));
        else if (error.code === 'EAGAIN') setTimeout(attempt, pauseMilliseconds);
        else fail(fromSystemError(error, 'read stdin'));
      });
    attempt();
  });
}

export async function readInput(next: NextChunk): Promise<string> {
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const chunk = await next();
    if (chunk.length === 0) break;
    total += chunk.length;
    if (total > hookInputBytes) {
      throw new ErrnoError('E2BIG', {
        operation: 'read stdin',
        reason: `expected a message of at most ${hookInputBytes} bytes`,
      });
    }
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new ErrnoError('EINVAL', { operation: 'read stdin', reason: 'expected UTF-8' });
  return bytes.toString('utf8');
}
