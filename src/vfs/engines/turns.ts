/**
 * One change after another: a call that asks an engine several times may not meet another one in between. Where every engine answers at
 * once that is so by itself; where answers come later, the calls wait for each other.
 */
import { type Answer, type Steps, settle } from '../answer.js';

export class EngineTurns {
  readonly #immediate: boolean;
  #last: Promise<unknown> = Promise.resolve();

  constructor(immediate: boolean) {
    this.#immediate = immediate;
  }

  take<T>(steps: () => Steps<T>): Answer<T> {
    if (this.#immediate) return settle(steps());
    const turn = this.#last.then(() => settle(steps()));
    // The caller hears of a failure; the process that comes next does not.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
