/** Output of a program, handed on chunk by chunk: the next one only when the one before was taken. */
import type { Readable } from 'node:stream';
import { terminationGraceMilliseconds } from '../base/limits/commands.js';

/**
 * Resolves when the stream has ended and all of it was taken; what cannot be taken counts as taken. Node reads on by itself once the
 * program has ended, paused or not: those chunks wait here.
 */
export function takeOutput(output: Readable, take: (chunk: Buffer) => void | Promise<void>): Promise<void> {
  let last: Promise<void> | undefined;
  output.on('data', (chunk: Buffer) => {
    const taken = last === undefined ? take(chunk) : last.then(() => take(chunk));
    if (taken === undefined) return;
    output.pause();
    const goOn = () => {
      if (last !== mine) return;
      last = undefined;
      output.resume();
    };
    const mine: Promise<void> = taken.then(goOn, goOn);
    last = mine;
  });
  return new Promise((resolve) => {
    const end = () => resolve(last);
    output.once('end', end);
    output.once('close', end);
  });
}

/** How long output is waited for: until it is taken, and once the command was killed for a while only. */
export class OutputPatience {
  #giveUp: () => void = () => undefined;
  readonly #isGivenUp = new Promise<void>((resolve) => {
    this.#giveUp = resolve;
  });
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  async wait(taken: Promise<unknown>): Promise<void> {
    await Promise.race([taken, this.#isGivenUp]);
  }

  killed(): void {
    if (!this.#isOver) this.#timer ??= setTimeout(this.#giveUp, terminationGraceMilliseconds);
  }

  /** The command and its output have ended. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
