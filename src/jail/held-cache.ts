/** A cache that a jail shows read-only, since another jail has it to write: which, and whose that is. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hasCode } from '../base/errno.js';
import type { HeldCache, Report } from './report.js';

/** Asked as soon as the jail says it: the holder may end at any time. Undefined for every other report. */
export function heldCacheOf({ what, rest }: Report): HeldCache | undefined {
  if (what !== 'read-only-cache') return undefined;
  const space = rest.indexOf(' ');
  const path = rest.slice(space + 1);
  const holder = holderOf(rest.slice(0, space));
  return holder === undefined ? { path } : { path, holder };
}

/** A jail is the child of the process that runs commands in it. */
function holderOf(jail: string): HeldCache['holder'] {
  try {
    const pid = /^PPid:\t([1-9][0-9]*)$/m.exec(readFileSync(`/proc/${jail}/status`, 'latin1'))?.[1];
    return pid === undefined ? undefined : { pid: Number(pid), directory: readlinkSync(`/proc/${pid}/cwd`) };
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES') || hasCode(error, 'ESRCH')) return undefined;
    throw error;
  }
}
