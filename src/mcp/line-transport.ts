/**
 * The messages of one client: a line each, read from its end of our input, and answers written as lines. What is no message is
 * answered with the error of JSON-RPC that says so, and the next line is read: a client that waited for its answer would wait for ever.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { mcpMessageBytes } from '../base/limits/commands.js';
import { membersOf, parseJson } from '../base/shape.js';
import type * as Protocol from './mcp-protocol.js';

const lineFeed = 0x0a;
const [parseError, invalidRequest] = [-32_700, -32_600];

/** In what `JSON.stringify` writes: of a pair of surrogates only a half that is alone is escaped. */
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * A text that is no Unicode, in a value or a name, cannot be read by every parser of JSON: half of a pair, or the name of a file that is
 * not UTF-8.
 */
function lineOf(message: unknown): string {
  const text = JSON.stringify(message);
  if (!text.includes('\\ud')) return `${text}\n`;
  return `${text.replace(escapes, (each) => (each.length > 2 ? '\\ufffd' : each))}\n`;
}

/** What an answer to it is to have, as far as that can be read. */
function idOf(value: unknown): string | number | null {
  const { id } = membersOf(value);
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null;
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
    const line = Buffer.concat(pieces);
    const text = line.toString('utf8');
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
    // What is read in its place would be written into a file, or run.
    if (!isUtf8(line)) return void this.#refuse(idOf(value), parseError, 'expected UTF-8');
    this.#message(value);
  }

  #message(value: unknown): void {
    const { success, data } = this.#messages.safeParse(value);
    if (success) return void this.onmessage?.(data);
    if (Array.isArray(value))
      return void this.#refuse(null, invalidRequest, 'expected one message a line, got a batch');
    const { result, error } = membersOf(value);
    // An answer is not answered: two that do not understand each other would never end.
    if (result !== undefined || error !== undefined) return;
    const reason =
      'expected a JSON-RPC 2.0 message: jsonrpc, method, params as an object, and id as a string or whole number';
    this.#refuse(idOf(value), invalidRequest, reason);
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
