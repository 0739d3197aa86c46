/**
 * The end of something that others wait for or work for. It has the part of an AbortSignal that is needed here, so that
 * one may be given where the other is expected, and costs a tenth: each connection needs several.
 */
export interface EndSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export class Ending implements EndSignal {
  readonly #listeners = new Set<() => void>();
  #aborted = false;

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** Tells each listener once. */
  abort(): void {
    this.#aborted = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}

/** Whole milliseconds until then: the runtime keeps a list of timers for every different duration. */
export function millisecondsUntil(deadline: number): number {
  return Math.max(0, Math.ceil(deadline - performance.now()));
}
