/** Ends what goes on running: `ctx stop`. Each thing by its own way, so that it ends in good order; what does not is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import { startOf } from '../../base/process-table.js';
import { unmount } from '../../fuse/unmount.js';
import { leaveNoMore } from '../../keeper/living-keepers.js';
import type { Host } from '../../proxy/host.js';
import { KeptJails } from '../workspace/kept-jails.js';
import { type Living, listLiving } from './living.js';

export interface Stopping extends Living {
  /** Why it goes on; null where it has ended. */
  readonly problem: string | null;
}

const lookMilliseconds = 20;

/** A command is asked, told and killed, as by Ctrl-C at its terminal: everything in a jail ends with its owner. */
const ways = ['SIGTERM', 'SIGTERM', 'SIGKILL'] as const;

/** `start` says that the number is still the same process's. */
async function terminate(pid: number, start: string | undefined): Promise<string | null> {
  const isThere = () => start !== undefined && startOf(pid) === start;
  for (const signal of ways) {
    if (!isThere()) return null;
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (hasCode(error, 'ESRCH')) return null;
      return hasCode(error, 'EPERM') ? "it is another user's process" : String(error);
    }
    const end = performance.now() + terminationGraceMilliseconds;
    while (isThere() && performance.now() < end) await sleep(lookMilliseconds);
  }
  return isThere() ? 'it did not end when it was killed' : null;
}

async function byItsOwnWay(host: Host, { kind, origin, fork, what, end }: Living): Promise<boolean> {
  if (kind === 'fork mount' || kind === 'tree mount') await unmount(what);
  else if (kind === 'kept jail' && end.startsWith('ctx jail stop')) {
    await new KeptJails(host).stop(origin ?? '', fork ?? undefined);
  } else return false;
  return true;
}

async function stopOne(host: Host, living: Living, start: string | undefined): Promise<string | null> {
  try {
    if (await byItsOwnWay(host, living)) return null;
  } catch (error) {
    // A mount that is in use, a jail that does not answer: what serves it can still be ended.
    if (!(error instanceof ErrnoError)) throw error;
  }
  return terminate(living.pid, start);
}

function keepsSeveral(pid: number, kept: readonly Living[]): ErrnoError {
  return new ErrnoError('EINVAL', {
    operation: 'stop',
    reason: `process ${pid} keeps ${kept.length} jails`,
    remedy: `name those to end: ctx stop ${kept.map((each) => each.pid).join(' ')}; kill ${pid} ends all of them`,
  });
}

function chosenFrom(all: readonly Living[], wanted: readonly number[] | 'all'): readonly Living[] {
  if (wanted === 'all') return all;
  return wanted.map((pid) => {
    const kept = all.filter(({ keeper }) => keeper === pid);
    const found = all.find((living) => living.pid === pid) ?? (kept.length === 1 ? kept[0] : undefined);
    if (found !== undefined) return found;
    if (kept.length > 1) throw keepsSeveral(pid, kept);
    throw new ErrnoError('ENOENT', {
      operation: 'stop',
      reason: `process ${pid} is not one that ctx stop can end`,
      remedy: 'ctx ps lists the processes that can be ended',
    });
  });
}

/** Nothing is ended where one of the numbers is none of ours. */
export async function stopLiving(host: Host, wanted: readonly number[] | 'all'): Promise<readonly Stopping[]> {
  if (wanted === 'all') leaveNoMore(host.store.directory);
  const chosen = chosenFrom(await listLiving(host), wanted).filter(({ pid }) => pid !== process.pid);
  const starts = chosen.map(({ pid }) => startOf(pid));
  return Promise.all(
    chosen.map(async (living, index) => ({ ...living, problem: await stopOne(host, living, starts[index]) })),
  );
}
