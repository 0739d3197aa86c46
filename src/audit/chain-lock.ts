/** The lock of one chain: whoever appends to it, or asks where it ends, holds it. */
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { fromSystemError } from '../base/errno.js';
import type { FileLock } from '../base/file-lock.js';
import { makeDirectory } from '../base/make-directory.js';
import type { ChainPaths } from './layout.js';

export class ChainLock {
  readonly #lock: FileLock;
  readonly #paths: ChainPaths;
  /** Called where the chain is another one than before: what was known of its end counts no more. */
  readonly #replaced: () => void;
  #descriptor: number | undefined;

  constructor(lock: FileLock, paths: ChainPaths, replaced: () => void) {
    this.#lock = lock;
    this.#paths = paths;
    this.#replaced = replaced;
  }

  held<T>(act: () => T): T {
    return this.inRecord(() => {
      const descriptor = this.#hold();
      try {
        return act();
      } finally {
        this.#lock.release(descriptor);
      }
    });
  }

  /** An error of the system says that it was the record. */
  inRecord<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw fromSystemError(error, 'record', this.#paths.directory);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** A process that stays may have the lock of a record that was removed or moved: whoever made another one there has that one's. */
  #hold(): number {
    for (;;) {
      if (this.#descriptor === undefined) {
        makeDirectory(this.#paths.directory);
        this.#descriptor = openSync(this.#paths.lock, 'a', 0o600);
      }
      const descriptor = this.#descriptor;
      this.#lock.hold(descriptor, this.#paths.directory);
      const [there, ours] = [statSync(this.#paths.lock, { throwIfNoEntry: false }), fstatSync(descriptor)];
      // Where there is none, the store is not made again.
      if (there === undefined || (there.ino === ours.ino && there.dev === ours.dev)) return descriptor;
      this.#replaced();
      this.close();
    }
  }
}
