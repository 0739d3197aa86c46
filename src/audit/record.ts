/**
 * The record: what happened, one entry a line, written before the effect it announces. Whoever writes takes a `Recorder`;
 * the plain file here and the signed chain that will replace it both implement it.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { canonicalJson, type Json } from '../base/canonical-json.js';
import { ErrnoError, fromSystemError } from '../base/errno.js';

export interface RecordEntry {
  readonly type: string;
  /** The thing the entry is about, for example `fork/9f2c/main`. */
  readonly object: string;
  readonly status: 'begin' | 'ok' | 'failed' | 'denied';
  readonly facts?: { readonly [name: string]: Json | undefined };
}

export interface Recorder {
  /** Returns only when the entry is in the file. Throws when it cannot be: then the effect must not happen. */
  append(entry: RecordEntry): void;
}

/** True where a full disk or a crash left an entry without its end. */
function isTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last.toString('latin1') !== '\n';
}

/**
 * One append of one whole line: entries of concurrent processes never mix, as the file is opened for appending. A torn
 * entry is left as it is and ended, so that it spoils no other.
 */
export function fileRecorder(path: string, now: () => Date): Recorder {
  return {
    append(entry) {
      const line = canonicalJson({ ts: now().toISOString(), ...entry });
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        const descriptor = openSync(path, 'a+', 0o600);
        try {
          const bytes = Buffer.from(`${isTorn(descriptor) ? '\n' : ''}${line}\n`);
          const written = writeSync(descriptor, bytes);
          if (written < bytes.length) {
            throw new ErrnoError('ENOSPC', {
              operation: 'record',
              path,
              reason: `expected to write ${bytes.length} bytes, wrote ${written}`,
              remedy: 'make room on the filesystem of the store',
            });
          }
        } finally {
          closeSync(descriptor);
        }
      } catch (error) {
        throw fromSystemError(error, 'record', path);
      }
    },
  };
}
