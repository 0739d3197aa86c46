/** A text that a person names: a file, or `-` for stdin. */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { ErrnoError, fromSystemError } from '../../base/errno.js';

function inputBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw fromSystemError(error, 'read', file);
  }
}

/** EINVAL where it is not UTF-8: what is read in its place would be the name of another file. */
export function inputText(file: string): string {
  const bytes = inputBytes(file);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new ErrnoError('EINVAL', { operation: 'read', path: file, reason: 'expected UTF-8' });
}
