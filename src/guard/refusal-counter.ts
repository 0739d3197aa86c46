/** Refusals since somebody last took them: equal ones counted as one, and however many a program makes, only so many told apart. */
import type { VfsRefusal } from './guard.js';

export interface CountedRefusal extends VfsRefusal {
  readonly count: number;
}

/** What goes for all that came beyond the most that are told apart. */
const others = '(others)';

export class RefusalCounter {
  readonly #most: number;
  #byText = new Map<string, CountedRefusal>();

  constructor(most: number) {
    this.#most = most;
  }

  add(refusal: VfsRefusal): void {
    const isNew = !this.#byText.has(keyOf(refusal));
    const counted = isNew && this.#byText.size >= this.#most ? { ...refusal, path: others } : refusal;
    const key = keyOf(counted);
    this.#byText.set(key, { ...counted, count: (this.#byText.get(key)?.count ?? 0) + 1 });
  }

  take(): readonly CountedRefusal[] {
    const taken = [...this.#byText.values()];
    this.#byText = new Map();
    return taken;
  }
}

const keyOf = ({ scope, operation, path, code }: VfsRefusal) => `${code} ${scope} ${operation} ${path}`;
