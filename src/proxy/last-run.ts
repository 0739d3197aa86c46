/**
 * The last run of a fork, and whether it has ended. That it is under way is written before the record says so, and that it has
 * ended after the record does: so whoever opens the fork next knows a run that may have no end in the record.
 *
 * Always the same bytes of the same file: an end takes no room on a full disk, and makes none either.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { readJsonFile } from '../base/atomic-file.js';
import { ErrnoError, fromSystemError } from '../base/errno.js';

export interface LastRun {
  readonly run: string;
  /** Whose chain it is recorded in; null for the person's. */
  readonly agent: string | null;
}

/** More than the longest names take. */
const size = 256;

/** Says outside of the record that a run is under way, for as long as the record has no end of it. */
export interface RunNote {
  begin(run: LastRun): void;
  end(run: LastRun): void;
}

function write(path: string, { run, agent }: LastRun, ended: boolean): void {
  try {
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    try {
      writeSync(descriptor, `${JSON.stringify({ run, agent, ended })}`.padEnd(size - 1).concat('\n'), 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw fromSystemError(error, 'note the run', path);
  }
}

export function forkNote(path: string): RunNote {
  return { begin: (run) => write(path, run, false), end: (run) => write(path, run, true) };
}

/** Undefined where every run has ended, and where the one that began was killed before it had said its name. */
export function unendedRun(path: string): LastRun | undefined {
  try {
    const value = readJsonFile(path) as (Partial<LastRun> & { readonly ended?: unknown }) | null | undefined;
    if (typeof value?.run !== 'string' || value.ended === true) return undefined;
    return { run: value.run, agent: typeof value.agent === 'string' ? value.agent : null };
  } catch (error) {
    // Half written: nothing had begun.
    if (error instanceof ErrnoError && error.code === 'EIO') return undefined;
    throw error;
  }
}
