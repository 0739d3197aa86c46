/**
 * What an agent named (files, arguments) is shown to a person with its control characters escaped, so that a file name
 * can neither move the cursor, nor forge a line of a report, nor hide text by direction marks.
 */

// C0, DEL, C1, line and paragraph separators, the marks that reorder or hide text, fillers, and the letters of tags, which nobody sees
// and a model reads.
const unsafe =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' };

function escapeCharacter(character: string): string {
  const short = shortEscapes[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** One line of harmless text; a backslash is doubled so that the result is unambiguous. */
export function visible(text: string): string {
  return text.replaceAll('\\', '\\\\').replace(unsafe, escapeCharacter);
}

/** A line of a file for a terminal: controls escaped, tabs and backslashes as they are. */
export function harmlessLine(text: string): string {
  return text.replace(unsafe, (character) => (character === '\t' ? character : escapeCharacter(character)));
}

const plainWord = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** An argument vector as a line that a person can read and a POSIX shell would split the same way. */
export function visibleCommand(argv: readonly string[]): string {
  return argv.map((word) => (plainWord.test(word) ? word : `'${visible(word).replaceAll("'", "'\\''")}'`)).join(' ');
}
