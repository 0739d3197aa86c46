/** What the network proxy costs: 1 GiB, and 1,000 small requests, against the same without a proxy. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, get, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, get as getSecure, Agent as SecureAgent } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../src/network/certificate-fixture.js';
import { allowing, listen, socksRequest, startProxy, tunnelTo } from '../src/network/proxy-fixture.js';
import { measure, print, type Subject } from './measure.js';

const mebibytes = 1_024;
const requests = 1_000;
const small = 200;
const name = 'host.example';
const loopback = '127.0.0.1';

interface Ports {
  /** Of the host: in clear and over TLS. */
  readonly plain: number;
  readonly secure: number;
}

// Host and proxy end with whoever started them.
process.once('disconnect', () => process.exit());
if (process.argv[2] === 'host') await serveHost();
else if (process.argv[2] === 'proxy') await serveProxy();
else await compare();

/** `/N` is answered with N MiB, `/` with a few bytes. */
async function serveHost(): Promise<void> {
  const block = Buffer.alloc(1024 * 1024, 'x');
  const answer = ({ url = '/' }: IncomingMessage, response: ServerResponse) => {
    let left = Number(url.slice(1));
    response.setHeader('Content-Length', left > 0 ? left * block.length : small);
    const more = () => {
      while (left > 0) {
        left -= 1;
        if (!response.write(block)) return void response.once('drain', more);
      }
      response.end();
    };
    if (left > 0) more();
    else response.end(block.subarray(0, small));
  };
  const [, , , key = '', cert = ''] = process.argv;
  const plain = await listen(createServer(answer));
  const secure = await listen(createSecureServer({ key, cert }, answer));
  process.send?.({ plain: plain.port, secure: secure.port } satisfies Ports);
}

async function serveProxy(): Promise<void> {
  const [, , , cert = '', plain = '', secure = ''] = process.argv;
  const { port } = await startProxy({
    ...allowing(`${name}:${plain}`, `${name}:${secure}`),
    secrets: [{ host: name, header: 'Authorization', value: 'Bearer 0123456789abcdef', port: Number(secure) }],
    certificates: [cert],
  });
  process.send?.(port);
}

/** Host, proxy and client are three processes, as they are in life. */
async function started<T>(...args: readonly string[]): Promise<{ readonly told: T; stop(): void }> {
  const child = fork(new URL(import.meta.url), args);
  const [told] = (await once(child, 'message')) as [T];
  return { told, stop: () => child.kill() };
}

type Get = (path: string) => Promise<void>;

/** One request: all of its answer, and none of it kept. */
function getter(ask: (path: string, done: (answer: IncomingMessage) => void) => ReturnType<typeof get>): Get {
  return (path) =>
    new Promise((resolve, reject) => {
      const expected = path === '/' ? small : Number(path.slice(1)) * 1024 * 1024;
      ask(path, (answer) => {
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
        answer.once('end', () => (bytes === expected ? resolve() : reject(new Error(`received ${bytes} bytes`))));
      }).once('error', reject);
    });
}

async function socksTo(proxy: number, port: number): Promise<Socket> {
  const socket = connect(proxy, loopback);
  socket.write(socksRequest(name, port));
  for (let left = 12; left > 0; ) {
    const reply = socket.read(Math.min(left, socket.readableLength)) as Buffer | null;
    left -= reply?.length ?? 0;
    if (left > 0) await once(socket, 'readable');
  }
  return socket;
}

/** The ways to ask, with a new connection each time or with one that is kept. */
function ways(host: Ports, proxy: number, ca: string) {
  const through = (open: () => Promise<Socket>, keepAlive: boolean): Get => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    const createConnection = (_options: unknown, done: (error: Error | null, socket: Socket) => void) => {
      void open().then((socket) => done(null, socket));
    };
    Object.assign(agent, { createConnection });
    return getter((path, done) => get({ agent, path, host: name }, done));
  };
  const clear = (keepAlive: boolean, options: (path: string) => RequestOptions): Get => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    return getter((path, done) => get({ agent, host: loopback, ...options(path) }, done));
  };
  return {
    direct: (kept: boolean) => clear(kept, (path) => ({ port: host.plain, path })),
    plain: (kept: boolean) => clear(kept, (path) => ({ port: proxy, path: `http://${name}:${host.plain}${path}` })),
    tunnel: (kept: boolean) => through(() => tunnelTo(proxy, `${name}:${host.plain}`), kept),
    socks: (kept: boolean) => through(() => socksTo(proxy, host.plain), kept),
    directTls: (kept: boolean) => {
      const agent = new SecureAgent({ keepAlive: kept, maxSockets: 1, ca, servername: name });
      return getter((path, done) => getSecure({ agent, host: loopback, port: host.secure, path }, done));
    },
    injected: (kept: boolean) => clear(kept, (path) => ({ port: proxy, path: `http://${name}${path}` })),
  };
}

async function compare(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-bench-network-'));
  const { key, cert } = makeCertificate(directory, name);
  rmSync(directory, { recursive: true });
  const host = await started<Ports>('host', key, cert);
  const proxy = await started<number>('proxy', cert, String(host.told.plain), String(host.told.secure));
  const { direct, plain, tunnel, socks, directTls, injected } = ways(host.told, proxy.told, cert);
  const notes = ['Host, proxy and client are a process each; loopback is faster than any network.'];
  const subject = (name: string, ask: Get, times: number, path: string): Subject => ({
    name,
    run: async () => {
      for (let i = 0; i < times; i++) await ask(path);
    },
  });
  const compared = async (title: string, rounds: number, subjects: readonly Subject[]) =>
    print(await measure({ title, anchor: subjects[0]?.name ?? '', rounds, warmUpRounds: 1, subjects, notes }));
  const large = (name: string, ask: Get) => subject(name, ask, 1, `/${mebibytes}`);
  const many = (name: string, ask: Get) => subject(name, ask, requests, '/');
  const openings = (kept: boolean) => (kept ? 'on one kept connection' : 'a new connection each');
  try {
    await compared(`${mebibytes} MiB by HTTP`, 7, [
      large('direct', direct(false)),
      large('CONNECT tunnel', tunnel(false)),
      large('SOCKS5', socks(false)),
      large('plain HTTP', plain(false)),
    ]);
    await compared(`${mebibytes} MiB by HTTPS, with a secret that the proxy adds`, 5, [
      large('direct', directTls(false)),
      large('added by the proxy', injected(false)),
    ]);
    for (const kept of [true, false]) {
      await compared(`${requests} small requests by HTTP in turn, ${openings(kept)}`, 7, [
        many('direct', direct(kept)),
        many('CONNECT tunnel', tunnel(kept)),
        many('SOCKS5', socks(kept)),
        // The proxy closes after each request, whatever the client wishes.
        ...(kept ? [] : [many('plain HTTP', plain(kept))]),
      ]);
    }
    await compared(`${requests} small requests by HTTPS in turn, with a secret that the proxy adds`, 5, [
      many('direct, a new connection each', directTls(false)),
      many('added by the proxy', injected(false)),
      many('direct, one kept connection', directTls(true)),
    ]);
  } finally {
    proxy.stop();
    host.stop();
  }
}
