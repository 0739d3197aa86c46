/** What keeps a jail: it listens on the jail's socket until it is stopped, or idle for too long. One process may keep many. */
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { terminationGraceMilliseconds } from '../base/limits/commands.js';
import { makeDirectory } from '../base/make-directory.js';
import type { KeptJailPlace } from './jail-place.js';
import type { KeptJail } from './kept-jail.js';
import { loadPeers } from './peer.js';

/** What `FORK.json` says of a live kept jail. */
export interface KeptJailFacts {
  /** Ends with this kept jail, and this kept jail alone with it. */
  readonly pid: number;
  /** The process that keeps it, and maybe others. A build that kept each in a process of its own did not write it. */
  readonly keeper?: number;
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

/** What the kernel says where no process has the socket. Else one has it: too many may wait for it, or we have too many files open. */
const nobody: readonly unknown[] = ['ECONNREFUSED', 'ENOENT', 'ENOTDIR'];

/** Whether a process has its socket. */
export function isLive(place: KeptJailPlace): Promise<boolean> {
  return new Promise((resolve, reject) => {
    try {
      withSocketPath(place, (path) => {
        const socket = connect(path);
        socket.once('connect', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(!nobody.includes(error.code)));
      });
    } catch (error) {
      // There is no such directory that we may see.
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) resolve(false);
      else reject(fromSystemError(error, 'look for a kept jail', place.directory));
    }
  });
}

export function livesAlready(origin: string): ErrnoError {
  return new ErrnoError('EEXIST', {
    operation: 'jail start',
    path: origin,
    reason: 'this fork has a kept jail already',
    remedy: 'ctx jail exec uses it, ctx jail stop ends it',
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
  readonly onReady: (jail: KeptJail, facts: KeptJailFacts) => void;
  /** Ends it. Without it this process keeps no other one, and ends it by the signals that end a process. */
  readonly ending?: AbortSignal | undefined;
  /** Answers one connection; `answered` resolves when what was asked so far has its answer. */
  readonly serve: (socket: Socket, served: Served) => { readonly answered: Promise<void> };
}

interface Circumstances {
  /** Path of `peer.node`. */
  readonly peerLibrary: string;
  readonly now: Date;
}

/** Returns what takes it back. */
function onEnding(ending: AbortSignal | undefined, stop: () => void): () => void {
  if (ending !== undefined) {
    if (ending.aborted) stop();
    ending.addEventListener('abort', stop);
    return () => ending.removeEventListener('abort', stop);
  }
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.on(name, stop);
  return () => {
    for (const name of names) process.removeListener(name, stop);
  };
}

/** Sockets that this process is about to listen on: of two that find nobody there, one would take away the other's. */
const claimed = new Set<string>();

/** EEXIST where somebody else was quicker, while the jail was made. */
async function listenAlone(server: Server, place: KeptJailPlace, origin: string): Promise<void> {
  if (claimed.has(place.socket)) throw livesAlready(origin);
  claimed.add(place.socket);
  try {
    if (await isLive(place)) throw livesAlready(origin);
    // What one left that was killed.
    rmSync(place.socket, { force: true });
    await listen(server, place);
  } finally {
    claimed.delete(place.socket);
  }
}

/** Returns when the kept jail has ended and nothing is left behind. */
export async function keepJail(
  jail: KeptJail,
  place: KeptJailPlace,
  { idleMilliseconds, onReady, serve, ending, peerLibrary, now }: KeepingRequest & Circumstances,
): Promise<void> {
  makeDirectory(place.directory);
  let stop: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const { isOwn } = loadPeers(peerLibrary);
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
  // A process that is out of descriptors takes no connection: that client goes on without, and we go on.
  server.on('error', () => undefined);
  const forgetEnding = onEnding(ending, stop);
  try {
    await listenAlone(server, place, jail.origin);
    const isOneOfMany = ending !== undefined && jail.pid !== undefined;
    if (isOneOfMany) jail.isKeptWithOthers();
    const facts: KeptJailFacts = {
      pid: isOneOfMany ? (jail.pid ?? process.pid) : process.pid,
      keeper: process.pid,
      origin: jail.origin,
      fork: jail.fork,
      started: now.toISOString(),
    };
    writeFileAtomic(place.facts, `${JSON.stringify(facts)}\n`, { durable: false });
    rest();
    onReady(jail, facts);
    await Promise.race([stopped, jail.ended]);
  } finally {
    over = true;
    clearTimeout(idle);
    if (server.listening) {
      server.close();
      for (const path of [place.socket, place.facts]) rmSync(path, { force: true });
    }
    try {
      await jail.end();
    } finally {
      forgetEnding();
      // A client that waits for a command gets its end, unless that needs a person.
      const answers = [...clients.values()].map(({ answered }) => answered);
      await Promise.race([Promise.allSettled(answers), sleep(terminationGraceMilliseconds, undefined, { ref: false })]);
      for (const socket of clients.keys()) socket.destroySoon();
    }
  }
}
