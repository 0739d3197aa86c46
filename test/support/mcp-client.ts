/** The official MCP client, with a server that was started as any user. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Running } from './process.js';

/** The client's own transport cannot start a server as another user. */
export class ProcessTransport implements Transport {
  readonly #server: Running;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  constructor(server: Running) {
    this.#server = server;
  }

  async start(): Promise<void> {
    let left = '';
    this.#server.child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (left + chunk.toString('utf8')).split('\n');
      left = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSON.parse(line) as JSONRPCMessage);
    });
    void this.#server.finished.then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#server.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#server.child.stdin?.end();
    await this.#server.finished;
  }
}

export interface Told {
  readonly text: string;
  readonly facts: Record<string, unknown>;
  readonly isError: boolean;
}

export function told(result: unknown): Told {
  const { content, structuredContent = {}, isError = false } = result as CallToolResult;
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', facts: structuredContent, isError };
}
