/**
 * What a fork takes beyond what a walk of it finds: files that were deleted and are still held by what runs inside.
 * What the jail cannot measure of them is taken to be all that their filesystem has grown by and no one accounts for:
 * that may be others' writing, but only where something is hidden is it looked at.
 */
import { statfsSync } from 'node:fs';
import type { HeldFiles } from '../../jail/report.js';
import type { TreeUsage } from '../../vault/tree/usage.js';

/** Bytes in use on the filesystem of a directory. */
export function usedBytes(directory: string): number {
  const { blocks, bfree, bsize } = statfsSync(directory);
  return (blocks - bfree) * bsize;
}

export class HeldRoom {
  readonly #used: () => number;
  readonly #usedBefore: number;
  readonly #countedBefore: number;
  #held: HeldFiles = { bytes: 0, files: 0, hidden: false };

  /** `first` is what was counted before anything ran. */
  constructor(first: TreeUsage, used: () => number) {
    this.#used = used;
    this.#usedBefore = used();
    this.#countedBefore = first.bytes;
  }

  set held(held: HeldFiles) {
    this.#held = held;
  }

  /** What was counted, and what is held. */
  with(counted: TreeUsage): TreeUsage {
    const { bytes, files, hidden } = this.#held;
    const seen = counted.bytes + bytes;
    const grown = hidden ? this.#used() - this.#usedBefore - (seen - this.#countedBefore) : 0;
    return { ...counted, bytes: seen + Math.max(0, grown), inodes: counted.inodes + files };
  }
}
