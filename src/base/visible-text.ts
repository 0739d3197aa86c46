/**
 * Text of an agent's making (file names, arguments, reasons, contents) on its way to a person passes here, whatever shows it: so
 * it can neither move the cursor, nor forge a line of a report, nor hide a part of itself, nor look like something else. What is
 * dangerous is known by the properties that Unicode gives a character, and not by a list (`unsafe-text`); ordinary text of every
 * script stays as it is.
 *
 *   visible         one line, unambiguous: a backslash is doubled, and no two texts look the same by an escape
 *   shellWord       a word of a command that a person is to paste; pastable is the line that it is in
 *   harmlessLine    a line of a file for a terminal: tabs and backslashes as they are
 *   harmlessOutput  everything that is printed, last of all: our own colours and line ends pass
 *   harmlessJson    the same for JSON, which stays the same value
 */
import { escapesOf } from './unsafe-text.js';

const plain = /^[\x20-\x7e]*$/;

/** One line of harmless text; a backslash is doubled so that the result is unambiguous. */
export function visible(text: string): string {
  const doubled = text.replaceAll('\\', '\\\\');
  return plain.test(doubled) ? doubled : escapesOf(doubled, { kept: '', words: true });
}

/** A line of a file for a terminal: controls escaped, tabs and backslashes as they are. */
export function harmlessLine(text: string): string {
  return plain.test(text) ? text : escapesOf(text, { kept: '\t\u3000', words: false });
}

/** Colours as `painter` sets them, and how a progress line is drawn over. */
const ownSequence = /(\u001b\[(?:0|1|2|31|32|33|34)m|\r?\u001b\[K|\r?\n|^\r)/;

/** Whatever is written to a person; what a line holds was escaped before, and this lets nothing through that was not. */
export function harmlessOutput(text: string): string {
  return text
    .split(ownSequence)
    .map((part, index) => (index % 2 === 1 ? part : harmlessLine(part)))
    .join('');
}

/** JSON with everything that a terminal could obey as \uXXXX: a program reads the same value. */
export function harmlessJson(json: string): string {
  if (plain.test(json)) return json;
  const units = (character: string) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index).toString(16).padStart(4, '0'));
  return escapesOf(json, {
    kept: '\n',
    words: false,
    as: (character) =>
      units(character)
        .map((unit) => `\\u${unit}`)
        .join(''),
  });
}

const plainWord = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Nothing in it is shown as itself that must not be. */
const isHarmless = (text: string): boolean => escapesOf(text, { kept: '', words: true }) === text;

/** In UTF-8, or as the byte that is no UTF-8 (`path-bytes`). */
function bytesOf(character: string): string {
  const [, byte] = /^\\x(..)$/.exec(escapesOf(character, { kept: '', words: false })) ?? [];
  return byte === undefined ? Buffer.from(character).toString('hex').replace(/../g, '\\x$&') : `\\x${byte}`;
}

/**
 * A word of a command that a person is to paste, as a shell reads it back. What must not be shown as itself is written byte by byte, which
 * bash, zsh and ksh understand.
 */
export function shellWord(word: string): string {
  if (plainWord.test(word)) return word;
  if (isHarmless(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${escapesOf(word.replace(/[\\']/g, '\\$&'), { kept: '', words: true, as: bytesOf })}'`;
}

/** A line of ours whose words are quoted already: as `visible`, but that a backslash stays one. */
export function pastable(line: string): string {
  return escapesOf(line, { kept: '', words: true });
}

/** An argument vector as a line that a person can read and a POSIX shell would split the same way. */
export function visibleCommand(argv: readonly string[]): string {
  return argv.map((word) => (plainWord.test(word) ? word : `'${visible(word).replaceAll("'", "'\\''")}'`)).join(' ');
}
