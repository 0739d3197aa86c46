/** A text that a person names: a file, a pipe, or `-` for stdin. Pipes are waited for, and nothing is read without end. */
import { isUtf8 } from 'node:buffer';
import { closeSync, openSync } from 'node:fs';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { controlTextBytes } from '../../base/limits/objects.js';
import { readAtMost } from '../../base/small-file.js';

const standardInput = 0;

function inputBytes(file: string): Buffer | undefined {
  try {
    if (file === '-') return readAtMost(standardInput, controlTextBytes);
    const descriptor = openSync(file, 'r');
    try {
      return readAtMost(descriptor, controlTextBytes);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw fromSystemError(error, 'read', file);
  }
}

/** E2BIG where it is too long, or has no end. EINVAL where it is not UTF-8: what is read in its place would be the name of another file. */
export function inputText(file: string): string {
  const bytes = inputBytes(file);
  if (bytes === undefined) {
    throw new ErrnoError('E2BIG', {
      operation: 'read',
      path: file,
      reason: `expected a text of at most ${controlTextBytes} bytes`,
    });
  }
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new ErrnoError('EINVAL', { operation: 'read', path: file, reason: 'expected UTF-8' });
}
