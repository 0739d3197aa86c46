/**
 * Room for the record on a full disk. Nothing begins unless the reserve is there; how things ended, and what was refused, may
 * use it up: a full disk stops new effects, not the record of them.
 */
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ErrnoError, fromSystemError, hasCode, isFull } from '../base/errno.js';
import { recordReserveBytes } from '../base/limits/store.js';
import { makeDirectory } from '../base/make-directory.js';

export class Reserve {
  readonly #path: string;
  readonly #bytes: number;

  constructor(path: string, bytes: number = recordReserveBytes) {
    this.#path = path;
    this.#bytes = bytes;
  }

  /** Makes it where it is not whole; ENOSPC where there is no room for it. */
  demand(): void {
    if (this.#size() === this.#bytes) return;
    makeDirectory(dirname(this.#path));
    const descriptor = openSync(this.#path, 'w', 0o600);
    try {
      const zeros = Buffer.alloc(this.#bytes);
      for (let written = 0; written < zeros.length; ) written += writeSync(descriptor, zeros, written);
    } catch (error) {
      rmSync(this.#path, { force: true });
      if (!isFull(error)) throw fromSystemError(error, 'record', this.#path);
      throw new ErrnoError('ENOSPC', {
        operation: 'record',
        path: this.#path,
        reason: 'no space is left for the record, so nothing new may begin',
        remedy: 'make room on the filesystem of the store, for example: ctx drop',
        cause: error,
      });
    } finally {
      closeSync(descriptor);
    }
  }

  /** Whether that made room. */
  release(): boolean {
    if (this.#size() === 0) return false;
    rmSync(this.#path, { force: true });
    return true;
  }

  #size(): number {
    try {
      return statSync(this.#path).size;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return 0;
      throw error;
    }
  }
}
