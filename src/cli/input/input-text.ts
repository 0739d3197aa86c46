/** A text that a person names: a file, or `-` for stdin. */
import { readFileSync } from 'node:fs';
import { fromSystemError } from '../../base/errno.js';

export function inputText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw fromSystemError(error, 'read', file);
  }
}
