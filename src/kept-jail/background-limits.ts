/**
 * Limits of a kept jail while none of its commands runs, and something that an earlier one left does. It cannot be said which of the
 * processes to end: where a limit is reached, all of them are.
 */
import type { Quota } from '../authority/quota.js';
import { ErrnoError } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { LimitEvents } from '../proxy/report/limit-events.js';
import { type LimitWatch, vaultWatchOf, watchLimits } from '../proxy/run/watch-limits.js';
import { writtenTrees } from '../vault/fork-trees.js';
import type { OpenFork } from '../vault/vault.js';

export interface BackgroundWatch {
  readonly quota: Quota;
  readonly fork: OpenFork;
  /** Ends everything inside, because of this. */
  readonly end: (reason: string) => void;
}

/** Undefined where a limit was reached already: then everything was ended. */
export async function watchBackground(
  { now, tree }: Pick<Host, 'now' | 'tree'>,
  { quota, fork, end }: BackgroundWatch,
): Promise<LimitWatch | undefined> {
  let watch: LimitWatch | undefined;
  try {
    watch = await watchLimits({
      quota,
      events: new LimitEvents(now),
      group: undefined,
      treeProgram: tree.program,
      roots: writtenTrees(fork),
      vault: vaultWatchOf(fork),
      temporary: fork.place.temporary,
      end: () => end(watch?.reached.at(-1) ?? 'a limit was reached'),
    });
    return watch;
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.code !== 'EDQUOT') throw error;
    end(error.reason);
    return undefined;
  }
}
