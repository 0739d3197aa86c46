/** Commands that came to a fork's group, as its list of them has it: a line each. */
import { readSync } from 'node:fs';
import { commandsBesideNamed } from '../../base/limits/commands.js';
import { having, integer, parsedAs, text } from '../../base/shape.js';

export interface Arrived {
  /** The first of them, in the order in which they came. */
  readonly commands: readonly string[];
  readonly count: number;
  /** Paths of the person's that one of them found changed: they enter when the group has ended. */
  readonly waiting: number;
}

const lineEnd = 10;

/** Lines of a file from `from` on, in bounded memory; what follows the last line end is not one yet. */
function* linesFrom(descriptor: number, from: number): Generator<string> {
  const chunk = Buffer.alloc(64 * 1024);
  let line: Buffer[] = [];
  for (let at = from; ; ) {
    const size = readSync(descriptor, chunk, 0, chunk.length, at);
    if (size === 0) return;
    at += size;
    const read = chunk.subarray(0, size);
    let begin = 0;
    for (let end = read.indexOf(lineEnd); end >= 0; end = read.indexOf(lineEnd, begin)) {
      yield Buffer.concat([...line, read.subarray(begin, end)]).toString('utf8');
      line = [];
      begin = end + 1;
    }
    line.push(Buffer.from(read.subarray(begin)));
  }
}

const waitingShape = having({ waiting: integer(0) });

/** A server that runs all day has thousands beside it: they are counted, and the first are named. */
export function arrivedIn(descriptor: number, from: number): Arrived {
  const commands: string[] = [];
  let count = 0;
  let waiting = 0;
  for (const line of linesFrom(descriptor, from)) {
    if (line.startsWith('{')) {
      waiting = Math.max(waiting, parsedAs<Pick<Arrived, 'waiting'>>(line, waitingShape)?.waiting ?? 0);
      continue;
    }
    if (count < commandsBesideNamed) commands.push(parsedAs<string>(line, text) ?? line);
    count += 1;
  }
  return { commands, count, waiting };
}
