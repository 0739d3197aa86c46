/** The content of one remote file while it is changed: in a file of this machine that has no name, so nothing of it stays behind. */
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromSystemError } from '../../../base/errno.js';
import type { RemoteContent } from './remote-store.js';

export class StagedFile implements RemoteContent {
  readonly #descriptor: number;

  constructor() {
    try {
      const directory = mkdtempSync(join(tmpdir(), 'ctx-staged-'));
      try {
        this.#descriptor = openSync(join(directory, 'content'), 'wx+', 0o600);
      } finally {
        rmSync(directory, { recursive: true });
      }
    } catch (error) {
      throw fromSystemError(error, 'stage', tmpdir());
    }
  }

  get size(): number {
    return fstatSync(this.#descriptor).size;
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - offset)));
    let done = 0;
    while (done < bytes.length) {
      const count = readSync(this.#descriptor, bytes, done, bytes.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    return bytes.subarray(0, done);
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#guarded(() => {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, offset + done);
      }
    });
  }

  resize(size: number): void {
    this.#guarded(() => ftruncateSync(this.#descriptor, size));
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      throw fromSystemError(error, 'stage', tmpdir());
    }
  }
}
