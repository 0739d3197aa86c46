/** What directories that are open held when they were first read, or rewound. */
import { monotonic } from '../base/clock.js';
import type { Entry } from '../vfs/filesystem.js';

interface Listing {
  readonly entries: readonly Entry[];
  /** It has been read from its start. */
  isBegun: boolean;
  /** When it was asked for: in milliseconds, and in names that were changed before. */
  readonly asked: number;
  readonly changes: number;
}

const empty: Listing = { entries: [], isBegun: true, asked: 0, changes: 0 };
/** A directory is asked for when it is opened, which says whether it may be read. What is read so soon after that is not asked for again. */
const freshMilliseconds = 100;

export class Listings {
  readonly #open = new Map<number, Listing>();
  readonly #now: () => number;
  /** Others than users of the mount change the tree, too. */
  readonly #shared: boolean;
  #changes = 0;
  #next = 1;

  constructor(shared: boolean, now: () => number = monotonic) {
    this.#shared = shared;
    this.#now = now;
  }

  /** A name came or went, by a user of the mount. */
  changed(): void {
    this.#changes += 1;
  }

  add(entries: readonly Entry[]): number {
    const handle = this.#next;
    this.#next += 1;
    this.#open.set(handle, this.#listing(entries, false));
    return handle;
  }

  get(handle: number): readonly Entry[] {
    return (this.#open.get(handle) ?? empty).entries;
  }

  /** A process begins to read it: whether it is to be asked for again, and whether it has to be, since it was read before. */
  begun(handle: number): 'as it is' | 'again' | 'rewound' {
    const listing = this.#open.get(handle) ?? empty;
    const { isBegun, asked, changes } = listing;
    listing.isBegun = true;
    if (isBegun) return 'rewound';
    const isOld = this.#shared && this.#now() - asked > freshMilliseconds;
    return isOld || changes !== this.#changes ? 'again' : 'as it is';
  }

  replace(handle: number, entries: readonly Entry[]): void {
    this.#open.set(handle, this.#listing(entries, true));
  }

  #listing(entries: readonly Entry[], isBegun: boolean): Listing {
    return { entries, isBegun, asked: this.#now(), changes: this.#changes };
  }

  close(handle: number): void {
    this.#open.delete(handle);
  }
}
