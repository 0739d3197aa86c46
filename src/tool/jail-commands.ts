/**
 * Commands beside the one that a jail was made for, asked of the jail itself: by a socket that it is given, over which their streams come.
 * Made for every view, so it loads nothing before the first is asked for.
 */
import { closeSync, write } from 'node:fs';
import { constants } from 'node:os';
import { ErrnoError } from '../base/errno.js';
import type { FuseLibrary } from '../fuse/fuse-library.js';
import type { AskedCommands, RunningCommand, ServedCommand } from '../jail/asked-commands.js';
import type { BesideAsker } from '../jail/launch-request.js';
import type { Report } from '../jail/report.js';

/** u32 number of the command, u32 which of its streams it is. */
const streamBytes = 8;

export class JailCommands implements BesideAsker {
  readonly #library: FuseLibrary;
  #socket: number | undefined;
  #stopWatching: (() => void) | undefined;
  #commands: Promise<AskedCommands> | undefined;
  #asked: AskedCommands | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(library: FuseLibrary) {
    this.#library = library;
  }

  open(): number {
    const pair = this.#library.pair();
    if (typeof pair === 'number') {
      throw new ErrnoError('EMFILE', { operation: 'view', reason: `no socket could be made (errno ${-pair})` });
    }
    const [ours, theirs] = pair;
    this.#socket = ours;
    return theirs;
  }

  take(report: Report): void {
    this.#asked?.take(report);
  }

  lose(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#stopWatching?.();
    this.#asked?.lose('the command that called it has ended');
    // What is being written is written to this descriptor and no other.
    if (socket !== undefined) void this.#written.then(() => closeSync(socket));
  }

  /** EAGAIN where the jail is not made yet, or has ended. */
  async start(command: ServedCommand): Promise<RunningCommand> {
    this.#commands ??= this.#begin();
    const commands = await this.#commands;
    if (this.#socket === undefined) throw notThere();
    return commands.start(command, undefined);
  }

  async #begin(): Promise<AskedCommands> {
    const [{ AskedCommands }, { Socket }] = await Promise.all([
      import('../jail/asked-commands.js'),
      import('node:net'),
    ]);
    const socket = this.#socket;
    if (socket === undefined) throw notThere();
    const commands = new AskedCommands((bytes) => this.#write(bytes));
    const about = Buffer.alloc(streamBytes);
    const watching = this.#library.watch(socket, () => {
      const descriptor = this.#library.receive(socket, about);
      const isLost = descriptor === -constants.errno.EMFILE;
      if (descriptor < 0 && !isLost) return void this.#stopWatching?.();
      const stream = about.readUInt32LE(4);
      if (isLost) return commands.handOver(about.readUInt32LE(0), stream, undefined);
      const made = new Socket({ fd: descriptor, readable: stream > 0, writable: stream === 0 });
      commands.handOver(about.readUInt32LE(0), stream, made);
    });
    if (typeof watching === 'number') throw notThere();
    let isWatching = true;
    this.#stopWatching = () => {
      if (isWatching) watching();
      isWatching = false;
    };
    this.#asked = commands;
    return commands;
  }

  /** Whole and in order, by a thread of Node's: a jail that is slow to read must not hold this process up. */
  #write(bytes: Buffer): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const writeRest = (at: number): Promise<void> =>
      new Promise((resolve) => {
        write(socket, bytes, at, bytes.length - at, null, (error, count) => {
          // A jail that has ended says so by its end.
          resolve(error !== null || at + count >= bytes.length ? undefined : writeRest(at + count));
        });
      });
    this.#written = this.#written.then(() => writeRest(0));
  }
}

function notThere(): ErrnoError {
  return new ErrnoError('EAGAIN', { operation: 'call', reason: "the caller's jail is not running" });
}
