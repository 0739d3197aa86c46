/** Bytes through a CONNECT tunnel of the network proxy, against a direct connection. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { allowing, listenRaw, startProxy, tunnelTo } from '../src/network/proxy-fixture.js';
import { measure, print } from './measure.js';

const megabytes = 256;
const connections = 200;

// Host and proxy end with whoever started them.
process.once('disconnect', () => process.exit());
if (process.argv[2] === 'host') await serveHost();
else if (process.argv[2] === 'proxy') await serveProxy(Number(process.argv[3]));
else await compare();

/** Sends as many blocks as the client's first two bytes say. */
async function serveHost(): Promise<void> {
  const block = Buffer.alloc(1024 * 1024, 'x');
  const { port } = await listenRaw((socket) => {
    socket.once('data', (first: Buffer) => {
      let left = first.readUInt16BE();
      const more = () => {
        while (left > 0) {
          left -= 1;
          if (!socket.write(block)) return void socket.once('drain', more);
        }
        socket.end();
      };
      more();
    });
  });
  process.send?.(port);
}

async function serveProxy(host: number): Promise<void> {
  const { port } = await startProxy(allowing(`host.example:${host}`));
  process.send?.(port);
}

/** Host, proxy and client are three processes, as they are in life. */
async function started(...args: readonly string[]) {
  const child = fork(new URL(import.meta.url), args);
  const [port] = (await once(child, 'message')) as [number];
  return { port, stop: () => child.kill() };
}

async function receive(socket: Socket, blocks: number): Promise<void> {
  const request = Buffer.alloc(2);
  request.writeUInt16BE(blocks);
  socket.write(request);
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(socket, 'end');
  socket.end();
  if (bytes !== blocks * 1024 * 1024) throw new Error(`received ${bytes} bytes`);
}

async function compare(): Promise<void> {
  const host = await started('host');
  const proxy = await started('proxy', String(host.port));
  const target = `host.example:${host.port}`;
  const direct = async () => connect(host.port, '127.0.0.1');
  const tunnel = () => tunnelTo(proxy.port, target);
  const inTurn = async (open: () => Promise<Socket>) => {
    for (let i = 0; i < connections; i++) await receive(await open(), 0);
  };
  try {
    print(
      await measure({
        title: `${megabytes} MiB from a host on loopback: through the proxy, against a direct connection`,
        anchor: 'direct',
        rounds: 9,
        notes: ['Host, proxy and client are a process each; loopback is faster than any network.'],
        subjects: [
          { name: 'direct', run: async () => receive(await direct(), megabytes) },
          { name: 'CONNECT tunnel', run: async () => receive(await tunnel(), megabytes) },
        ],
      }),
    );
    print(
      await measure({
        title: `${connections} connections in turn, opened and closed`,
        anchor: 'direct',
        rounds: 9,
        subjects: [
          { name: 'direct', run: () => inTurn(direct) },
          { name: 'CONNECT tunnel', run: () => inTurn(tunnel) },
        ],
      }),
    );
  } finally {
    proxy.stop();
    host.stop();
  }
}
