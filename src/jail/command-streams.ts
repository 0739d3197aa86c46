/** The pipes of one command of a kept jail, as the jail program hands them over: read, written, and left to those it leaves behind. */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pipeRestBytes } from '../base/limits/commands.js';
import { OutputPatience } from './taken-output.js';

/** No more is read of a stream until what this returns has resolved: a slow reader slows the command, as in any pipe. */
export type OutputListener = (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;

export class CommandStreams {
  readonly #expected: number;
  readonly #onOutput: OutputListener;
  readonly #sockets = new Map<number, Socket>();
  readonly #slow = new Set<Promise<void>>();
  readonly #patience = new OutputPatience();
  #heardBytes = 0;
  #isLost = false;
  #tellAll: () => void = () => undefined;
  readonly #all: Promise<void>;

  constructor(expected: number, onOutput: OutputListener) {
    this.#expected = expected;
    this.#onOutput = onOutput;
    this.#all = new Promise((resolve) => {
      this.#tellAll = resolve;
    });
  }

  add(stream: number, socket: Socket): void {
    if (this.#isLost) return void socket.destroy();
    this.#sockets.set(stream, socket);
    // A command that ends breaks its pipes.
    socket.on('error', () => undefined);
    if (stream > 0) socket.on('data', (chunk: Buffer) => this.#read(stream === 1 ? 'stdout' : 'stderr', socket, chunk));
    if (this.#sockets.size === this.#expected) this.#tellAll();
  }

  /** One of them will never come: nothing is heard, or written, any more. */
  lose(): void {
    this.#isLost = true;
    this.destroy();
    this.#tellAll();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  #read(stream: 'stdout' | 'stderr', socket: Socket, chunk: Buffer): void {
    this.#heardBytes += chunk.length;
    const taken = this.#onOutput(stream, chunk);
    if (taken === undefined) return;
    socket.pause();
    const slow = taken.finally(() => {
      this.#slow.delete(slow);
      socket.resume();
    });
    this.#slow.add(slow);
  }

  async write(chunk: Buffer): Promise<void> {
    await this.#all;
    const socket = this.#sockets.get(0);
    if (socket === undefined || socket.destroyed) return;
    await new Promise<void>((resolve) => socket.write(chunk, () => resolve()));
  }

  async endInput(): Promise<void> {
    await this.#all;
    this.#sockets.get(0)?.destroySoon();
  }

  /**
   * The command has ended. What it wrote is in the pipes: one turn of the loop to hear of it, one to read it, until there is no
   * more, or more than a pipe holds. A process that it left behind may go on writing; that is read and dropped, since a closed
   * pipe would kill it.
   */
  async settle(): Promise<void> {
    await this.#all;
    if (this.#isLost) return this.destroy();
    const most = this.#heardBytes + pipeRestBytes;
    for (let heard = -1; heard !== this.#heardBytes && heard < most; ) {
      heard = this.#heardBytes;
      await this.#patience.wait(Promise.all(this.#slow));
      await nextTurn();
      await nextTurn();
    }
    this.#patience.end();
    for (const [stream, socket] of this.#sockets) {
      if (stream === 0) socket.destroy();
      else socket.removeAllListeners('data').resume().unref();
    }
  }

  /** The command was killed: its output is waited for a while only. */
  killed(): void {
    this.#patience.killed();
  }

  destroy(): void {
    this.#patience.end();
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}
