/**
 * How an apply or its undo goes on: one line on a terminal, gone when it is done; and a key of the terminal ends it between two files,
 * with a word on what is written by then. A second one ends it at once.
 */
import { monotonic } from '../../base/clock.js';
import { ErrnoError } from '../../base/errno.js';
import type { ApplyOptions } from '../../sdk/workspace/fork.js';

const drawnMilliseconds = 100;
const quietMilliseconds = 500;
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

export interface ApplyProgress {
  readonly onProgress: ApplyOptions['onProgress'];
  clear(): void;
}

export function applyProgress(stream: NodeJS.WriteStream, title: string): ApplyProgress {
  if (stream.isTTY !== true) return { onProgress: undefined, clear: () => undefined };
  let last = monotonic() + quietMilliseconds - drawnMilliseconds;
  let drawn = false;
  return {
    onProgress(done, of) {
      const now = monotonic();
      // No one needs to read of one that is over at once.
      if (now - last < drawnMilliseconds) return;
      last = now;
      drawn = true;
      const line = `${title}: ${done.toLocaleString('en')} of ${of.toLocaleString('en')} changes`;
      stream.write(`\r\u001b[K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
    },
    clear() {
      if (drawn) stream.write('\r\u001b[K');
      drawn = false;
    },
  };
}

type Reached = readonly [done: number, of: number];

const doneBy = (verb: string) => (verb === 'apply' ? 'written' : 'taken back');

function shareOf(verb: string, [done, of]: Reached): string {
  return `${done.toLocaleString('en')} of ${of.toLocaleString('en')} changes are ${doneBy(verb)}`;
}

/** What was ended by a signal may have done a little more than it had told by then. */
function leastOf(verb: string, [done, of]: Reached): string {
  if (of === 0) return 'nothing was written';
  if (done === 0) return `it had begun; a few of ${of.toLocaleString('en')} changes may be ${doneBy(verb)}`;
  return `at least ${shareOf(verb, [done, of])}`;
}

const goesOn = (verb: string) =>
  `ctx ${verb} goes on with the rest${verb === 'apply' ? '; ctx apply --undo takes back what is written' : ''}`;

function interrupted(verb: string, signal: NodeJS.Signals, reached: Reached): ErrnoError {
  const [, of] = reached;
  return new ErrnoError('ECANCELED', {
    operation: verb,
    reason: `interrupted by ${signal}: ${leastOf(verb, reached)}`,
    ...(of === 0 ? {} : { remedy: goesOn(verb) }),
  });
}

/** It failed in the middle: nobody is to think that nothing was written. */
function halfDone(verb: string, error: ErrnoError, reached: Reached): ErrnoError {
  const { code, operation, path, reason, remedy } = error;
  return new ErrnoError(code, {
    operation,
    path,
    reason: `${reason}; ${shareOf(verb, reached)}`,
    remedy: remedy === undefined ? goesOn(verb) : `${remedy}; ${goesOn(verb)}`,
    cause: error,
  });
}

/** Calls it with what it tells of its progress to, and what stops it. */
export async function interruptibly<T>(
  verb: 'apply' | 'apply --undo',
  act: (told: Required<Pick<ApplyOptions, 'onProgress' | 'signal'>>) => Promise<T>,
): Promise<T> {
  const progress = applyProgress(process.stderr, verb === 'apply' ? 'applying' : 'undoing');
  const stopping = new AbortController();
  let reached: Reached = [0, 0];
  let heard: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    heard ??= signal;
    stopping.abort();
  };
  for (const name of endings) process.once(name, stop);
  try {
    return await act({
      signal: stopping.signal,
      onProgress(done, of) {
        reached = [done, of];
        progress.onProgress?.(done, of);
      },
    });
  } catch (error) {
    progress.clear();
    // Programs of ours hear a key of the terminal themselves: whatever that ended is not a failure of theirs.
    if (heard !== undefined && error instanceof ErrnoError) throw interrupted(verb, heard, reached);
    if (reached[0] > 0 && error instanceof ErrnoError) throw halfDone(verb, error, reached);
    throw error;
  } finally {
    for (const name of endings) process.off(name, stop);
    progress.clear();
  }
}
