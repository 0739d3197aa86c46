/** Changes as a unified diff, in the form `git apply` takes. Pure. */
import { harmlessLine, visible } from '../base/visible-text.js';
import type { TextChange } from './changes.js';
import { type Edit, type Hunk, hunks, lineEdits, linesOf } from './line-diff.js';
import type { Content } from './tree.js';

export interface DiffStyle {
  readonly paint: (colour: 'red' | 'green' | 'blue' | 'dim' | 'bold', text: string) => string;
  /** On a terminal control characters are escaped; in a pipe the text is exact. */
  readonly escaped: boolean;
}

const typeBits = { file: 0o100000, symlink: 0o120000, directory: 0o040000, fifo: 0, socket: 0, device: 0 } as const;
const edits = { same: ' ', removed: '-', added: '+' } as const;
const colours = { same: 'dim', removed: 'red', added: 'green' } as const;

function isBinary({ bytes }: Content): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

/** As git quotes names that a line could not hold. */
function nameText(prefix: string, path: string): string {
  const plain = /^[^\u0000-\u001f"\\\u007f-\u009f]*$/.test(path);
  // One of another root is in full already.
  const full = `${prefix}${path.startsWith('/') ? path.slice(1) : path}`;
  return plain ? full : `"${visible(full).replaceAll('"', '\\"')}"`;
}

function editLine({ kind, line }: Edit, style: DiffStyle): string {
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

function header({ change }: TextChange): string[] {
  const { kind, mode, path, type } = change;
  const bits = (typeBits[type] | (type === 'file' ? mode & 0o777 : 0)).toString(8);
  const first = `diff --git ${nameText('a/', path)} ${nameText('b/', path)}`;
  if (kind === 'added') return [first, `new file mode ${bits}`];
  return kind === 'deleted' ? [first, `deleted file mode ${bits}`] : [first];
}

function body(text: TextChange, style: DiffStyle): string {
  const { change, before, after } = text;
  if (isBinary(before) || isBinary(after)) return `Binary files differ (${change.size} bytes)\n`;
  const found = hunks(lineEdits(linesOf(before.bytes.toString('utf8')), linesOf(after.bytes.toString('utf8'))));
  if (found.length === 0) return '';
  const from = before.type === 'missing' ? '/dev/null' : nameText('a/', change.path);
  const to = after.type === 'missing' ? '/dev/null' : nameText('b/', change.path);
  const names = style.paint('bold', `--- ${from}\n+++ ${to}`);
  return `${names}\n${found.map((hunk) => hunkText(hunk, style)).join('')}`;
}

export function diffText(text: TextChange, style: DiffStyle): string {
  const { change } = text;
  if (change.type === 'directory') return '';
  const head = style.paint('bold', header(text).join('\n'));
  if (!change.content) return `${head}\nnew mode ${(typeBits[change.type] | (change.mode & 0o777)).toString(8)}\n`;
  return `${head}\n${body(text, style)}`;
}
