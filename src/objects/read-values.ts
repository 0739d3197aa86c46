/** Texts of control files into their values, with every problem found, not only the first. */

import { ErrnoError } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { ControlFiles, Values } from './control-file.js';

export interface ReadValues<Files extends ControlFiles> {
  /** Whole where there is no problem. */
  readonly values: Partial<Values<Files>>;
  /** Each with its file, line and column. */
  readonly problems: readonly ErrnoError[];
}

/** `nameOf` is how a file is named in a problem. */
export function readValues<Files extends ControlFiles>(
  files: Files,
  textOf: (file: string) => string | undefined,
  nameOf: (file: string) => string,
): ReadValues<Files> {
  const values: Record<string, unknown> = {};
  const problems: ErrnoError[] = [];
  for (const [name, { parse, optional }] of Object.entries(files)) {
    try {
      const text = textOf(name) ?? (optional ? '' : undefined);
      if (text === undefined) {
        throw new ErrnoError('EINVAL', {
          operation: 'control file',
          reason: `${visible(nameOf(name))}:1:1: this file is required, and is missing`,
        });
      }
      values[name] = parse(text, nameOf(name));
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      problems.push(error);
    }
  }
  return Object.freeze({ values: Object.freeze(values) as Partial<Values<Files>>, problems: Object.freeze(problems) });
}

/** The values, or one EINVAL that says everything that is wrong. */
export function wholeValues<Files extends ControlFiles>(read: ReadValues<Files>, operation: string): Values<Files> {
  if (read.problems.length === 0) return read.values as Values<Files>;
  const [first] = read.problems;
  throw new ErrnoError('EINVAL', {
    operation,
    reason: read.problems.map(({ reason }) => reason).join('; '),
    ...(read.problems.length === 1 ? { remedy: first?.remedy } : {}),
  });
}
