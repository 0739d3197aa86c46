/**
 * What the line formats share: lines, words and their places, and one way to refuse. A refusal names file, line and
 * column and what was expected there; what was found is shown escaped and cut, since the text may be hostile.
 */
import { ErrnoError } from '../base/errno.js';
import { controlTextCharacters } from '../base/limits/objects.js';
import { visible } from '../base/visible-text.js';

export interface SourcePlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

export interface Line {
  readonly number: number;
  readonly text: string;
}

export interface SourceWord {
  readonly text: string;
  readonly column: number;
}

export function refuse(operation: string, reason: string, remedy?: string): never {
  throw new ErrnoError('EINVAL', { operation, reason, remedy });
}

export function refuseAt(operation: string, place: SourcePlace, reason: string, remedy?: string): never {
  return refuse(operation, `${visible(place.file)}:${place.line}:${place.column}: ${reason}`, remedy);
}

const quotedCharacters = 80;

export function quoted(text: string): string {
  const cut = text.length > quotedCharacters ? `${text.slice(0, quotedCharacters)}...` : text;
  return `"${visible(cut)}"`;
}

/** The lines that say something: blank ones and those whose first character is `#` are left out. */
export function meaningfulLines(operation: string, text: string, file: string): Line[] {
  if (text.length > controlTextCharacters) {
    refuseAt(operation, { file, line: 1, column: 1 }, `expected at most ${controlTextCharacters} characters`);
  }
  const lines: Line[] = [];
  let number = 0;
  for (const line of text.split('\n')) {
    number += 1;
    if (!/^[ \t]*(?:#|$)/.test(line)) lines.push({ number, text: line });
  }
  return lines;
}

/** Words between blanks and tabs. */
export function wordsOf(line: string): SourceWord[] {
  const words: SourceWord[] = [];
  for (const match of line.matchAll(/[^ \t]+/g)) words.push({ text: match[0], column: match.index + 1 });
  return words;
}

/**
 * The same ASCII text as a string of its own. A word cut out of a line is a window into the whole file: it keeps the
 * file in memory, and finding it in a map takes three times as long.
 */
export function ownText(ascii: string): string {
  return Buffer.from(ascii, 'latin1').toString('latin1');
}
