/**
 * Walls between the kept jails of one process: an exception that nothing handles ends the kept jail in whose work it was thrown, and no
 * other. Node follows whose work it is through promises, timers and programs that were started, but not to connections that came in, and
 * not out of a handler that throws at once: for these it is noted where they come from.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ChildProcess } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { Server, Socket } from 'node:net';

export interface Walled {
  /** Something in its work threw, and nothing handled it. */
  failed(error: unknown): void;
}

type Emit = (this: EventEmitter, name: string | symbol, ...values: unknown[]) => boolean;

export class FaultWalls {
  readonly #current = new AsyncLocalStorage<Walled>();

  /** Whatever comes of `act`, now or later, is the work of this one. */
  within<T>(walled: Walled, act: () => T): T {
    return this.#current.run(walled, act);
  }

  /** From here on, for the whole process. `onUnknown` is for what is the work of none. */
  raise(onUnknown: (error: unknown) => void): void {
    for (const name of ['uncaughtException', 'unhandledRejection'] as const) {
      process.removeAllListeners(name);
      process.on(name, (error: unknown) => {
        const walled = this.#current.getStore();
        if (walled === undefined) onUnknown(error);
        else walled.failed(error);
      });
    }
    const adopt = (value: unknown) => this.#adopt(value);
    const { listen } = Server.prototype;
    Server.prototype.listen = function listenAdopted(this: Server, ...values: unknown[]): Server {
      adopt(this);
      return (listen as (...given: unknown[]) => Server).apply(this, values);
    };
    this.#adoptWith(Server.prototype, 'connection');
    // Streams of commands, and listening sockets, that a jail hands over.
    this.#adoptWith(ChildProcess.prototype, 'message');
  }

  #adoptWith(prototype: EventEmitter, event: string): void {
    const emit: Emit = prototype.emit;
    const adopt = (value: unknown) => this.#adopt(value);
    prototype.emit = function emitAdopted(this: EventEmitter, name: string | symbol, ...values: unknown[]): boolean {
      if (name === event) for (const value of values) adopt(value);
      return emit.call(this, name, ...values);
    };
  }

  #adopt(value: unknown): void {
    const walled = this.#current.getStore();
    if (walled === undefined || !(value instanceof Socket || value instanceof Server)) return;
    const emit: Emit = value.emit;
    value.emit = (name: string | symbol, ...values: unknown[]): boolean =>
      this.#current.run(walled, () => {
        try {
          return emit.call(value, name, ...values);
        } catch (error) {
          walled.failed(error);
          return true;
        }
      });
  }
}
