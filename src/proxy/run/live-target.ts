/**
 * A directory itself as what a command works on: the same Authority, the same jail, no fork. Nothing of it is undone by anybody, so it
 * has a verb of its own, and report and record say that it was live.
 */
import { join } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import type { Quota } from '../../authority/quota.js';
import { ErrnoError } from '../../base/errno.js';
import { storePaths } from '../../vault/store/layout.js';
import type { Owner } from '../../vault/vault.js';
import { viewServer, withAgentView } from '../grants/agent-view.js';
import { apartView } from '../grants/apart-view.js';
import { readOnlyByRequest } from '../grants/read-only-by-request.js';
import { serversOf, treeText, withTrees } from '../grants/served-trees.js';
import { type Host, placeOf } from '../host.js';
import type { LiveEnvelope } from '../report/envelope.js';
import { mountReports, mountWarnings } from '../report/mount-reports.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import { refusedEntry } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { liveNote } from './live-runs.js';
import { liveView, writesAsOwner } from './live-view.js';
import { ownJailOf } from './run-on-target.js';
import { unusedFork } from './shown-plan.js';
import type { CommandTarget, Decided, OpenTarget, TargetCommand, TargetKind, TargetReport } from './target.js';
import { viewOf } from './view.js';

function nobodyHere(owner: Owner): readonly string[] {
  if (owner.shift === 0 || writesAsOwner(owner)) return [];
  return [
    "root's commands run as an unprivileged user, so only world-writable files can be changed here; ctx exec works on a fork",
  ];
}

/** A caller who asked for these would have been promised them. */
function refuseFork({ fork, readonly = false, apart }: ExecRequest): void {
  // What a tool may do to the directory is its cap's to say.
  if (apart !== undefined || (fork === undefined && !readonly)) return;
  throw new ErrnoError('EINVAL', {
    operation: 'jail run',
    reason: `a command on the directory itself cannot have a ${readonly ? 'read-only workspace' : 'fork'}`,
    remedy: 'ctx exec runs it on a fork',
  });
}

/** A file that is not there yet cannot be hidden: a command would make it, and say by it what the next one may do. */
function refuseOwnFiles({ hidden }: Host, origin: string): void {
  if (!hidden.some((path) => contains(origin, path))) return;
  throw new ErrnoError('EINVAL', {
    operation: 'jail run',
    path: origin,
    reason: 'expected a directory that does not hold the files of ctx itself',
    remedy: 'use ctx exec: it works on a fork, and ctx apply never writes these files',
  });
}

function refuseForkLimits({ disk, inodes }: Quota): void {
  if (disk === undefined && inodes === undefined) return;
  throw new ErrnoError('ENOTSUP', {
    operation: 'jail run',
    reason: '--disk and --files limit a fork, and a command on the directory itself has none',
    remedy: 'ctx exec runs it on a fork, with that limit',
  });
}

function viewOfDirectory(host: Host, { request, place, resolved }: Decided): TargetCommand['view'] {
  const { argv, environmentAdditions, weakened, trees = [], view: agentView } = request;
  refuseForkLimits(resolved.authority.quota);
  const mounts = unusedFork(host, place);
  const agentHome = agentView?.home;
  const shown = viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened, agentHome });
  const own = request.apart === undefined ? shown : apartView(shown, request.apart);
  const readOnly = [...readOnlyByRequest(place, resolved, request), ...own.readOnly];
  const live = liveView({ ...own, readOnly }, place.owner, host.store.directory);
  return withAgentView(withTrees(host, live, trees), agentView);
}

function envelopeOf({ request, place, resolved, warnings }: Decided, report: TargetReport): LiveEnvelope {
  const { trees = [] } = request;
  const { origin, owner } = place;
  const how = { isKept: false, hasCheckpoint: false };
  const reports = mountReports(trees, how);
  return {
    ...report,
    workspace: { origin, vault: null, fork: null },
    live: [origin, ...resolved.live],
    warnings: [...report.warnings, ...nobodyHere(owner), ...warnings, ...mountWarnings(trees, how)],
    ...(reports.length === 0 ? {} : { mounts: reports }),
  };
}

async function open(host: Host, command: Decided): Promise<OpenTarget<LiveEnvelope>> {
  const { request, place, resolved } = command;
  const { trees = [], view } = request;
  await resolved.permission.confirmDirectories();
  let run: string | undefined;
  const note = () => liveNote(host, place.origin, request.argv);
  const target: CommandTarget = {
    place,
    resolved,
    isLive: true,
    object: `workspace/${place.origin}`,
    facts: { live: true, ...(trees.length === 0 ? {} : { trees: trees.map(treeText) }) },
    note: note(),
    view: await recordedRefusal(
      host,
      () => refusedEntry(place, request, resolved.agent),
      () => viewOfDirectory(host, command),
    ),
    outputsOf: (run) => join(storePaths(host.store.directory).runs, run),
  };
  return {
    ...target,
    jail: (one) => {
      run = one.run;
      return {
        ...ownJailOf(host, command),
        ...one,
        counted: [],
        beside: view?.commands,
        servers: serversOf(one.view, [...trees, ...viewServer(view, one.view, undefined)]),
      };
    },
    callers: () =>
      view && run !== undefined
        ? { ...target, commands: view.commands, facts: { live: true, caller: run }, note }
        : undefined,
    ended: async () => undefined,
    // Nothing is told apart from what was there before.
    look: async () => ({ facts: {}, envelope: async (report) => envelopeOf(command, report) }),
    close: () => undefined,
  };
}

export const onDirectory: TargetKind<LiveEnvelope> = {
  verb: 'jail run',
  isLive: true,
  placeOf(host, request) {
    refuseFork(request);
    const place = placeOf(host, request.cwd);
    refuseOwnFiles(host, place.origin);
    return place;
  },
  open,
};
