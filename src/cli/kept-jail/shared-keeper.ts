/**
 * The process that keeps all kept jails of a user (docs/decisions/0057). `ctx jail start` asks it at its socket, and it answers as a
 * process of the caller's own would: with the caller's directory and environment. Each kept jail has a host of its own, and ends by
 * itself; the process ends with the last of them.
 */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { buildOf } from '../../base/build.js';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import {
  faultedJailMilliseconds,
  sharedKeeperIdleMilliseconds,
  terminationGraceMilliseconds,
} from '../../base/limits/commands.js';
import { makeDirectory } from '../../base/make-directory.js';
import { harmlessOutput } from '../../base/visible-text.js';
import type { Host } from '../../sdk/host.js';
import {
  type ClientRequest,
  encodeBytes,
  encodeFrame,
  FrameReader,
  readRequest,
  type WireFrame,
  wireKind,
} from '../../sdk/jail-wire.js';
import { KeptJails } from '../../sdk/workspace/kept-jails.js';
import {
  hasRoomForAnother,
  type KeeperSpot,
  likeOurselves,
  takeKeeperSpot,
  withSocketPath,
} from '../../sdk/workspace/shared-keeper.js';
import type { Caller, Shows } from '../caller.js';
import { findVerb } from '../find-verb.js';
import { parseArguments } from '../input/parse-arguments.js';
import { complain, printError } from '../text/output.js';
import type { Arguments, HostOf, Verb } from '../verb.js';
import { FaultWalls, type Walled } from './fault-walls.js';
import { keep } from './keep.js';
import { type RelayedHooks, VerbRelay } from './relayed-verb.js';

export interface SharedKeeping {
  readonly host: Host;
  readonly hostOf: HostOf;
  readonly hooks: RelayedHooks;
  /** `jail start`, which is what is asked here. */
  readonly startVerb: Verb;
  /** What clients of a kept jail may ask for. */
  readonly verbs: readonly Verb[];
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function errorOf(act: () => void): { readonly error: unknown } | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** One kept jail, or the start of one. */
class Kept implements Walled {
  readonly ending = new AbortController();
  /** Resolves where it is not waited for any more. */
  readonly givenUp: Promise<void>;
  #giveUp: () => void = () => undefined;
  /** Where it writes once the one who started it has gone. */
  complaints: string | undefined;
  /** To the one who started it, until it is ready. */
  hears: ((text: string) => void) | undefined;

  constructor() {
    this.givenUp = new Promise((resolve) => {
      this.#giveUp = resolve;
    });
  }

  say(text: string): void {
    try {
      if (this.hears !== undefined) this.hears(text);
      else if (this.complaints !== undefined) appendFileSync(this.complaints, text, { mode: 0o600 });
    } catch (error) {
      // A full disk, or a store that is gone: it cannot be said anywhere.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }

  failed(error: unknown): void {
    this.say(`ctx: this is a bug in ctx, please report it; the kept jail was ended\n${describe(error)}\n`);
    this.ending.abort();
    setTimeout(this.#giveUp, faultedJailMilliseconds).unref();
  }
}

export class SharedKeeper {
  readonly #keeping: SharedKeeping;
  readonly #spot: KeeperSpot;
  readonly #build = buildOf(process.argv[1] ?? '');
  readonly #walls = new FaultWalls();
  readonly #kept = new Set<Kept>();
  /** By their sockets: of two that are asked for at once the second finds the first. */
  readonly #starting = new Map<string, Promise<void>>();
  readonly #clients = new Set<Socket>();
  readonly #isLikeUs: (socket: Socket) => boolean;
  readonly #server: Server;
  #unused: NodeJS.Timeout | undefined;
  #isEnding = false;
  #end: () => void = () => undefined;

  constructor(keeping: SharedKeeping, spot: KeeperSpot) {
    this.#keeping = keeping;
    this.#spot = spot;
    this.#isLikeUs = likeOurselves(keeping.host);
    this.#server = createServer((socket) => this.#serve(socket));
    // As of a kept jail: what cannot be taken now is no reason to end all of them.
    this.#server.on('error', () => undefined);
  }

  /** Returns when the last kept jail has ended; at once, where another process is this already. `onBegun`: it can be asked. */
  async run(onBegun: () => void): Promise<number> {
    const release = takeKeeperSpot(this.#keeping.host, this.#spot);
    if (release === undefined) return ExitCode.unavailable;
    this.#walls.raise((error) => {
      printError(`ctx: this is a bug in ctx, please report it; all kept jails were ended\n${describe(error)}\n`);
      process.exit(ExitCode.internal);
    });
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#endAll());
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    // What one left that was killed.
    rmSync(this.#spot.socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      withSocketPath(this.#spot, (path) => this.#server.listen(path, resolve));
    });
    this.#endIfUnused(sharedKeeperIdleMilliseconds);
    const unsaid = errorOf(onBegun);
    // Who started it has gone, and nobody asks it for anything.
    if (unsaid !== undefined) this.#endIfUnused(0);
    await ended;
    release();
    if (unsaid !== undefined) throw unsaid.error;
    return ExitCode.ok;
  }

  /** Each with its report. */
  #endAll(): void {
    this.#isEnding = true;
    for (const { ending } of this.#kept) ending.abort();
    this.#endIfUnused(0);
  }

  #endIfUnused(milliseconds: number): void {
    clearTimeout(this.#unused);
    if (this.#kept.size > 0) return;
    this.#unused = setTimeout(() => {
      this.#isEnding = true;
      rmSync(this.#spot.socket, { force: true });
      this.#server.close();
      for (const socket of this.#clients) socket.destroySoon();
      // Whatever is left open must not keep it.
      setTimeout(() => process.exit(), terminationGraceMilliseconds).unref();
      this.#end();
    }, milliseconds);
  }

  #serve(socket: Socket): void {
    const frames = new FrameReader();
    let isAsked = false;
    this.#clients.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#clients.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of frames.push(chunk)) {
          if (!isAsked) this.#take(socket, frame);
          isAsked = true;
        }
      } catch (error) {
        if (!(error instanceof ErrnoError)) throw error;
        socket.destroy();
      }
    });
  }

  /** Nothing has happened before it is taken: a caller that is refused keeps the jail in a process of its own. */
  #take(socket: Socket, { kind, payload }: WireFrame): void {
    const request = kind === wireKind.request ? readRequest(payload) : undefined;
    // Another one is started then.
    if (this.#isEnding) return void socket.destroy();
    const isOurs = request?.build === this.#build && this.#isLikeUs(socket) && hasRoomForAnother();
    const { verb, rest } = findVerb([this.#keeping.startVerb], request?.words ?? []);
    if (request === undefined || verb === undefined || !isOurs) {
      socket.end(encodeFrame(wireKind.refused));
      return;
    }
    socket.write(encodeFrame(wireKind.more));
    clearTimeout(this.#unused);
    const kept = new Kept();
    this.#kept.add(kept);
    const over = this.#walls
      .within(kept, () => this.#keep(kept, socket, request, rest))
      .catch((error: unknown) => kept.failed(error));
    void Promise.race([over, kept.givenUp]).then(() => {
      this.#kept.delete(kept);
      if (!socket.writableEnded) socket.destroy();
      this.#endIfUnused(0);
    });
  }

  async #keep(kept: Kept, socket: Socket, request: ClientRequest, rest: readonly string[]): Promise<void> {
    const { directory, environment } = request;
    const shown = (frame: 'O' | 'E'): Shows => ({
      write: (text) => {
        for (const bytes of encodeBytes(frame, Buffer.from(harmlessOutput(text)))) socket.write(bytes);
      },
    });
    const [stdout, stderr] = [shown('O'), shown('E')];
    const end = (exitCode: number) => void socket.end(encodeFrame(wireKind.exit, Buffer.from([exitCode & 0xff])));
    kept.hears = (text) => stderr.write(text);
    let host: Host | undefined;
    try {
      const call = parseArguments(this.#keeping.startVerb, rest);
      host = await this.#keeping.hostOf({ environment, warn: (text) => kept.say(`ctx: ${text}\n`) });
      await this.#keepIn(kept, host, call, { directory, environment, stdout, end });
    } catch (error) {
      const caller: Pick<Caller, 'stdout' | 'stderr' | 'environment'> = {
        stdout,
        stderr: { write: (text) => kept.say(String(text)) },
        environment,
      };
      end(complain(error, request.words.includes('--json') && kept.hears !== undefined, caller));
    } finally {
      kept.hears = undefined;
      host?.release?.();
    }
  }

  async #keepIn(
    kept: Kept,
    host: Host,
    call: Arguments,
    caller: Pick<Caller, 'environment' | 'stdout'> & { readonly directory: string; end(exitCode: number): void },
  ): Promise<void> {
    const { environment, directory, stdout, end } = caller;
    const { hooks, verbs } = this.#keeping;
    const spot = new KeptJails(host).at(directory, call.value('fork'));
    // The second waits until the first is there, and is refused by it; or begins, where that one failed.
    while (this.#starting.has(spot.socket)) await this.#starting.get(spot.socket);
    let started: () => void = () => undefined;
    this.#starting.set(
      spot.socket,
      new Promise((resolve) => {
        started = () => {
          this.#starting.delete(spot.socket);
          resolve();
        };
      }),
    );
    try {
      makeDirectory(spot.directory);
      await keep(call, {
        host,
        environment,
        directory,
        stdout,
        ending: kept.ending.signal,
        relay: new VerbRelay(host, hooks),
        verbs,
        onReady: () => {
          kept.complaints = spot.complaints;
          writeFileSync(spot.complaints, '', { mode: 0o600 });
          kept.hears = undefined;
          started();
        },
        onSaid: () => end(ExitCode.ok),
      });
    } finally {
      started();
    }
  }
}
