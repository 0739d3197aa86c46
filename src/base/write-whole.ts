/** Bytes to a descriptor, all of them or an error: one write may take a part, as on a disk that is nearly full. */
import { writeSync } from 'node:fs';
import { hasCode } from './errno.js';

/** Waits, busily, for a pipe that does not block: for small texts, or for what is not a pipe. */
export function writeWhole(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw error;
    }
  }
}
