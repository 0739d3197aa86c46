/**
 * JSON-RPC with a server that no one trusts, over its stdin and stdout: requests by their numbers, each with a time
 * limit; what it asks is refused, `ping` apart; what it says without being asked is counted. Whatever it does wrong
 * ends the conversation, once and with one reason, for everybody who waits.
 */

import { after } from '../../base/clock.js';
import { ErrnoError } from '../../base/errno.js';
import { isDeeperThan } from '../../base/json-depth.js';
import {
  sourceDepth,
  sourceMessageBytes,
  sourceReasonCharacters,
  sourceUnaskedBytes,
  sourceUnaskedLineBytes,
} from '../../base/limits/objects.js';
import { parseJson } from '../../base/shape.js';
import { isRecord, type Schema } from '../../objects/schema-check.js';
import { MessageLines } from '../message-lines.js';

export interface Wire {
  /** Bytes that the server has not read yet. */
  send(bytes: Buffer): number;
}

export interface ServerAsking {
  readonly milliseconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a server answered instead of a result. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
  readonly number: number;

  constructor(number: number, message: string) {
    super(message.slice(0, sourceReasonCharacters));
    this.number = number;
  }
}

export function callerGone(operation: string): ErrnoError {
  return new ErrnoError('ECANCELED', { operation, reason: 'the process that made the call has ended' });
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const shownCharacters = 120;
const methodNotFound = -32_601;

export class ServerConversation {
  readonly #wire: Wire;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lines = new MessageLines(sourceMessageBytes);
  readonly #onNotice: (method: string) => void;
  readonly #onFault: () => void;
  #lastNumber = 0;
  #unaskedBytes = 0;
  #hasAnswered = false;
  #over: ErrnoError | undefined;

  /** `onFault`: it is over because of what the server did, and the server is to be ended. */
  constructor(wire: Wire, onNotice: (method: string) => void, onFault: () => void) {
    this.#wire = wire;
    this.#onNotice = onNotice;
    this.#onFault = onFault;
  }

  /** Why nothing can be asked any more. */
  get over(): ErrnoError | undefined {
    return this.#over;
  }

  /** No answer comes any more. */
  end(error: ErrnoError): void {
    if (this.#over !== undefined) return;
    this.#over = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #fail(reason: string): void {
    if (this.#over !== undefined) return;
    this.end(new ErrnoError('EIO', { operation: 'source', reason: `its server was ended: ${reason}` }));
    this.#onFault();
  }

  take(chunk: Buffer): void {
    if (this.#over !== undefined) return;
    this.#unaskedBytes += chunk.length;
    try {
      for (const line of this.#lines.push(chunk)) if (this.#over === undefined) this.#line(line);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      this.#fail(error.reason);
    }
    if (this.#unaskedBytes > sourceUnaskedBytes) {
      this.#fail(`it sent ${sourceUnaskedBytes} bytes, or too many lines, without answering`);
    }
  }

  #line(line: Buffer): void {
    this.#unaskedBytes += sourceUnaskedLineBytes;
    const text = line.toString('utf8').trim();
    if (text === '') return;
    // Before its first answer a server may greet anyone who reads its output.
    if (!this.#hasAnswered && !/^[[{]/.test(text)) return;
    if (isDeeperThan(text, sourceDepth)) return void this.#fail('it sent JSON that is nested too deep');
    let message: unknown;
    try {
      message = parseJson(text);
    } catch {
      return void this.#fail(`it sent what is not JSON: ${text.slice(0, shownCharacters)}`);
    }
    for (const each of Array.isArray(message) ? (message as unknown[]) : [message]) this.#message(each);
  }

  #message(message: unknown): void {
    if (!isRecord(message)) return void this.#fail('it sent a message that is not an object');
    const { id, method } = message;
    if (typeof method === 'string') return void (id === undefined ? this.#onNotice(method) : this.#refuse(id, method));
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    // The answer to what was cancelled.
    if (waiting === undefined) return;
    this.#waiting.delete(id as number);
    this.#unaskedBytes = 0;
    this.#hasAnswered = true;
    const { error } = message;
    if (!isRecord(error)) return void waiting.resolve(message['result']);
    const { code, message: said } = error;
    waiting.reject(
      new ServerRefusal(typeof code === 'number' ? code : 0, typeof said === 'string' ? said : 'no reason'),
    );
  }

  #refuse(id: unknown, method: string): void {
    const answer = method === 'ping' ? { result: {} } : { error: { code: methodNotFound, message: 'not supported' } };
    this.#send({ id, ...answer });
  }

  #send(message: Schema): void {
    if (this.#over !== undefined) return;
    const unread = this.#wire.send(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
    if (unread > 2 * sourceMessageBytes) this.#fail('it reads nothing of what it is sent');
  }

  notify(method: string, params: Schema = {}): void {
    this.#send({ method, params });
  }

  /** Rejects with ETIMEDOUT, ECANCELED, why the conversation is over, or what the server refused with. */
  async request(method: string, params: Schema, { milliseconds, signal }: ServerAsking): Promise<unknown> {
    if (this.#over !== undefined) throw this.#over;
    this.#lastNumber += 1;
    const id = this.#lastNumber;
    const drop = (error: ErrnoError) => {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) return;
      this.#waiting.delete(id);
      this.notify('notifications/cancelled', { requestId: id, reason: error.reason });
      waiting.reject(error);
    };
    const late = () =>
      drop(new ErrnoError('ETIMEDOUT', { operation: method, reason: `no answer within ${milliseconds / 1000} s` }));
    const gone = () => drop(callerGone(method));
    const stopClock = after(milliseconds, late);
    signal?.addEventListener('abort', gone, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#send({ id, method, params });
        if (signal?.aborted === true) gone();
      });
    } finally {
      stopClock();
      signal?.removeEventListener('abort', gone);
    }
  }
}
