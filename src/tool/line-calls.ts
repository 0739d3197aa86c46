/**
 * JSON lines on an agent's own socket, for programs that call many tools: one request a line, answers as lines with the same `id`.
 *
 *     {"id": "1", "op": "call", "tool": "fs.read", "input": {"path": "README.md"}}
 *     {"id": "1", "type": "output", "stream": "stdout", "text": "..."}
 *     {"id": "1", "type": "result", "ok": true, "exitCode": 0}
 *
 * The socket says who asks. An id means one request: the same again is answered with the same result and not done again, another
 * request by that id is EINVAL. Errors are errno names. What ends the connection ends its calls; a client that shuts down its side
 * alone has asked everything, and is still answered.
 */

import { isUtf8 } from 'node:buffer';
import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { canonicalJson, type Json } from '../base/canonical-json.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { lineResults, lookForClientMilliseconds, viewCalls, viewOutputBytes } from '../base/limits/objects.js';
import { sha256 } from '../base/sha256.js';
import { parseJson } from '../base/shape.js';
import { drainedOf } from './drained.js';
import { MessageLines } from './message-lines.js';
import { objectContentBytes } from './wire.js';

export interface LineCall {
  readonly tool: string;
  /** JSON. */
  readonly input: string;
  readonly directory: string | undefined;
  /** A caller that has more to say waits for what is returned. */
  print(stream: 'stdout' | 'stderr', bytes: Buffer | string): void | Promise<void>;
  readonly signal: AbortSignal;
}

export interface LineEnd {
  readonly exitCode: number;
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
}

export interface LineServices {
  readonly agent: string;
  call(asked: LineCall): Promise<LineEnd>;
}

type Request = Readonly<Record<string, unknown>>;
type Answer = Readonly<Record<string, Json>>;

type Say = (answer: Answer) => Promise<void> | undefined;

interface Known {
  readonly digest: string;
  readonly result: Promise<Answer>;
}

const operations = ['call', 'cancel', 'ping', 'status'] as const;
/** Of a running agent: there is none yet. */
const laterOperations = ['send', 'resume'];

function refuse(code: 'EINVAL' | 'ENOTSUP' | 'EAGAIN' | 'ENOENT', reason: string): never {
  throw new ErrnoError(code, { operation: 'request', reason });
}

function failed(error: unknown): Answer {
  if (!(error instanceof ErrnoError))
    return { ok: false, error: 'EIO', reason: `this is a bug in ctx, please report it: ${String(error)}` };
  return { ok: false, error: error.code, reason: error.reason };
}

function requestIn(line: string): Request {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    return refuse('EINVAL', 'expected a JSON object in one line');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse('EINVAL', 'expected a JSON object');
  return value as Request;
}

function textIn(request: Request, member: string): string {
  const value = request[member];
  if (typeof value === 'string' && value !== '' && value.length <= 4_096) return value;
  return refuse('EINVAL', `${member}: expected a text of 1 to 4096 characters`);
}

/**
 * After the last request. A client that has gone meanwhile looks like one that waits: to write nothing to it is the kernel's EPIPE, which
 * ends the connection.
 */
async function endAnswered(socket: Socket, answering: ReadonlySet<Promise<void>>): Promise<void> {
  const look = () => {
    // What waits to be written says the same.
    if (socket.writableLength === 0) socket.write('');
  };
  const looking = setInterval(look, lookForClientMilliseconds);
  socket.once('close', () => clearInterval(looking));
  await Promise.all(answering);
  clearInterval(looking);
  socket.end();
}

/** All connections of one view: what was asked by an id on one is known on the next. */
export class LineCalls {
  readonly #services: LineServices;
  /** By their ids; the oldest are forgotten. */
  readonly #known = new Map<string, Known>();
  readonly #running = new Map<string, AbortController>();

  constructor(services: LineServices) {
    this.#services = services;
  }

  /** Resolves when the connection is over and its calls have ended. Never rejects. */
  async serve(socket: Socket): Promise<void> {
    // It has gone before this was read: nothing more is heard of it.
    if (socket.destroyed) return;
    socket.allowHalfOpen = true;
    const own = new Set<AbortController>();
    const answering = new Set<Promise<void>>();
    const drained = drainedOf(socket);
    const say: Say = (answer) => {
      if (!socket.destroyed) socket.write(`${JSON.stringify(answer)}\n`);
      if (socket.writableLength > viewOutputBytes) socket.destroy();
      return drained();
    };
    const lines = new MessageLines(objectContentBytes);
    const take = (chunk: Buffer) => {
      for (const line of lines.push(chunk)) {
        const answered = this.#answer(line, say, own).finally(() => answering.delete(answered));
        answering.add(answered);
      }
    };
    socket.on('data', (chunk) => {
      // What comes after a line that was too long is no request.
      if (socket.writableEnded) return;
      try {
        take(chunk);
      } catch {
        const reason = 'expected lines of at most 1 MiB';
        say({ id: null, type: 'result', ...failed(new ErrnoError('EINVAL', { operation: 'request', reason })) });
        socket.end();
      }
    });
    socket.on('error', () => undefined);
    socket.once('end', () => void endAnswered(socket, answering));
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    for (const controller of own) controller.abort();
    await Promise.all(answering);
  }

  async #answer(line: Buffer, say: Say, own: Set<AbortController>): Promise<void> {
    const text = line.toString('utf8');
    if (text.trim() === '') return;
    let id: Json = null;
    try {
      // What is read in its place would be another id, or the name of another file.
      if (!isUtf8(line)) refuse('EINVAL', 'expected UTF-8');
      const request = requestIn(text);
      id = textIn(request, 'id');
      const op = textIn(request, 'op');
      const answer = op === 'call' ? await this.#call(id, request, say, own) : this.#immediate(op, request);
      say({ id, type: 'result', ...answer });
    } catch (error) {
      say({ id, type: 'result', ...failed(error) });
    }
  }

  #immediate(op: string, request: Request): Answer {
    if (op === 'ping') return { ok: true };
    if (op === 'status')
      return { ok: true, agent: this.#services.agent, status: 'busy', calls: [...this.#running.keys()] };
    if (op === 'cancel') {
      const running = this.#running.get(textIn(request, 'call')) ?? refuse('ENOENT', 'no call of this id is running');
      running.abort();
      return { ok: true };
    }
    if (laterOperations.includes(op))
      refuse('ENOTSUP', `${op}: needs the agent runtime, which this version does not have`);
    return refuse('EINVAL', `expected an op of ${operations.join(', ')}, got '${op}'`);
  }

  #call(id: string, request: Request, say: Say, own: Set<AbortController>): Promise<Answer> {
    const tool = textIn(request, 'tool');
    const directory = request['directory'] === undefined ? undefined : textIn(request, 'directory');
    const input = JSON.stringify(request['input'] ?? {});
    // Members that are not known say nothing: a retry may have more or fewer of them.
    const meant = { tool, directory: directory ?? null, input: (request['input'] ?? {}) as Json };
    const digest = sha256(canonicalJson(meant));
    const known = this.#known.get(id);
    if (known !== undefined) {
      return known.digest === digest ? known.result : refuse('EINVAL', 'this id was already used for another request');
    }
    if (this.#running.size >= viewCalls) refuse('EAGAIN', `${viewCalls} calls are running; wait for one to end`);
    const controller = new AbortController();
    own.add(controller);
    this.#running.set(id, controller);
    const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
    const print = (stream: 'stdout' | 'stderr', bytes: Buffer | string) => {
      const said = typeof bytes === 'string' ? bytes : decoders[stream].write(bytes);
      return said === '' ? undefined : say({ id, type: 'output', stream, text: said });
    };
    const result = this.#services
      .call({ tool, input, directory, print, signal: controller.signal })
      .then(({ exitCode, error, reason }): Answer => {
        if (controller.signal.aborted)
          return { ok: false, exitCode, error: 'ECANCELED', reason: 'the call was cancelled' };
        if (exitCode === ExitCode.ok) return { ok: true, exitCode };
        return { ok: false, exitCode, error: error ?? 'EIO', ...(reason === undefined ? {} : { reason }) };
      }, failed);
    const ended = result.finally(() => {
      own.delete(controller);
      this.#running.delete(id);
    });
    this.#known.set(id, { digest, result: ended });
    if (this.#known.size > lineResults) this.#forgetOldest();
    return ended;
  }

  /** Of those that have ended: one that runs would be run a second time. */
  #forgetOldest(): void {
    for (const id of this.#known.keys()) {
      if (this.#running.has(id)) continue;
      this.#known.delete(id);
      return;
    }
  }
}
