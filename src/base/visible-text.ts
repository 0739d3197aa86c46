/**
 * Text of an agent's making (file names, arguments, reasons, contents) on its way to a person passes here, whatever shows it: so
 * it can neither move the cursor, nor forge a line of a report, nor hide a part of itself, nor look like something else. What is
 * dangerous is known by the properties that Unicode gives a character, and not by a list (`unsafe-text`); ordinary text of every
 * script stays as it is.
 *
 *   visible         one line, unambiguous: a backslash is doubled, and no two texts look the same by an escape
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

/** An argument vector as a line that a person can read and a POSIX shell would split the same way. */
export function visibleCommand(argv: readonly string[]): string {
  return argv.map((word) => (plainWord.test(word) ? word : `'${visible(word).replaceAll("'", "'\\''")}'`)).join(' ');
}
