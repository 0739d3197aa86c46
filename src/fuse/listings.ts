/** What directories that are open held when they were opened, or rewound. */
import type { Entry } from '../vfs/filesystem.js';

interface Listing {
  readonly entries: readonly Entry[];
  /** It has been read from its start. */
  isBegun: boolean;
}

const empty: Listing = { entries: [], isBegun: true };

export class Listings {
  readonly #open = new Map<number, Listing>();
  #next = 1;

  add(entries: readonly Entry[]): number {
    const handle = this.#next;
    this.#next += 1;
    this.#open.set(handle, { entries, isBegun: false });
    return handle;
  }

  get(handle: number): readonly Entry[] {
    return (this.#open.get(handle) ?? empty).entries;
  }

  /** True where it was read from its start before: a process that rewinds a directory sees it as it is then. */
  isRewound(handle: number): boolean {
    const listing = this.#open.get(handle) ?? empty;
    const { isBegun } = listing;
    listing.isBegun = true;
    return isBegun;
  }

  replace(handle: number, entries: readonly Entry[]): void {
    this.#open.set(handle, { entries, isBegun: true });
  }

  close(handle: number): void {
    this.#open.delete(handle);
  }
}
