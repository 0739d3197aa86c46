import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FaultWalls } from './fault-walls.js';

/** By whose work they are, what threw. */
const faults: string[] = [];
const walledAs = (name: string) => ({
  failed: (error: unknown) => void faults.push(`${name}: ${error instanceof Error ? error.message : error}`),
});

describe('what throws and is not handled is the fault of whose work it is', { concurrency: 1 }, () => {
  const walls = new FaultWalls();
  const names = ['uncaughtException', 'unhandledRejection'] as const;
  const handlers = names.map((name) => [name, process.rawListeners(name as 'exit')] as const);
  const servers: Server[] = [];

  before(() => walls.raise((error) => void faults.push(`nobody: ${error instanceof Error ? error.message : error}`)));
  after(() => {
    for (const [name, own] of handlers) {
      process.removeAllListeners(name);
      for (const handler of own) process.on(name, handler as () => void);
    }
    for (const server of servers) server.close();
  });

  const seen = async (...wanted: readonly string[]) => {
    for (let tries = 0; faults.length < wanted.length && tries < 200; tries += 1) await sleep(10);
    assert.deepEqual(faults.splice(0).sort(), [...wanted].sort());
  };

  test('in timers, promises and programs that it started', async () => {
    walls.within(walledAs('one'), () => {
      setTimeout(() => {
        throw new Error('timer');
      });
      void sleep(5).then(() => {
        throw new Error('promise');
      });
    });
    walls.within(walledAs('two'), () => {
      spawn('true').once('close', () => {
        throw new Error('program');
      });
    });
    await seen('one: timer', 'one: promise', 'two: program');
  });

  test('in connections to its servers: at once, and in what comes of them', async () => {
    const ports: number[] = [];
    for (const name of ['one', 'two']) {
      await new Promise<void>((resolve) => {
        walls.within(walledAs(name), () => {
          const server = createServer((socket) => {
            socket.on('data', (chunk) => {
              socket.destroy();
              void sleep(1).then(() => {
                throw new Error(`later, ${chunk}`);
              });
              throw new Error(`at once, ${chunk}`);
            });
          });
          servers.push(server.listen(0, () => resolve()));
        });
      });
      const address = servers.at(-1)?.address();
      if (address !== null && typeof address === 'object') ports.push(address.port);
    }
    for (const port of ports.reverse())
      connect(port)
        .on('error', () => undefined)
        .end('x');
    await seen('one: at once, x', 'one: later, x', 'two: at once, x', 'two: later, x');
  });

  test('in streams and sockets that its programs hand over: at once, and in what comes of them', async () => {
    const program = `const { connect, createServer } = require('node:net');
      const given = createServer().listen(0, () =>
        process.send('listens', given, () => given.close(() => process.send('closed'))));
      // What it would read before it gives the stream away would be lost.
      const own = createServer({ pauseOnConnect: true }, (socket) => {
        own.close();
        process.send('stream', socket);
      }).listen(0, () => connect(own.address().port).end('x'));`;
    const ended: Promise<unknown>[] = [];
    /** Programs that take no connection any more of what they gave away. */
    let closed = 0;
    for (const name of ['one', 'two'])
      walls.within(walledAs(name), () => {
        const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
        ended.push(new Promise((resolve) => child.once('close', resolve)));
        let left = 2;
        const fails = (what: string) => (socket: Socket) =>
          socket.on('data', (chunk) => {
            socket.destroy();
            left -= 1;
            if (left === 0) child.kill();
            void sleep(1).then(() => {
              throw new Error(`later, ${what} ${chunk}`);
            });
            throw new Error(`at once, ${what} ${chunk}`);
          });
        child.on('message', (what, given) => {
          if (what === 'closed') closed += 1;
          else if (what === 'stream') fails('stream')((given as Socket).resume());
          else servers.push((given as Server).on('connection', fails('listens')));
        });
      });
    for (let tries = 0; closed < 2 && tries < 6000; tries += 1) await sleep(10);
    for (const server of servers.slice(2)) {
      const address = server.address();
      if (address !== null && typeof address === 'object')
        connect(address.port)
          .on('error', () => undefined)
          .end('y');
    }
    await Promise.all(ended);
    await seen(
      ...['one', 'two'].flatMap((name) =>
        ['at once', 'later'].flatMap((when) => [`${name}: ${when}, stream x`, `${name}: ${when}, listens y`]),
      ),
    );
  });

  test('what is the work of none is said to be that', async () => {
    setTimeout(() => {
      throw new Error('outside');
    });
    await seen('nobody: outside');
  });
});
