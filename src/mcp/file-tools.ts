/** Files, as commands in the jail see them. */
import { isUtf8 } from 'node:buffer';
import { ErrnoError } from '../base/errno.js';
import { toolLineCharacters, toolRows, toolTextCharacters } from '../base/limits/commands.js';
import type { ListedEntry } from '../sdk/workspace/file-answers.js';
import { count, flag, text } from './input.js';
import { counted, nameText } from './texts.js';
import type { McpTool } from './tool.js';

const path = text('a path, relative to the workspace or in full');
const most = 1_000_000;

/** As many whole lines as a model is given at once; always one, cut where it is too long. */
function linesFrom(lines: readonly string[], from: number, limit: number): readonly string[] {
  const taken: string[] = [];
  let room = toolTextCharacters;
  for (const line of lines.slice(from - 1, from - 1 + limit)) {
    room -= line.length + 1;
    if (room < 0 && taken.length > 0) break;
    taken.push(line.slice(0, toolTextCharacters));
  }
  return taken;
}

/** What is not as it is in the file: a model that wrote back what it was shown would destroy the rest. */
function differences(bytes: Buffer, lines: readonly string[], from: number, taken: readonly string[]): string {
  const { length = 0 } = lines[from - 1] ?? '';
  const [first] = taken;
  const isCut = first !== undefined && first.length < length;
  return [
    isCut ? `\n[line ${from} is cut off: ${first.length} of its ${length} characters; exec can show the rest]` : '',
    isUtf8(bytes) ? '' : '\n[the file is not UTF-8: other bytes are shown as U+FFFD]',
  ].join('');
}

const readTool: McpTool = {
  name: 'read_file',
  title: 'Read a file',
  description: 'The text of a file of the fork, or of the system as the jail shows it. Long files are given in parts.',
  input: {
    fields: { path, offset: count('the first line, from 1', most), limit: count('how many lines', most) },
    required: ['path'],
  },
  effect: 'reads',
  async run(input, { workspace, signal }) {
    const name = input.text('path');
    const bytes = await workspace.read(name, { signal });
    if (bytes.includes(0)) {
      throw new ErrnoError('EINVAL', {
        operation: 'read_file',
        path: name,
        reason: `expected a text file; this one is binary, of ${bytes.length} bytes`,
        remedy: 'exec can look at it, such as file or xxd',
      });
    }
    const lines = bytes.toString('utf8').split('\n');
    const from = input.count('offset') ?? 1;
    if (from > lines.length) return { text: `[the file has ${counted(lines.length, 'line')}: none from ${from} on]` };
    const taken = linesFrom(lines, from, input.count('limit') ?? most);
    const last = from + taken.length - 1;
    const whole = from === 1 && last === lines.length;
    const note = `\n[lines ${from} to ${last} of ${lines.length}${last < lines.length ? `: continue with offset ${last + 1}` : ''}]`;
    return { text: `${taken.join('\n')}${whole ? '' : note}${differences(bytes, lines, from, taken)}` };
  },
};

const writeTool: McpTool = {
  name: 'write_file',
  title: 'Write a file',
  description: 'Makes or overwrites a file in the fork, and the directories above it. Undo with rollback.',
  input: { fields: { path, content: text('the whole new content') }, required: ['path', 'content'] },
  effect: 'changes the fork',
  async run(input, { workspace, signal }) {
    const content = input.text('content');
    const { pending } = await workspace.write(input.text('path'), content, { signal });
    const bytes = Buffer.byteLength(content);
    return {
      text: `wrote ${counted(bytes, 'byte')}; ${counted(pending, 'change')} pending in the fork`,
      facts: { bytes, pending },
    };
  },
};

const editTool: McpTool = {
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replaces a text in a file of the fork. The text must be there exactly, and only once unless all is true.',
  input: {
    fields: {
      path,
      old_text: text('the text to replace, exactly'),
      new_text: text('the new text'),
      all: flag('replace every occurrence'),
    },
    required: ['path', 'old_text', 'new_text'],
  },
  effect: 'changes the fork',
  async run(input, { workspace, signal }) {
    const edit = { before: input.text('old_text'), after: input.text('new_text'), all: input.flag('all') };
    const { count: times } = await workspace.edit(input.text('path'), edit, { signal });
    return { text: `replaced ${counted(times, 'time')}`, facts: { count: times } };
  },
};

function entryLine({ path: name, type, size, target }: ListedEntry): string {
  const shown = nameText(name);
  if (type === 'directory') return `${shown}/`;
  return type === 'symlink' ? `${shown} -> ${nameText(target ?? '')}` : `${shown}  ${counted(size, 'byte')}`;
}

const listTool: McpTool = {
  name: 'list',
  title: 'List a directory',
  description: 'What a directory of the fork holds, with kinds and sizes.',
  input: { fields: { path, depth: count('levels of directories (default 1)', 32), limit: count('entries', 10_000) } },
  effect: 'reads',
  async run(input, { workspace, signal }) {
    const { entries, truncated } = await workspace.list(input.optionalText('path'), {
      depth: input.count('depth'),
      signal,
    });
    const shown = entries.slice(0, input.count('limit') ?? toolRows);
    const isMore = truncated || shown.length < entries.length;
    const note = isMore ? ['[there is more: list a directory below, or raise limit]'] : [];
    return {
      text: [...shown.map(entryLine), ...note].join('\n') || '[empty]',
      facts: { entries: shown, truncated: isMore },
    };
  },
};

const searchTool: McpTool = {
  name: 'search',
  title: 'Search files',
  description:
    'Lines that match an extended regular expression, in the text files of the fork, with file and line number.',
  input: {
    fields: {
      pattern: text('an extended regular expression, of one line'),
      path: text('a file or directory to search in'),
      include: text('only files whose name matches, such as *.ts'),
      ignore_case: flag('ignore the difference of upper and lower case'),
      literal: flag('take the pattern as plain text, not as an expression'),
      limit: count('matches', 10_000),
    },
    required: ['pattern'],
  },
  effect: 'reads',
  async run(input, { workspace, signal }) {
    const { matches, truncated } = await workspace.search(input.text('pattern'), {
      path: input.optionalText('path'),
      include: input.optionalText('include'),
      ignoreCase: input.flag('ignore_case'),
      literal: input.flag('literal'),
      signal,
    });
    const shown = matches
      .slice(0, input.count('limit') ?? toolRows)
      .map((match) => ({ ...match, text: match.text.slice(0, toolLineCharacters) }));
    const isMore = truncated || shown.length < matches.length;
    const lines = shown.map(({ path: name, line, text: found }) => `${nameText(name)}:${line}:${found}`);
    const note = isMore ? ['[there are more: narrow the search, or raise limit]'] : [];
    return {
      text: [...lines, ...note].join('\n') || '[nothing matches]',
      facts: { matches: shown, truncated: isMore },
    };
  },
};

export const fileTools: readonly McpTool[] = [readTool, writeTool, editTool, listTool, searchTool];
