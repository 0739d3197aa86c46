/** The process that keeps a jail: it listens on its socket until it is stopped, or idle for too long. */
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFileAtomic } from '../base/atomic-file.js';
import { terminationGraceMilliseconds } from '../base/limits/commands.js';
import type { KeptJailPlace } from './jail-place.js';
import type { KeptJail } from './kept-jail.js';
import { loadPeerCheck } from './peer.js';

/** What `FORK.json` says of a live kept jail. */
export interface KeptJailFacts {
  readonly pid: number;
  readonly origin: string;
  readonly fork: string;
  readonly started: string;
}

/** By way of the directory's descriptor: the path of a socket may be longer than an address has room for. */
export function withSocketPath<T>(place: KeptJailPlace, use: (path: string) => T): T {
  const directory = openSync(place.directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return use(`/proc/self/fd/${directory}/${place.socketName}`);
  } finally {
    closeSync(directory);
  }
}

/** Whether anybody answers there. */
export function isLive(place: KeptJailPlace): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      withSocketPath(place, (path) => {
        const socket = connect(path);
        socket.once('connect', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', () => resolve(false));
      });
    } catch {
      resolve(false); // there is no such directory
    }
  });
}

function listen(server: Server, place: KeptJailPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    withSocketPath(place, (path) => server.listen(path, resolve));
  });
}

/** What is needed to answer a connection. */
export interface Served {
  readonly jail: KeptJail;
  /** Whether it is this process's own user at the other end. */
  isOwn(socket: Socket): boolean;
  /** Ends the kept jail. */
  stop(): void;
}

export interface KeepingRequest {
  /** It ends after this long without a request. */
  readonly idleMilliseconds: number;
  /** It can be found from here on. */
  readonly onReady: (jail: KeptJail) => void;
  /** Answers one connection; `answered` resolves when what was asked so far has its answer. */
  readonly serve: (socket: Socket, served: Served) => { readonly answered: Promise<void> };
}

interface Circumstances {
  /** Path of `peer.node`. */
  readonly peerLibrary: string;
  readonly now: Date;
}

/** Returns when the kept jail has ended and nothing is left behind. */
export async function keepJail(
  jail: KeptJail,
  place: KeptJailPlace,
  { idleMilliseconds, onReady, serve, peerLibrary, now }: KeepingRequest & Circumstances,
): Promise<void> {
  mkdirSync(place.directory, { recursive: true, mode: 0o700 });
  // What one left that was killed; nobody answered there.
  rmSync(place.socket, { force: true });
  let stop: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const isOwn = loadPeerCheck(peerLibrary);
  const clients = new Map<Socket, ReturnType<KeepingRequest['serve']>>();
  let idle: NodeJS.Timeout | undefined;
  let over = false;
  const rest = () => {
    clearTimeout(idle);
    if (clients.size === 0 && !over) idle = setTimeout(stop, idleMilliseconds);
  };
  const server = createServer((socket) => {
    clearTimeout(idle);
    socket.once('close', () => {
      clients.delete(socket);
      rest();
    });
    clients.set(socket, serve(socket, { jail, isOwn, stop }));
  });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  try {
    await listen(server, place);
    const facts: KeptJailFacts = {
      pid: process.pid,
      origin: jail.origin,
      fork: jail.fork,
      started: now.toISOString(),
    };
    writeFileAtomic(place.facts, `${JSON.stringify(facts)}\n`, { durable: false });
    rest();
    onReady(jail);
    await Promise.race([stopped, jail.ended]);
  } finally {
    over = true;
    clearTimeout(idle);
    server.close();
    for (const path of [place.socket, place.facts]) rmSync(path, { force: true });
    await jail.end();
    // A client that waits for a command gets its end, unless that needs a person.
    const answers = [...clients.values()].map(({ answered }) => answered);
    await Promise.race([Promise.all(answers), sleep(terminationGraceMilliseconds, undefined, { ref: false })]);
    for (const socket of clients.keys()) socket.destroySoon();
  }
}
