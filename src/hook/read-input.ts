/** A harness's message: all of stdin, bounded. Not `process.stdin`, whose streams cost a tenth of a start. */
import { isUtf8 } from 'node:buffer';
import { read } from 'node:fs';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { hookInputBytes } from '../base/limits.js';

const chunkBytes = 64 * 1024;
const standardInput = 0;
/** Where stdin does not block. */
const pauseMilliseconds = 2;

function readChunk(descriptor: number, chunk: Buffer): Promise<number> {
  return new Promise((settle, fail) => {
    const attempt = () =>
      read(descriptor, chunk, 0, chunk.length, null, (error, length) => {
        if (error === null) settle(length);
        else if (error.code === 'EAGAIN') setTimeout(attempt, pauseMilliseconds);
        else fail(fromSystemError(error, 'read stdin'));
      });
    attempt();
  });
}

export async function readInput(descriptor = standardInput): Promise<string> {
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const length = await readChunk(descriptor, chunk);
    if (length === 0) break;
    total += length;
    if (total > hookInputBytes) {
      throw new ErrnoError('E2BIG', {
        operation: 'read stdin',
        reason: `expected a message of at most ${hookInputBytes} bytes`,
      });
    }
    chunks.push(chunk.subarray(0, length));
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new ErrnoError('EINVAL', { operation: 'read stdin', reason: 'expected UTF-8' });
  return bytes.toString('utf8');
}
