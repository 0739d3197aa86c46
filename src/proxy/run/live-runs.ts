/**
 * Runs on a directory itself that are under way: no fork tells of them, so each has a file in STORE/live, locked by its
 * owner. A file that is there and not locked is a run whose owner was killed; the process that runs something next says
 * so in the record.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../base/errno.js';
import { type FileLock, loadFileLock } from '../../base/file-lock.js';
import { makeDirectory } from '../../base/make-directory.js';
import { either, having, ofShape, parseJson, word } from '../../base/shape.js';
import { storePaths } from '../../vault/store/layout.js';
import type { Host } from '../host.js';
import type { LastRun, RunNote } from '../report/last-run.js';
import { endInterrupted, openBeginning } from './interrupted-run.js';

type Whose = Pick<Host, 'store' | 'lockLibrary'>;

function placeOf({ store }: Whose): string {
  return storePaths(store.directory).liveRuns;
}

/** Anyone who looks whether an owner lives has the lock briefly. */
const momentMilliseconds = 1000;

function lockOf({ lockLibrary }: Whose, milliseconds: number): FileLock {
  return loadFileLock(lockLibrary, milliseconds, 'live run');
}

/** A locked file that has its name: one that was found free before it was locked is gone, and is made again. */
function makeLocked(host: Whose, path: string): number {
  for (;;) {
    const descriptor = openSync(path, 'a', 0o600);
    try {
      lockOf(host, momentMilliseconds).hold(descriptor, path);
      if (statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino) return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
  }
}

export function liveNote(host: Whose): RunNote {
  let descriptor: number | undefined;
  const directory = placeOf(host);
  return {
    begin(run) {
      makeDirectory(directory);
      descriptor = makeLocked(host, join(directory, run.run));
      writeSync(descriptor, `${JSON.stringify(run)}\n`);
    },
    end({ run }) {
      rmSync(join(directory, run), { force: true });
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

const runShape = having({
  run: word,
  agent: either(
    (value) => value === null,
    () => undefined,
    word,
  ),
});

/** Undefined where it was killed before it had said its name: nothing had begun. */
function runIn(path: string): LastRun | undefined {
  const text = readFileSync(path, 'utf8');
  if (!text.endsWith('\n')) return undefined;
  try {
    return ofShape<LastRun>(parseJson(text), runShape);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // damaged by a power cut
    throw error;
  }
}

/** Leaves one alone whose owner lives. */
function settle(host: Host, path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    lockOf(host, 0).hold(descriptor, path);
    const found = runIn(path);
    const begin = found === undefined ? undefined : openBeginning(host, found);
    if (begin !== undefined) endInterrupted(host, begin, {});
    rmSync(path, { force: true });
  } catch (error) {
    if (!hasCode(error, 'EAGAIN')) throw error;
  } finally {
    closeSync(descriptor);
  }
}

export function recordInterruptedLive(host: Host): void {
  const directory = placeOf(host);
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    try {
      settle(host, join(directory, name));
    } catch (error) {
      // Another process has settled it since it was listed.
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
}
