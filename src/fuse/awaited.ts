/**
 * Requests that wait for an engine which does not answer at once. The caller can be killed only when the request is
 * answered, so one that the kernel wants back (INTERRUPT) and that stays unanswered is answered by EINTR, and what the
 * engine says later is undone: the kernel does not know of it.
 */
import { interruptedMilliseconds } from '../base/limits/trees.js';
import type { Dispatch } from './dispatch.js';
import { inHeaderBytes, opcodes } from './wire.js';

interface Waiting {
  isOver: boolean;
  settled: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
}

export class Awaited {
  readonly #dispatch: Dispatch;
  readonly #send: (reply: Buffer) => void;
  readonly #waiting = new Map<bigint, Waiting>();
  readonly #promises = new Set<Promise<void>>();

  constructor(dispatch: Dispatch, send: (reply: Buffer) => void) {
    this.#dispatch = dispatch;
    this.#send = send;
  }

  get size(): number {
    return this.#promises.size;
  }

  /** Those that wait for a lock: without an end, and for each other. */
  get locks(): number {
    return this.#dispatch.waitingForLocks;
  }

  /** Resolves when it is answered. */
  add(request: Buffer, answer: Promise<Buffer | undefined>): Promise<void> {
    const unique = request.readBigUInt64LE(8);
    const waiting: Waiting = { isOver: false, settled: undefined, timer: undefined };
    this.#waiting.set(unique, waiting);
    const settled: Promise<void> = answer.then(async (reply) => {
      this.#promises.delete(settled);
      clearTimeout(waiting.timer);
      if (waiting.isOver) return void (reply !== undefined && (await this.#dispatch.undo(request, reply)));
      this.#waiting.delete(unique);
      if (reply !== undefined) this.#send(reply);
    });
    waiting.settled = settled;
    this.#promises.add(settled);
    return settled;
  }

  /** True where it was a request of that kind: it has no answer of its own. */
  interrupts(request: Buffer): boolean {
    if (request.readUInt32LE(4) !== opcodes.interrupt) return false;
    const unique = request.readBigUInt64LE(inHeaderBytes);
    if (this.#dispatch.givesUp(unique)) return true;
    const waiting = this.#waiting.get(unique);
    if (waiting === undefined || waiting.timer !== undefined) return true;
    // Not at once: most signals kill no one, and most answers are on their way.
    waiting.timer = setTimeout(() => {
      waiting.isOver = true;
      // No one waits for it any more, the end of the mount neither.
      if (waiting.settled !== undefined) this.#promises.delete(waiting.settled);
      this.#waiting.delete(unique);
      this.#send(this.#dispatch.interrupted(unique));
    }, interruptedMilliseconds);
    return true;
  }

  async all(): Promise<void> {
    this.#dispatch.givesUpLocks();
    await Promise.all(this.#promises);
  }
}
