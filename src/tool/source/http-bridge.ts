/**
 * Runs in the jail of a source whose server is reached by HTTP: lines of JSON on stdin and stdout on one side, the
 * streamable HTTP of the protocol on the other, by the jail's proxy. So the process that answers there is read inside,
 * and what the jail is granted is all it can reach. A bundle of its own (`dist/cli/bridge.cjs`), which imports nothing
 * of ours; its configuration is put before it.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';

export interface BridgeConfiguration {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A header is added outside: the proxy makes the TLS connection, and is asked without. */
  readonly isInjected: boolean;
}

type Headers = Readonly<Record<string, string>>;
type Message = Readonly<Record<string, unknown>>;

const {
  url: address,
  headers: own,
  isInjected,
} = (globalThis as unknown as { readonly bridge: BridgeConfiguration }).bridge;
const url = new URL(address);
const proxy = new URL(process.env['HTTP_PROXY'] ?? 'http://127.0.0.1:3128');
const answerBytes = 32 * 1024 * 1024;
const reconnectMilliseconds = 3_000;
const endMilliseconds = 300;
/** For a result that comes among what the server says unasked, where its answer ended without one. */
const lateMilliseconds = 10_000;

/** Requests that have no result yet, by their ids. */
const waiting = new Set<unknown>();
let isListening = false;
let session: string | undefined;
let version: string | undefined;
let isOver = false;

function give(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

function say(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function headersFor(method: string): Headers {
  return {
    ...own,
    accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
    ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
  };
}

/** Through a tunnel: TLS from here to there. */
function tunnelled(method: string, body: string | undefined): Promise<IncomingMessage> {
  const port = url.port === '' ? '443' : url.port;
  return new Promise((resolve, reject) => {
    const asked = httpRequest({
      host: proxy.hostname,
      port: proxy.port,
      method: 'CONNECT',
      path: `${url.hostname}:${port}`,
    });
    asked.once('error', reject);
    asked.once('connect', (answer, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        return reject(new Error(String(answer.headers['x-ctx-reason'] ?? `the proxy refused (${answer.statusCode})`)));
      }
      const secure = connect({ socket, servername: url.hostname });
      secure.once('error', reject);
      const options = { method, headers: headersFor(method), createConnection: () => secure };
      httpsRequest(url, options, resolve).once('error', reject).end(body);
    });
    asked.end();
  });
}

/** By the proxy, which is asked for the whole URL. */
function plain(method: string, body: string | undefined): Promise<IncomingMessage> {
  const whole = isInjected ? `http://${url.hostname}${url.pathname}${url.search}` : url.href;
  const headers = { ...headersFor(method), host: isInjected ? url.hostname : url.host };
  const options = { host: proxy.hostname, port: proxy.port, method, path: whole, headers, agent: false };
  return new Promise((resolve, reject) => {
    httpRequest(options, resolve).once('error', reject).end(body);
  });
}

function ask(method: string, body?: string): Promise<IncomingMessage> {
  return url.protocol === 'https:' && !isInjected ? tunnelled(method, body) : plain(method, body);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytes) give(`the host sent an answer of more than ${answerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Messages of an event stream. */
async function sayEvents(answer: IncomingMessage): Promise<void> {
  let data: string[] = [];
  let bytes = 0;
  for await (const line of createInterface({ input: answer, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
      bytes += line.length;
      if (bytes > answerBytes) give(`the host sent an event of more than ${answerBytes} bytes`);
    } else if (line === '' && data.length > 0) {
      const text = data.join('\n');
      data = [];
      bytes = 0;
      if (text.trim() !== '') say(heard(JSON.parse(text)));
    }
  }
}

function membersOf(value: unknown): Message {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Of its first answer, the version that was agreed on. */
function heard(message: unknown): unknown {
  const { id, method, result } = membersOf(message);
  if (method === undefined) waiting.delete(id);
  const { protocolVersion } = membersOf(result);
  if (version === undefined && typeof protocolVersion === 'string') version = protocolVersion;
  return message;
}

function refuse(id: unknown, reason: string): void {
  if (id === undefined) return;
  waiting.delete(id);
  say({ jsonrpc: '2.0', id, error: { code: -32_000, message: reason } });
}

/** A server that was restarted, or a proxy before it, ends an answer in the middle: nobody is to wait for the rest of it. */
function missResult(id: unknown): void {
  const tell = () => {
    if (waiting.has(id)) refuse(id, 'the host ended its answer without a result');
  };
  if (isListening) setTimeout(tell, lateMilliseconds).unref();
  else tell();
}

async function pass(line: string): Promise<void> {
  const { id, method } = membersOf(JSON.parse(line));
  if (id !== undefined && method !== undefined) waiting.add(id);
  let answer: IncomingMessage;
  try {
    answer = await ask('POST', line);
  } catch (error) {
    return give(`cannot connect to ${url.host}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { statusCode = 0, headers } = answer;
  const given = headers['mcp-session-id'];
  if (method === 'initialize' && typeof given === 'string') session = given;
  if (statusCode < 200 || statusCode > 299) {
    const reason = headers['x-ctx-reason'];
    const said = reason === undefined ? `the host answered with HTTP status ${statusCode}` : String(reason);
    answer.resume();
    // What is not there for its first message or has forgotten the session is of no use any more.
    if (method === 'initialize' || (statusCode === 404 && session !== undefined)) return give(said);
    return refuse(id, said);
  }
  try {
    if (headers['content-type']?.startsWith('text/event-stream') === true) await sayEvents(answer);
    else {
      const text = await textOf(answer);
      if (text.trim() !== '' && statusCode !== 202) say(heard(JSON.parse(text)));
    }
    // After 202 it may come among what the server says unasked, as with older servers.
    if (statusCode !== 202) missResult(id);
  } catch (error) {
    refuse(id, `the host's answer cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What the server says without being asked; most offer none of it. */
async function listen(): Promise<void> {
  while (!isOver) {
    try {
      const answer = await ask('GET');
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true;
      if (answer.statusCode !== 200 || !isStream) return void answer.resume();
      isListening = true;
      await sayEvents(answer);
    } catch {
      // Calls say what is wrong.
    }
    isListening = false;
    await new Promise((resolve) => setTimeout(resolve, reconnectMilliseconds));
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  void pass(line);
  if (line.includes('"notifications/initialized"')) void listen();
});
lines.on('close', () => {
  isOver = true;
  setTimeout(() => process.exit(0), endMilliseconds);
  if (session === undefined) process.exit(0);
  ask('DELETE').then(
    () => process.exit(0),
    () => process.exit(0),
  );
});
