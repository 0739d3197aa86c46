/** One text in place of another, in a file. Pure. */
import { ErrnoError } from '../../base/errno.js';

export interface Edit {
  /** What is there now, exactly; more than once only with `all`. */
  readonly before: string;
  readonly after: string;
  readonly all?: boolean | undefined;
}

export interface Edited {
  readonly text: string;
  readonly count: number;
}

export function edited(path: string, text: string, { before, after, all = false }: Edit): Edited {
  const refuse = (reason: string, remedy: string) =>
    new ErrnoError('EINVAL', { operation: 'edit', path, reason, remedy });
  if (before === '') throw refuse('expected a text to replace', 'write the whole file instead');
  const parts = text.split(before);
  const count = parts.length - 1;
  if (count === 0) {
    throw refuse('the text to replace is not in the file', 'read the file, and copy the text exactly');
  }
  if (count > 1 && !all) {
    throw refuse(`the text to replace is in the file ${count} times`, 'take more lines around it, or replace all');
  }
  return { text: parts.join(after), count };
}
