/** One at a time, in the order of asking. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this one's turn, with what ends it; called again, that does nothing. */
  async take(): Promise<() => void> {
    const before = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }
}

/** Some things one at a time, and many of another kind beside each other, but never beside those: each after what was asked before. */
export class SharedTurns {
  #alone: Promise<unknown> = Promise.resolve();
  readonly #shared = new Set<Promise<unknown>>();

  /** Beside others that are shared. */
  shared<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#alone.then(work);
    const settled = done.catch(() => undefined);
    this.#shared.add(settled);
    void settled.then(() => this.#shared.delete(settled));
    return done;
  }

  /** When what was asked for alone has ended. */
  async quiet(): Promise<void> {
    await this.#alone;
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = Promise.all([this.#alone, ...this.#shared]).then(work);
    this.#alone = done.catch(() => undefined);
    return done;
  }
}

/** So many at a time; more wait, in the order of asking. */
export class Room {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Resolves when there is a place, with what gives it back. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }
}

/**
 * Each is done, one after the other, whatever becomes of those before it: the process may go on, and would keep what is left. Throws what
 * failed first.
 */
export async function allOf(...steps: readonly (() => unknown)[]): Promise<void> {
  const failed: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}
