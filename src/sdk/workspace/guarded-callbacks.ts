/**
 * Functions of the caller's that are called while a command runs. One that throws, or whose promise rejects, ends the command, and
 * the call rejects when the command has ended: the caller's mistake leaves no process and no lock behind, and ends no process.
 */
import { ErrnoError } from '../../base/errno.js';

export class GuardedCallbacks {
  readonly #ending = new AbortController();
  #failure: ErrnoError | undefined;
  #leaveSignal: () => void = () => undefined;

  /**
   * What ends the command: the caller's own signal, or a callback that failed. Not by `AbortSignal.any`: Node 20 leaves a reference at
   * each of its sources, and a signal may outlive a hundred thousand commands.
   */
  signalWith(signal: AbortSignal | undefined): AbortSignal {
    if (signal !== undefined) {
      const end = () => this.#ending.abort(signal.reason);
      signal.addEventListener('abort', end, { once: true });
      this.#leaveSignal = () => signal.removeEventListener('abort', end);
      if (signal.aborted) end();
    }
    return this.#ending.signal;
  }

  /** The same function, which never throws and never rejects; undefined stays undefined. */
  guard<Given extends readonly unknown[], Answer>(
    name: string,
    call: ((...given: Given) => Answer) | undefined,
  ): ((...given: Given) => Answer | undefined) | undefined {
    if (call === undefined) return undefined;
    return (...given) => {
      try {
        const answer = call(...given);
        if (!isPromise(answer)) return answer;
        return this.#unlessEnding(answer.then(undefined, (error: unknown) => this.#fail(name, error))) as Answer;
      } catch (error) {
        return this.#fail(name, error);
      }
    };
  }

  /**
   * A slow caller slows the command, and one that never answers would keep it, and its fork, for ever: once the command is to end it is
   * not waited for.
   */
  #unlessEnding(answer: Promise<unknown>): Promise<unknown> {
    const { signal } = this.#ending;
    return new Promise((resolve) => {
      const leave = () => resolve(undefined);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      void answer.then((value) => {
        signal.removeEventListener('abort', leave);
        resolve(value);
      });
    });
  }

  /** The work's answer, unless a callback failed meanwhile: `undo` then ends what was made. */
  async during<T>(work: Promise<T>, undo?: (made: T) => Promise<unknown>): Promise<T> {
    try {
      const made = await work;
      if (this.#failure !== undefined) await undo?.(made);
      return made;
    } finally {
      this.end();
    }
  }

  /** When the work has ended. Throws what a callback threw: whatever came of the work then came of its being ended. */
  end(): void {
    this.#leaveSignal();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fail(name: string, cause: unknown): undefined {
    const said = cause instanceof Error ? cause.message : String(cause);
    const reason = `${name} threw, so the command was ended: ${said}`;
    this.#failure ??= new ErrnoError('ECANCELED', { operation: name, reason, cause });
    this.#ending.abort();
    return undefined;
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
