/** An MCP server by streamable HTTP for tests: answers as JSON and as events, has sessions, and says what it was sent. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> };
}

const tools = ['whoami', 'fail', 'expire', 'change', 'garbage'];

export class HttpMcpServer {
  /** The header of each request. */
  readonly authorizations: (string | undefined)[] = [];
  readonly ended: string[] = [];
  readonly #sessions = new Set<string>();
  readonly #listeners = new Set<ServerResponse>();
  readonly #tools = [...tools];
  #started = 0;

  readonly handle: RequestListener = (request, response) => {
    this.authorizations.push(request.headers.authorization);
    const session = request.headers['mcp-session-id'];
    const isKnown = typeof session === 'string' && this.#sessions.has(session);
    if (request.method === 'POST') return void this.#post(request, response, isKnown ? session : undefined);
    if (!isKnown) return void response.writeHead(404).end();
    if (request.method === 'DELETE') {
      this.ended.push(session);
      return void response.end();
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
    this.#listeners.add(response);
    response.once('close', () => this.#listeners.delete(response));
  };

  async #post(request: IncomingMessage, response: ServerResponse, session: string | undefined): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { id, method, params } = JSON.parse(body) as Asked;
    const answer = (result: unknown) => ({ jsonrpc: '2.0', id, result });
    if (method === 'initialize') {
      this.#started += 1;
      const made = `session-${this.#started}`;
      this.#sessions.add(made);
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': made });
      const capabilities = { tools: { listChanged: true } };
      const result = { protocolVersion: '2025-03-26', capabilities, serverInfo: { name: 'http', version: '1' } };
      return void response.end(JSON.stringify(answer(result), undefined, 2));
    }
    if (session === undefined) return void response.writeHead(404).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (request.headers['mcp-protocol-version'] !== '2025-03-26') return void response.writeHead(400).end();
    if (method === 'tools/list') {
      const listed = this.#tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end(`event: message\ndata: ${JSON.stringify(answer({ tools: listed }))}\n\n`);
    }
    this.#call(params?.name ?? '', session, request, response, answer);
  }

  #call(
    name: string,
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
    answer: (result: unknown) => unknown,
  ): void {
    const text = (said: string) => JSON.stringify(answer({ content: [{ type: 'text', text: said }] }));
    switch (name) {
      case 'fail':
        return void response.writeHead(500).end();
      case 'expire':
        this.#sessions.delete(session);
        return void response.writeHead(404).end();
      case 'garbage':
        return void response.writeHead(200, { 'content-type': 'application/json' }).end('{');
      case 'change':
        this.#tools.push('later');
        for (const listener of this.#listeners) {
          listener.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`);
        }
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(text(`${session} ${request.headers.authorization ?? 'nobody'}`));
  }
}
