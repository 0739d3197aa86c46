/**
 * The messages of one client: a line each, read from its end of our input, and answers written as lines. What is no message is
 * answered with the error of JSON-RPC that says so, and the next line is read: a client that waited for its answer would wait for ever.
 */
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { mcpMessageBytes } from '../base/limits/commands.js';
import { membersOf, parseJson } from '../base/shape.js';
import type * as Protocol from './mcp-protocol.js';

const lineFeed = 0x0a;
const [parseError, invalidRequest] = [-32_700, -32_600];

/** A text that is no Unicode cannot be read by every parser of JSON: half of a pair, or the name of a file that is not UTF-8. */
function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value;
}

function lineOf(message: unknown): string {
  const text = JSON.stringify(message);
  return `${text.includes('\\ud') ? JSON.stringify(message, wellFormed) : text}\n`;
}

export class LineTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #messages: Pick<typeof Protocol.JSONRPCMessageSchema, 'safeParse'>;
  #pieces: Buffer[] = [];
  /** Of the line that has begun. */
  #bytes = 0;

  constructor(input: Readable, output: Writable, messages: Pick<typeof Protocol.JSONRPCMessageSchema, 'safeParse'>) {
    this.#input = input;
    this.#output = output;
    this.#messages = messages;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#take);
    // That there is no more is seen by whoever serves.
    this.#input.on('error', () => undefined);
  }

  readonly #take = (chunk: Buffer): void => {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#line();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  };

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    // Of a line that is too long nothing is kept, and its end is waited for.
    if (this.#bytes > mcpMessageBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #line(): void {
    const [pieces, bytes] = [this.#pieces, this.#bytes];
    this.#pieces = [];
    this.#bytes = 0;
    if (bytes > mcpMessageBytes) {
      return void this.#refuse(
        null,
        invalidRequest,
        `expected a message of at most ${mcpMessageBytes} bytes, got ${bytes}`,
      );
    }
    const text = Buffer.concat(pieces).toString('utf8');
    if (text.trim() === '') return;
    let value: unknown;
    try {
      value = parseJson(text);
    } catch (error) {
      return void this.#refuse(
        null,
        parseError,
        `expected JSON: ${error instanceof Error ? error.message : 'not JSON'}`,
      );
    }
    this.#message(value);
  }

  #message(value: unknown): void {
    const { success, data } = this.#messages.safeParse(value);
    if (success) return void this.onmessage?.(data);
    if (Array.isArray(value))
      return void this.#refuse(null, invalidRequest, 'expected one message a line, got a batch');
    const { id = null, result, error } = membersOf(value);
    // An answer is not answered: two that do not understand each other would never end.
    if (result !== undefined || error !== undefined) return;
    const isId = typeof id === 'string' || Number.isSafeInteger(id);
    const reason =
      'expected a JSON-RPC 2.0 message: jsonrpc, method, params as an object, and id as a string or whole number';
    this.#refuse(isId ? id : null, invalidRequest, reason);
  }

  #refuse(id: unknown, code: number, message: string): void {
    this.#output.write(lineOf({ jsonrpc: '2.0', id, error: { code, message } }));
  }

  /** Resolves when there is room for more, or nobody reads any more. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#output.write(lineOf(message)) || this.#output.destroyed) return;
    await new Promise<void>((resolve) => {
      const go = () => {
        this.#output.off('drain', go).off('close', go);
        resolve();
      };
      this.#output.on('drain', go).on('close', go);
    });
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#take).pause();
    this.#pieces = [];
    this.onclose?.();
  }
}
