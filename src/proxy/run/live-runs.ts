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
import { either, having, integer, ofShape, parseJson, type Shape, word } from '../../base/shape.js';
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

/** As `ctx ps` lists it. */
export interface LiveRun {
  readonly pid: number;
  /** The directory. */
  readonly origin: string;
  readonly command: string;
}

export function liveNote(host: Whose, origin: string, argv: readonly string[]): RunNote {
  let descriptor: number | undefined;
  const directory = placeOf(host);
  return {
    begin(run) {
      makeDirectory(directory);
      descriptor = makeLocked(host, join(directory, run.run));
      const about: LiveRun = { pid: process.pid, origin, command: argv.join(' ') };
      writeSync(descriptor, `${JSON.stringify({ ...run, ...about })}\n`);
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

const aboutShape = having({ pid: integer(1), origin: word, command: word });

/** Undefined where it was killed before it had said its name: nothing had begun. */
function readAs<T>(path: string, shape: Shape): T | undefined {
  const text = readFileSync(path, 'utf8');
  if (!text.endsWith('\n')) return undefined;
  try {
    return ofShape<T>(parseJson(text), shape);
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
    const found = readAs<LastRun>(path, runShape);
    const begin = found === undefined ? undefined : openBeginning(host, found);
    if (begin !== undefined) endInterrupted(host, begin, {});
    rmSync(path, { force: true });
  } catch (error) {
    if (!hasCode(error, 'EAGAIN')) throw error;
  } finally {
    closeSync(descriptor);
  }
}

function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Of one whose owner lives; undefined where it was killed, has ended meanwhile, or is of an earlier build, which said less. */
function livingRun(host: Whose, path: string): LiveRun | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    lockOf(host, 0).hold(descriptor, path);
    return undefined;
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return readAs<LiveRun>(path, aboutShape);
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Those that are under way now. */
export function livingRuns(host: Whose): readonly LiveRun[] {
  const directory = placeOf(host);
  return namesIn(directory).flatMap((name) => livingRun(host, join(directory, name)) ?? []);
}

export function recordInterruptedLive(host: Host): void {
  const directory = placeOf(host);
  for (const name of namesIn(directory)) {
    try {
      settle(host, join(directory, name));
    } catch (error) {
      // Another process has settled it since it was listed.
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
}
