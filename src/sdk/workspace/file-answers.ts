/** File operations as commands, and what their answers mean. Pure. */
import { type ErrnoCode, ErrnoError } from '../../base/errno.js';
import { decodePath } from '../../base/path-bytes.js';

export interface ListedEntry {
  /** Relative to the directory that was listed. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly size: number;
  readonly mode: number;
  /** Where a symbolic link leads, as it is written. */
  readonly target?: string;
}

export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchOptions {
  /** A file or a directory; without one, where the workspace was opened. */
  readonly path?: string | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** The pattern is a text, and no extended regular expression. */
  readonly literal?: boolean | undefined;
  /** Only in files whose name matches, such as `*.ts`. */
  readonly include?: string | undefined;
}

/** A path that no program takes for an option, and that the kernel resolves as it is. */
export function operand(path: string): string {
  if (path === '' || path.includes('\0')) {
    throw new ErrnoError('EINVAL', {
      operation: 'open',
      path,
      reason: 'expected a path',
      remedy: 'such as src/main.ts',
    });
  }
  return path.startsWith('/') ? path : `./${path}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export function readCommand(path: string, bytes: number): readonly string[] {
  return ['head', '-c', String(bytes), '--', operand(path)];
}

/** In place: the file keeps its mode, and a link stays one. As one command, so that one step back undoes it. */
export function writeCommand(path: string): readonly string[] {
  const target = operand(path);
  if (/(^|\/)\.{0,2}$/.test(target)) {
    throw new ErrnoError('EISDIR', { operation: 'write', path, reason: 'expected the path of a file' });
  }
  const directory = target.slice(0, target.lastIndexOf('/')) || '/';
  // Quoted words are read before the command runs, unlike `$1`.
  return ['sh', '-c', `mkdir -p -- ${quoted(directory)} && tee -- ${quoted(target)} > /dev/null`];
}

export function listCommand(path: string, depth: number): readonly string[] {
  // The slash says that it has to be a directory.
  const range = ['-mindepth', '1', '-maxdepth', String(depth)];
  return ['find', `${operand(path)}/`, ...range, '-printf', '%y %s %m\\0%P\\0%l\\0'];
}

const types: Readonly<Record<string, ListedEntry['type']>> = { f: 'file', d: 'directory', l: 'symlink' };

/** Of an answer that was cut off, what is whole. Names are such that they can be read, also where they are not UTF-8. */
export function entriesOf(answer: Buffer): readonly ListedEntry[] {
  const fields = decodePath(answer).split('\0');
  const entries: ListedEntry[] = [];
  for (let at = 0; at + 3 < fields.length; at += 3) {
    const [facts = '', path = '', target = ''] = fields.slice(at, at + 3);
    const [type = '', size = '', mode = ''] = facts.split(' ');
    entries.push({
      path,
      type: types[type] ?? 'other',
      size: Number(size),
      mode: Number.parseInt(mode, 8),
      ...(type === 'l' ? { target } : {}),
    });
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function searchCommand(pattern: string, options: SearchOptions): readonly string[] {
  const { path = '.', ignoreCase = false, literal = false, include } = options;
  if (pattern === '' || pattern.includes('\0') || pattern.includes('\n')) {
    throw new ErrnoError('EINVAL', {
      operation: 'search',
      reason: 'expected a pattern of one line',
      remedy: 'matches are of single lines',
    });
  }
  return [
    'grep',
    '-rHnIZ',
    literal ? '-F' : '-E',
    ...(ignoreCase ? ['-i'] : []),
    ...(include === undefined ? [] : [`--include=${include}`]),
    '--exclude-dir=.git',
    '-e',
    pattern,
    '--',
    operand(path),
  ];
}

/** A name ends with a zero byte and may hold line ends; a line ends with one. Of an answer that was cut off, what is whole. */
export function matchesOf(answer: Buffer): readonly SearchMatch[] {
  const found: SearchMatch[] = [];
  for (const [, path = '', line, text = ''] of decodePath(answer).matchAll(/([^\0]+)\0(\d+):([^\n]*)(?:\n|$)/gy)) {
    // Of a line it is the text that counts, and of a name its bytes.
    found.push({
      path: path.replace(/^(?:\.\/)+/, ''),
      line: Number(line),
      text: text.replace(/\p{Surrogate}/gu, '\ufffd'),
    });
  }
  return found;
}

/** As the C library says them without a locale. */
const messages: readonly (readonly [string, ErrnoCode])[] = [
  ['No such file or directory', 'ENOENT'],
  ['Permission denied', 'EACCES'],
  ['Is a directory', 'EISDIR'],
  ['Not a directory', 'ENOTDIR'],
  // `mkdir -p` says so where what is above is not a directory.
  ['File exists', 'ENOTDIR'],
  ['Read-only file system', 'EROFS'],
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['File name too long', 'ENAMETOOLONG'],
  ['Too many levels of symbolic links', 'ELOOP'],
  ['Operation not permitted', 'EPERM'],
  ['Invalid', 'EINVAL'],
  ['Unmatched', 'EINVAL'],
];

const remedies: Partial<Record<ErrnoCode, string>> = {
  ENOENT: 'list the directory above it to see what there is',
  EISDIR: 'list it instead',
  ENOTDIR: 'read it instead',
  EROFS: 'only the workspace and what was granted can be written',
  EACCES: 'nothing was granted there',
  ENOSPC: 'delete something in the fork, or roll back',
};

const remediesOfWrite: Partial<Record<ErrnoCode, string>> = {
  EISDIR: 'name a file in it',
  ENOTDIR: 'a part of the path is a file: write to another path',
};

/** The message of a program that failed, as an error with a code. */
export function failureOf(operation: string, path: string, said: string): ErrnoError {
  const text = said.trim().split('\n').at(-1) ?? '';
  const code = messages.find(([message]) => text.includes(message))?.[1] ?? 'EIO';
  return new ErrnoError(code, {
    operation,
    path,
    reason: text === '' ? 'the command failed without an error message' : text,
    remedy: (operation === 'write' ? remediesOfWrite[code] : undefined) ?? remedies[code],
  });
}
