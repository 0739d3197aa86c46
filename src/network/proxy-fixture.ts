/** For tests and benchmarks: a proxy on this machine's loopback, hosts behind it, and a client that says what it likes. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostNetwork } from '../authority/network.js';
import type { ConnectionEvent } from './events.js';
import { type NetworkProxy, type NetworkProxyOptions, startNetworkProxy } from './proxy.js';

export interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}

export function listenHttp(handle: RequestListener): Promise<Listening> {
  return listen(createHttpServer(handle));
}

export function listenRaw(handle: (socket: Socket) => void): Promise<Listening> {
  return listen(createServer({ allowHalfOpen: true }, handle));
}

export interface ProxyFixture {
  readonly port: number;
  readonly events: readonly ConnectionEvent[];
  readonly proxy: NetworkProxy;
}

/** Names end in `.example`; all of them are at 127.0.0.1 unless `resolve` says otherwise. */
export async function startProxy(options: Partial<NetworkProxyOptions> = {}): Promise<ProxyFixture> {
  const server = createServer();
  const events: ConnectionEvent[] = [];
  const proxy = startNetworkProxy({
    server,
    grant: hostNetwork([]),
    resolve: async () => ['127.0.0.1'],
    onEvent: (event) => events.push(event),
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, events, proxy };
}

/** Grants these `host:port` by name and at private addresses: what an explicit rule of an operator does. */
export function allowing(...hosts: readonly string[]): Pick<NetworkProxyOptions, 'grant' | 'privateHosts'> {
  return { grant: hostNetwork(hosts), privateHosts: hosts };
}

/** Waits until so many attempts have ended. */
export async function told(proxy: NetworkProxy, attempts: number): Promise<readonly ConnectionEvent[]> {
  const end = Date.now() + 10_000;
  for (;;) {
    const events = proxy.connections();
    const count = events.reduce((sum, event) => sum + event.count, 0);
    if (count >= attempts) return events;
    if (Date.now() > end) throw new Error(`waited in vain for ${attempts} attempts, saw ${count}`);
    await sleep(2);
  }
}

/** Sends bytes, optionally ends its half, and gives what came back until the other side closed. */
export async function say(port: number, bytes: string | Buffer, end = false): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  if (end) socket.end();
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => socket.end());
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** All that comes until the other side ends its half; the own half stays open. */
export async function receive(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'end');
  return Buffer.concat(chunks);
}

/** A tunnel by CONNECT, open and past its answer. */
export async function tunnelTo(port: number, target: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  let head = '';
  while (!head.includes('\r\n\r\n')) {
    const [byte] = (await once(socket, 'readable').then(() => [socket.read() as Buffer | null])) as [Buffer | null];
    if (byte === null && socket.readableEnded) break;
    head += byte?.toString('latin1') ?? '';
  }
  const at = head.indexOf('\r\n\r\n') + 4;
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head.split('\r\n')[0]);
  if (at < head.length) socket.unshift(Buffer.from(head.slice(at), 'latin1'));
  return socket;
}

export function socksRequest(host: string | Buffer, port: number, command = 1): Buffer {
  const name = typeof host === 'string' ? Buffer.from(host) : host;
  return Buffer.concat([
    Buffer.of(5, 1, 0),
    Buffer.of(5, command, 0, 3, name.length),
    name,
    Buffer.of(port >> 8, port & 0xff),
  ]);
}
