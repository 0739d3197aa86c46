/**
 * Changes as a unified diff, in the form `git apply` takes. Pure. Every change has a line: what is not text, too large
 * to be compared, or of a kind that git does not know is said in words, with sizes and digests.
 */
import { diffedLines } from '../../base/limits/store.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { harmlessLine, visible } from '../../base/visible-text.js';
import type { TreeContent } from '../tree/tree.js';
import { attributeLines } from './attribute-lines.js';
import type { TextChange } from './changes.js';
import { type Hunk, hunks, type LineEdit, lineEdits, linesOf } from './line-diff.js';

export interface DiffStyle {
  readonly paint: (colour: 'red' | 'green' | 'blue' | 'dim' | 'bold', text: string) => string;
  /**
   * On a terminal everything is harmless; in a pipe the text is exact, and a byte that is no UTF-8 is a lone surrogate of it
   * (`base/path-bytes`).
   */
  readonly escaped: boolean;
}

const edits = { same: ' ', removed: '-', added: '+' } as const;
const colours = { same: 'dim', removed: 'red', added: 'green' } as const;
const octal = (mode: number) => mode.toString(8);

const shortEscapes: Readonly<Record<number, string>> = { 9: '\\t', 10: '\\n', 13: '\\r', 34: '\\"', 92: '\\\\' };

/** As git quotes names that a line could not hold, or a person could not trust. */
function nameText(prefix: string, path: string): string {
  // One of another root is in full already.
  const full = `${prefix}${path.startsWith('/') ? path.slice(1) : path}`;
  if (visible(full) === full && !full.includes('"')) return full;
  const bytes = [...encodePath(full)].map(
    (byte) =>
      shortEscapes[byte] ??
      (byte < 0x20 || byte > 0x7e ? `\\${octal(byte).padStart(3, '0')}` : String.fromCharCode(byte)),
  );
  return `"${bytes.join('')}"`;
}

function editLine({ kind, line }: LineEdit, style: DiffStyle): string {
  const bare = line.endsWith('\n') ? line.slice(0, -1) : line;
  const shown = `${edits[kind]}${style.escaped ? harmlessLine(bare) : bare}`;
  const text = kind === 'same' ? shown : style.paint(colours[kind], shown);
  return line.endsWith('\n') ? `${text}\n` : `${text}\n\\ No newline at end of file\n`;
}

function hunkText(hunk: Hunk, style: DiffStyle): string {
  const { beforeStart, beforeCount, afterStart, afterCount } = hunk;
  const head = `@@ -${beforeStart},${beforeCount} +${afterStart},${afterCount} @@`;
  return `${style.paint('blue', head)}\n${hunk.edits.map((edit) => editLine(edit, style)).join('')}`;
}

const isFile = ({ type }: TreeContent) => type === 'file' || type === 'symlink';
const isBinary = ({ bytes }: TreeContent) => bytes.includes(0);
const isCut = ({ type, bytes, size }: TreeContent) => type === 'file' && bytes.length < size;

/** The mode as git writes it, with its type. */
const gitMode = ({ type, mode }: TreeContent) => (type === 'symlink' ? '120000' : octal(0o100000 | (mode & 0o777)));

function sideText(content: TreeContent): string {
  if (content.type === 'missing') return 'nothing';
  return `${content.size} bytes, BLAKE3 ${content.digest === '' ? 'not computed' : content.digest}`;
}

/**
 * What is not compared line by line, and why. All but the last line is as git writes it, so that `git apply` refuses the file: it would make
 * an empty one, or not see that another begins behind a head that is one line.
 */
function unlike({ before, after }: TextChange, files: string, why = ''): string {
  const index = gitMode(before) === gitMode(after) ? `index 0000000..0000000 ${gitMode(after)}\n` : '';
  return `${index}${files} differ\n  ${why}${sideText(before)} -> ${sideText(after)}\n`;
}

function body(text: TextChange, style: DiffStyle): string {
  const { change, before, after } = text;
  const from = before.type === 'missing' ? '/dev/null' : nameText('a/', change.path);
  const to = after.type === 'missing' ? '/dev/null' : nameText('b/', change.path);
  const [isLarge, isBytes] = [isCut(before) || isCut(after), isBinary(before) || isBinary(after)];
  if (isBytes) return unlike(text, `Binary files ${from} and ${to}`);
  if (isLarge) return unlike(text, `Files ${from} and ${to}`, 'too large to be compared here (--full): ');
  const [old, now] = [linesOf(decodePath(before.bytes)), linesOf(decodePath(after.bytes))];
  if (old.length + now.length > diffedLines) {
    return unlike(text, `Files ${from} and ${to}`, 'too many lines to be compared here: ');
  }
  const found = hunks(lineEdits(old, now));
  if (found.length === 0) return '';
  const names = style.paint('bold', `--- ${from}\n+++ ${to}`);
  return `${names}\n${found.map((hunk) => hunkText(hunk, style)).join('')}`;
}

/** Of a file or a link. */
function fileText(text: TextChange, style: DiffStyle): string {
  const { change, before, after } = text;
  const head = [`diff --git ${nameText('a/', change.path)} ${nameText('b/', change.path)}`];
  if (before.type === 'missing') head.push(`new file mode ${gitMode(after)}`);
  else if (after.type === 'missing') head.push(`deleted file mode ${gitMode(before)}`);
  else if (gitMode(before) !== gitMode(after)) head.push(`old mode ${gitMode(before)}`, `new mode ${gitMode(after)}`);
  else if (!change.content) return unseenText(text);
  return `${style.paint('bold', head.join('\n'))}\n${change.content ? body(text, style) : ''}${attributesText(text)}`;
}

/** In a diff, too, as git takes lines that it does not know. Those of what is gone went with it. */
function attributesText({ change, before, after }: TextChange): string {
  if (after.type === 'missing') return '';
  const lines = attributeLines(before.attributes, after.attributes);
  return lines.map((line) => `${nameText('', change.path)}: ${line}\n`).join('');
}

/** Its attributes, its owner or its special bits: nothing that git keeps. */
function unseenText(text: TextChange): string {
  const { change } = text;
  const attributes = attributesText(text);
  if (attributes !== '') return attributes;
  return `${nameText('', change.path)}: owner or special mode bits changed (mode ${octal(change.mode)})\n`;
}

/** What git does not know: directories, pipes, sockets, devices. */
function otherText({ change, before, after }: TextChange): string {
  const there = after.type === 'missing' ? before : after;
  const name = nameText('', change.path);
  const [type = '', ...rest] = there.type;
  const what = `${type.toUpperCase()}${rest.join('')} ${name}`;
  if (change.unlisted !== undefined) {
    return `${what}: ${change.kind}, with ${change.unlisted} or more entries that are too many or too deep to list\n`;
  }
  const attributes = attributesText({ change, before, after });
  if (before.type === 'missing') return `${what}: added, mode ${octal(after.mode)}\n${attributes}`;
  if (after.type === 'missing') return `${what}: deleted\n`;
  if (before.mode !== after.mode) return `${what}: mode ${octal(before.mode)} -> ${octal(after.mode)}\n${attributes}`;
  return change.content ? `${what}: replaced\n` : unseenText({ change, before, after });
}

const missing: TreeContent = { type: 'missing', mode: 0, size: 0, digest: '', bytes: Buffer.alloc(0) };

export function diffText(text: TextChange, style: DiffStyle): string {
  const { change, before, after } = text;
  const isOne = before.type === after.type || before.type === 'missing' || after.type === 'missing';
  // Something of another kind took its place: the one goes, the other comes.
  if (!isOne)
    return diffText({ change, before, after: missing }, style) + diffText({ change, before: missing, after }, style);
  if (before.type === 'missing' && after.type === 'missing') {
    return `${nameText('', change.path)}: ${change.kind}, and changed again while it was looked at\n`;
  }
  return isFile(before) || isFile(after) ? fileText(text, style) : otherText(text);
}
