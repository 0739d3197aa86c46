/** `fs.*`: the caller's files, by its own process. */
import { posix } from 'node:path';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { toolRows } from '../../base/limits/commands.js';
import { toolReplacedBytes, toolReplacements } from '../../base/limits/objects.js';
import { timeText } from '../../base/time-text.js';
import type { BeneathPath } from '../caller-files.js';
import { beneath, numberOf, type ToolRun, type ToolRunCall, textOf } from '../tool-run.js';

/** The lines from `first` on, as they come, and no more of the file than is needed. */
async function printLines(call: ToolRunCall, at: BeneathPath, first: number, count: number): Promise<void> {
  let line = 1;
  const last = first + count;
  for await (const bytes of call.files.content(at)) {
    let from = 0;
    let start = line >= first ? 0 : -1;
    while (line < last) {
      const end = bytes.indexOf(10, from);
      if (end < 0) break;
      from = end + 1;
      line += 1;
      if (line === first) start = from;
    }
    const end = line >= last ? from : bytes.length;
    if (start >= 0 && end > start) call.print(bytes.subarray(start, end));
    if (line >= last) return;
  }
}

const read: ToolRun = async (call) => {
  const at = beneath(call, textOf(call, 'path'));
  const offset = numberOf(call, 'offset') ?? 1;
  const limit = numberOf(call, 'limit') ?? Number.POSITIVE_INFINITY;
  if (offset > 1 || Number.isFinite(limit)) await printLines(call, at, offset, limit);
  else for await (const bytes of call.files.content(at)) call.print(bytes);
  return ExitCode.ok;
};

const list: ToolRun = async (call) => {
  const { entries, isMore } = await call.files.list(beneath(call, textOf(call, 'path') || '.'));
  for (const { name, type, size } of entries) call.print(`${JSON.stringify({ name, type, size })}\n`);
  if (isMore) call.complain('there are more entries than are listed');
  return ExitCode.ok;
};

const stat: ToolRun = async (call) => {
  const { type, size, mode, modified, target } = await call.files.stat(beneath(call, textOf(call, 'path')));
  const octal = mode.toString(8).padStart(4, '0');
  call.print(`${JSON.stringify({ type, size, mode: octal, modified: timeText(modified * 1000), target })}\n`);
  return ExitCode.ok;
};

const write: ToolRun = async (call) => {
  const bytes = Buffer.from(textOf(call, 'content'));
  const { create = false, parents = false } = call.input as { create?: boolean; parents?: boolean };
  await call.files.write(beneath(call, textOf(call, 'path')), bytes, { create, parents });
  return ExitCode.ok;
};

function tooMuch({ name }: ToolRunCall, { shown }: BeneathPath, reason: string): ErrnoError {
  return new ErrnoError('EFBIG', { operation: name, path: shown, reason, remedy: 'use sed in a shell command' });
}

async function whole(call: ToolRunCall, at: BeneathPath): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const bytes of call.files.content(at)) {
    size += bytes.length;
    if (size > toolReplacedBytes) throw tooMuch(call, at, `expected a file of at most ${toolReplacedBytes} bytes`);
    pieces.push(Buffer.from(bytes));
  }
  return Buffer.concat(pieces);
}

/** Where a text is in a file, up to a number of places. */
function placesOf(call: ToolRunCall, at: BeneathPath, bytes: Buffer, text: Buffer): readonly number[] {
  const places: number[] = [];
  for (let found = bytes.indexOf(text); found >= 0; found = bytes.indexOf(text, found + text.length)) {
    if (places.length === toolReplacements) {
      const reason = `the old text is there more than ${toolReplacements} times`;
      throw tooMuch(call, at, reason);
    }
    places.push(found);
  }
  return places;
}

const replace: ToolRun = async (call) => {
  const at = beneath(call, textOf(call, 'path'));
  const [before, after] = [Buffer.from(textOf(call, 'old')), Buffer.from(textOf(call, 'new'))];
  const bytes = await whole(call, at);
  const places = placesOf(call, at, bytes, before);
  const times = places.length;
  if (times === 0 || (times > 1 && call.input['all'] !== true)) {
    const reason = times === 0 ? 'the old text is not there' : `the old text is there ${times} times`;
    const remedy = times === 0 ? 'read the file first' : 'give more of the lines around it, or "all": true';
    throw new ErrnoError('EINVAL', { operation: call.name, path: at.shown, reason, remedy });
  }
  const size = bytes.length + times * (after.length - before.length);
  if (size > toolReplacedBytes) {
    throw tooMuch(call, at, `the file would have ${size} bytes, and may have ${toolReplacedBytes}`);
  }
  const ends = places.map((place) => place + before.length);
  const parts = places.flatMap((place, index) => [bytes.subarray(ends[index - 1] ?? 0, place), after]);
  await call.files.write(at, Buffer.concat([...parts, bytes.subarray(ends.at(-1))]));
  call.print(`replaced ${times} ${times === 1 ? 'time' : 'times'}\n`);
  return ExitCode.ok;
};

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * By grep, in a jail beside the caller's: an expression that somebody else wrote may take for ever, and the process
 * that serves a view must not. What is found is counted in lines.
 */
const search: ToolRun = async (call) => {
  const at = beneath(call, textOf(call, 'path') || '.');
  const limit = numberOf(call, 'limit') ?? toolRows;
  const enough = new AbortController();
  let [lines, complaints] = [0, ''];
  const kind = call.input['literal'] === true ? '-F' : '-E';
  const where = posix.relative(call.directory, posix.join(at.root, at.path)) || '.';
  const { exitCode } = await call.run({
    text: `grep -rnHI ${kind} -e ${quoted(textOf(call, 'pattern'))} -- ${quoted(where)}`,
    directory: call.directory,
    signal: AbortSignal.any([call.signal, enough.signal]),
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') complaints = (complaints + chunk.toString()).slice(0, 4_096);
      if (stream === 'stderr' || lines >= limit) return undefined;
      let end = 0;
      for (; lines < limit; lines += 1) {
        const next = chunk.indexOf(10, end);
        if (next < 0) break;
        end = next + 1;
      }
      if (lines < limit) return call.print(chunk);
      enough.abort();
      return call.print(chunk.subarray(0, end));
    },
  });
  if (lines >= limit) call.complain(`the first ${limit} matches; narrow the search, or raise limit`);
  else if (exitCode !== 0 && exitCode !== 1) {
    throw new ErrnoError(exitCode === 2 ? 'EINVAL' : 'EIO', {
      operation: call.name,
      reason: complaints.trim() || 'grep failed',
    });
  }
  return ExitCode.ok;
};

export const fileTools: Readonly<Record<string, ToolRun>> = {
  'fs.read': read,
  'fs.list': list,
  'fs.stat': stat,
  'fs.write': write,
  'fs.replace': replace,
  'fs.search': search,
};
