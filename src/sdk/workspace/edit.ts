/** One text in place of another, in a file. Pure. */
import { ErrnoError } from '../../base/errno.js';
import { sdkFileBytes } from '../../base/limits/commands.js';

export interface Edit {
  /** What is there now, exactly; more than once only with `all`. */
  readonly before: string;
  readonly after: string;
  readonly all?: boolean | undefined;
}

/** Written it would be another text. */
export const halfPair = /\p{Surrogate}/u;

export interface Edited {
  readonly text: string;
  readonly count: number;
}

export function edited(path: string, text: string, { before, after, all = false }: Edit): Edited {
  const refuse = (reason: string, remedy: string) =>
    new ErrnoError('EINVAL', { operation: 'edit', path, reason, remedy });
  if (before === '') throw refuse('expected a text to replace', 'write the whole file instead');
  // It would be found within a character, which would be written as two halves.
  if (halfPair.test(before) || halfPair.test(after)) {
    throw refuse('expected texts without half of a surrogate pair', 'take the whole character');
  }
  const parts = text.split(before);
  const count = parts.length - 1;
  if (count === 0) {
    throw refuse('the text to replace is not in the file', 'read the file, and copy the text exactly');
  }
  if (count > 1 && !all) {
    throw refuse(`the text to replace is in the file ${count} times`, 'take more lines around it, or replace all');
  }
  const bytes = Buffer.byteLength(text) + count * (Buffer.byteLength(after) - Buffer.byteLength(before));
  if (bytes > sdkFileBytes) {
    const reason = `expected at most ${sdkFileBytes} bytes, got ${bytes}`;
    throw new ErrnoError('EFBIG', { operation: 'edit', path, reason, remedy: 'let a command write it' });
  }
  return { text: parts.join(after), count };
}
