/**
 * How an apply or its undo goes on: one line on a terminal, gone when it is done; and a key of the terminal ends it between two files,
 * with a word on what is written by then. A second one ends it at once.
 */
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
  let last = Date.now() + quietMilliseconds - drawnMilliseconds;
  let drawn = false;
  return {
    onProgress(done, of) {
      const now = Date.now();
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

function interrupted(
  verb: string,
  signal: NodeJS.Signals,
  [done, of]: readonly [done: number, of: number],
): ErrnoError {
  const share = `${done.toLocaleString('en')} of ${of.toLocaleString('en')} changes`;
  const what = verb === 'apply' ? `${share} are written` : `${share} are taken back`;
  const undo = verb === 'apply' ? '; ctx apply --undo takes back what is written' : '';
  return new ErrnoError('ECANCELED', {
    operation: verb,
    reason: `interrupted by ${signal}: ${of === 0 ? 'nothing was written' : what}`,
    ...(of === 0 ? {} : { remedy: `ctx ${verb} goes on with the rest${undo}` }),
  });
}

/** Calls it with what it tells of its progress to, and what stops it. */
export async function interruptibly<T>(
  verb: 'apply' | 'apply --undo',
  act: (told: Required<Pick<ApplyOptions, 'onProgress' | 'signal'>>) => Promise<T>,
): Promise<T> {
  const progress = applyProgress(process.stderr, verb === 'apply' ? 'applying' : 'undoing');
  const stopping = new AbortController();
  let reached: readonly [number, number] = [0, 0];
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
    throw error;
  } finally {
    for (const name of endings) process.off(name, stop);
    progress.clear();
  }
}
