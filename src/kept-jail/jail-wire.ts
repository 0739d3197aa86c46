/**
 * What a client and the process that keeps a jail say to each other: frames, as native/call/wire.h describes them. Pure.
 */
import { ErrnoError } from '../base/errno.js';
import { decodePath, encodePath } from '../base/path-bytes.js';
import type { TerminalSize } from '../jail/asked-commands.js';

export const wireKind = {
  request: 'R',
  input: 'I',
  signal: 'S',
  size: 'W',
  answer: 'A',
  output: 'O',
  error: 'E',
  exit: 'C',
  refused: 'N',
  more: 'M',
  question: 'Q',
} as const;
export type WireKind = (typeof wireKind)[keyof typeof wireKind];

/** The client's room for one frame. */
export const frameBytes = 1 << 20;

export interface WireFrame {
  readonly kind: string;
  readonly payload: Buffer;
}

/** One frame; a payload that a frame has no room for is sent as several. */
export function encodeFrame(kind: WireKind, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(payload.length + 1, 0);
  head.write(kind, 4, 'latin1');
  return Buffer.concat([head, payload]);
}

export function* encodeBytes(kind: WireKind, bytes: Buffer): Iterable<Buffer> {
  const most = frameBytes - 1;
  for (let start = 0; start < bytes.length; start += most) yield encodeFrame(kind, bytes.subarray(start, start + most));
}

/** Whole frames out of a stream's pieces. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  *push(chunk: Buffer): Iterable<WireFrame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 5) {
      const length = this.#rest.readUInt32LE(0);
      if (length < 1 || length > frameBytes) {
        throw new ErrnoError('EINVAL', {
          operation: 'kept jail',
          reason: `expected a frame, got one of ${length} bytes`,
        });
      }
      if (this.#rest.length < 4 + length) return;
      const kind = this.#rest.toString('latin1', 4, 5);
      const payload = this.#rest.subarray(5, 4 + length);
      this.#rest = this.#rest.subarray(4 + length);
      yield { kind, payload };
    }
  }
}

export interface ClientRequest {
  readonly directory: string;
  /** Where the client's stdin and stdout are terminals. */
  readonly terminal: TerminalSize | undefined;
  /** Which of the client's streams are terminals. */
  readonly isTerminal: Readonly<Record<'stdin' | 'stdout' | 'stderr', boolean>>;
  /** What the client's stdin is, where that says what will come: a file's bytes are there already. */
  readonly stdin: 'file' | 'nothing' | 'other';
  /** The build that the client would start, see native/call. */
  readonly build: string;
  /** What followed `ctx`. */
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export function readSize(payload: Buffer): TerminalSize | undefined {
  return payload.length === 4 ? { rows: payload.readUInt16LE(0), columns: payload.readUInt16LE(2) } : undefined;
}

function sizeOf(text: string): TerminalSize | undefined {
  const [, rows, columns] = /^(\d{1,5}) (\d{1,5})$/.exec(text) ?? [];
  return rows === undefined ? undefined : { rows: Number(rows), columns: Number(columns) };
}

/** What `readRequest` reads. Of streams it says nothing: none is a terminal. */
export function encodeRequest({
  directory,
  build,
  words,
  environment,
}: Pick<ClientRequest, 'directory' | 'build' | 'words'> & {
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Buffer {
  const variables = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  const strings = [directory, '', '', build, String(words.length), ...words, ...variables];
  return encodePath(strings.map((each) => `${each}\0`).join(''));
}

export function readRequest(payload: Buffer): ClientRequest {
  const strings = decodePath(payload).split('\0');
  const [directory = '', terminal = '', terminals = '', build = '', count = '', ...rest] = strings;
  const words = Number(count);
  if (rest.pop() !== '' || !/^\d+$/.test(count) || rest.length < words || !directory.startsWith('/')) {
    throw new ErrnoError('EINVAL', { operation: 'kept jail', reason: 'expected a request' });
  }
  const variables = rest.slice(words).map((text): readonly [string, string] => {
    const equals = text.indexOf('=');
    return [text.slice(0, Math.max(equals, 0)), text.slice(equals + 1)];
  });
  return {
    directory,
    terminal: sizeOf(terminal),
    isTerminal: {
      stdin: terminals.includes('0'),
      stdout: terminals.includes('1'),
      stderr: terminals.includes('2'),
    },
    stdin: terminals.includes('f') ? 'file' : terminals.includes('n') ? 'nothing' : 'other',
    build,
    words: rest.slice(0, words),
    environment: Object.fromEntries(variables.filter(([name]) => name !== '')),
  };
}
