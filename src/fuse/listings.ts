/** What directories that are open held when they were opened, or rewound. */
import type { Entry } from '../vfs/filesystem.js';

export class Listings {
  readonly #open = new Map<number, readonly Entry[]>();
  #next = 1;

  add(entries: readonly Entry[]): number {
    const handle = this.#next;
    this.#next += 1;
    this.#open.set(handle, entries);
    return handle;
  }

  get(handle: number): readonly Entry[] {
    return this.#open.get(handle) ?? [];
  }

  replace(handle: number, entries: readonly Entry[]): void {
    this.#open.set(handle, entries);
  }

  close(handle: number): void {
    this.#open.delete(handle);
  }
}
