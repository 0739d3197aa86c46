/**
 * Files that are whole or absent: written beside, synced, renamed over. A reader never sees half a file, and a crash
 * leaves the old one.
 */

import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';
import { isThere } from './process-table.js';
import { parseJson } from './shape.js';
import { makerOf, uniqueName } from './unique-name.js';

/** Or a file that another call has written. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

/**
 * `durable` waits for the disk; without it the file is still whole or absent to every reader of this boot. `beside` is where it is
 * written first, for who is alone with the file and takes away what a killed one left there. `mode` is whatever the umask is: who is to
 * read it may be another user.
 */
export function writeFileAtomic(
  path: string,
  text: string,
  options: { durable: boolean; mode?: number; beside?: string },
): void {
  const temporary = options.beside ?? `${path}.${uniqueName()}.new`;
  const { mode = 0o600 } = options;
  try {
    const descriptor = openSync(temporary, 'w', mode);
    try {
      if ((mode & 0o077) !== 0) fchmodSync(descriptor, mode);
      writeAll(descriptor, Buffer.from(text));
      if (options.durable) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
    if (options.durable) syncDirectory(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw fromSystemError(error, 'write', path);
  }
}

const draft = /^(.+)\.([0-9a-z-]+)\.new$/s;

/** Takes away what processes that were killed had begun to write beside the files that are meant; all else in there is somebody's own. */
export function removeLeftDrafts(directory: string, isMeant: (file: string) => boolean): void {
  for (const name of readdirSync(directory)) {
    const [, file, unique] = draft.exec(name) ?? [];
    if (file === undefined || unique === undefined || !isMeant(file)) continue;
    const maker = makerOf(unique);
    if (maker !== undefined && !isThere(maker)) rmSync(`${directory}/${name}`, { force: true });
  }
}

/** For what a person took away: it does not come back after a power cut. False where somebody else was quicker. */
export function removeDurably(path: string): boolean {
  try {
    unlinkSync(path);
    syncDirectory(dirname(path));
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw fromSystemError(error, 'remove', path);
  }
}

/** The parsed file, or undefined where there is none. A file that is not JSON is refused, never guessed at. */
export function readJsonFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw fromSystemError(error, 'read', path);
  }
  try {
    return parseJson(text);
  } catch (error) {
    throw new ErrnoError('EIO', {
      operation: 'read',
      path,
      reason: 'expected JSON; the file is damaged',
      cause: error,
    });
  }
}

/** As readJsonFile, for what can be done without: a file that a power cut left empty or cut short counts as none. */
export function readWholeJson(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (error) {
    if (hasCode(error, 'EIO')) return undefined;
    throw error;
  }
}
