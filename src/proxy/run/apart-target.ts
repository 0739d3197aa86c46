/**
 * Nothing of a person's, for the server of a tool that has no workspace: the same Authority, the same jail, and of the host nothing but
 * the system and what is granted to it. It starts in an empty `/tmp`. What it writes, it writes into its own home, which stays, and
 * where it was granted to write.
 */
import { join, posix } from 'node:path';
import { fromSystemError } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { identityShift } from '../../jail/id-maps.js';
import { storePaths } from '../../vault/store/layout.js';
import { type ApartTool, apartView } from '../grants/apart-view.js';
import type { Host, Place } from '../host.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import { refusedEntry } from './authority-for.js';
import { liveNote } from './live-runs.js';
import { ownJailOf } from './run-on-target.js';
import { unusedFork } from './shown-plan.js';
import type { Decided, OpenTarget, TargetCommand, TargetKind, TargetReport } from './target.js';
import { viewOf } from './view.js';

/** A directory of the store, which no jail shows: the process that works there sees none of it. */
export function nowhere({ store, uid, gid }: Host): Place {
  const directory = storePaths(store.directory).nowhere;
  try {
    makeDirectory(directory);
  } catch (error) {
    throw fromSystemError(error, 'make the directory of tools', directory);
  }
  return { directory, origin: directory, owner: { uid, gid, shift: uid === 0 ? identityShift : 0 } };
}

export interface ApartHome {
  readonly tool: ApartTool;
  /** Of the host. */
  readonly home: string;
}

function viewOfTool(host: Host, { request, place, resolved }: Decided, own: ApartHome): TargetCommand['view'] {
  const { argv, environmentAdditions, weakened } = request;
  const mounts = { ...unusedFork(host, place), home: own.home };
  const view = apartView(viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened }), own.tool);
  // The person's caches would be read-only here, and over its own.
  const shared = view.jail.shared.filter(({ source }) => !resolved.caches.includes(source));
  return { ...view, jail: { ...view.jail, base: host.store.directory, overlays: [], shared } };
}

async function open(host: Host, command: Decided, own: ApartHome): Promise<OpenTarget<TargetReport>> {
  const { request, place, resolved } = command;
  await resolved.permission.confirmDirectories();
  return {
    place,
    resolved,
    isLive: true,
    object: `tool/${posix.basename(own.tool.program.target)}`,
    facts: { live: true },
    note: liveNote(host, place.origin, request.argv),
    view: await recordedRefusal(
      host,
      () => refusedEntry(place, request, undefined),
      () => viewOfTool(host, command, own),
    ),
    outputsOf: (run) => join(storePaths(host.store.directory).runs, run),
    jail: (one) => ({ ...ownJailOf(host, command), ...one, counted: [] }),
    callers: () => undefined,
    ended: async () => undefined,
    look: async () => ({ facts: {}, envelope: async (report) => report }),
    close: () => undefined,
  };
}

export function onNothing(own: ApartHome): TargetKind<TargetReport> {
  return { verb: 'exec', isLive: true, placeOf: nowhere, open: (host, command) => open(host, command, own) };
}
