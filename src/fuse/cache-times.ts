/** For how long the kernel may keep names and attributes of a tree that others change, too. */
import type { Inode } from '../vfs/filesystem.js';

/** Seconds; less than one is as short as the kernel's clock can tell. */
export interface Kept {
  readonly names: number;
  readonly attributes: number;
}

/**
 * A call by path looks up every name of it, and the kernel asks again for the attributes that came with each: for the time of the
 * call they hold. The shortest time is one tick, 4 ms with most kernels. Names are asked for each time.
 */
export const forOneCall: Kept = { names: 0, attributes: 1e-9 };

export class KeptTimes {
  readonly names: number;
  readonly #attributes: number;
  /** How often each of those is open that are. */
  readonly #open = new Map<Inode, number>();

  constructor({ names, attributes }: Kept) {
    this.names = names;
    this.#attributes = attributes;
  }

  /** Of a file that is open they are not kept for one call: another one reads by them. */
  attributes(inode: Inode): number {
    return this.#attributes < 1 && this.#open.has(inode) ? 0 : this.#attributes;
  }

  opened(inode: Inode): void {
    this.#open.set(inode, (this.#open.get(inode) ?? 0) + 1);
  }

  released(inode: Inode): void {
    const left = (this.#open.get(inode) ?? 0) - 1;
    if (left > 0) this.#open.set(inode, left);
    else this.#open.delete(inode);
  }
}
