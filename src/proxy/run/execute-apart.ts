/**
 * A tool's server that has no workspace: the same Authority, the same jail, and of the host nothing but the system and what is granted to
 * it. It starts in an empty `/tmp`. What it writes, it writes into its own home, which stays, and where it was granted to write.
 */
import { mkdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fromSystemError } from '../../base/errno.js';
import { identityShift } from '../../jail/id-maps.js';
import { storePaths } from '../../vault/store/layout.js';
import type { BesideEnd } from '../agent-views.js';
import { type ApartTool, apartView } from '../grants/apart-view.js';
import type { Host, Place } from '../host.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import { authorityFor, refusedEntry } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { liveNote, recordInterruptedLive } from './live-runs.js';
import { unusedFork } from './plan-of.js';
import { runInJail } from './run.js';
import { ownJailOf, runOnTarget } from './run-on-target.js';
import { viewOf } from './view.js';

export type ApartRequest = Omit<ExecRequest, 'cwd' | 'wait' | 'onProgress'> & {
  readonly apart: ApartTool;
  readonly home: string;
};

/** A directory of the store, which no jail shows: the process that works there sees none of it. */
export function nowhere({ store, uid, gid }: Host): Place {
  const directory = storePaths(store.directory).nowhere;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw fromSystemError(error, 'make the directory of tools', directory);
  }
  return { directory, origin: directory, owner: { uid, gid, shift: uid === 0 ? identityShift : 0 } };
}

export async function executeApart(host: Host, asked: ApartRequest): Promise<BesideEnd> {
  recordInterruptedLive(host);
  const place = nowhere(host);
  const request = { ...asked, cwd: place.directory };
  const resolved = await authorityFor(host, place, { ...request, wait: false, live: true });
  const { argv, environmentAdditions, weakened, apart, home } = request;
  const mounts = { ...unusedFork(host, place), home };
  await resolved.permission.confirmDirectories();
  const view = await recordedRefusal(
    host,
    () => refusedEntry(place, request, undefined),
    () => {
      const shown = viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened });
      const own = apartView(shown, apart);
      // The person's caches would be read-only here, and over its own.
      const shared = own.jail.shared.filter(({ source }) => !resolved.caches.includes(source));
      return { ...own, jail: { ...own.jail, base: host.store.directory, overlays: [], shared } };
    },
  );
  const { report } = await runOnTarget(host, request, {
    place,
    resolved,
    view,
    isLive: true,
    object: `tool/${posix.basename(apart.program.target)}`,
    facts: { live: true },
    note: liveNote(host),
    outputsOf: (run) => join(storePaths(host.store.directory).runs, run),
    run: (command) =>
      runInJail({
        ...ownJailOf(host, resolved, request),
        ...command,
        counted: [],
        onStarted: request.onStarted,
      }),
    look: async () => ({ seen: undefined, facts: {} }),
  });
  return report;
}
