/**
 * A command on a directory itself: the same Authority, the same jail, no fork. Nothing of it is undone by anybody, so it is
 * a verb of its own, and report and record say that it was live.
 */
import { join } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import type { Quota } from '../authority/quota.js';
import { ErrnoError } from '../base/errno.js';
import { storePaths } from '../vault/store/layout.js';
import type { Owner } from '../vault/vault.js';
import { agentViewFor, type OfferedView, viewServer, withAgentView } from './grants/agent-view.js';
import { apartView } from './grants/apart-view.js';
import type { EnforcedView } from './grants/enforced-plan.js';
import { readOnlyByRequest } from './grants/read-only-by-request.js';
import { serversOf, treeText, withTrees } from './grants/served-trees.js';
import { type Host, type Place, placeOf } from './host.js';
import type { LiveEnvelope } from './report/envelope.js';
import { mountReports, mountWarnings } from './report/mount-reports.js';
import { recordedRefusal } from './report/recorded-refusal.js';
import { withMounts, withTreesOf } from './run/asked-mounts.js';
import { authorityFor, type Permitted, refusedEntry } from './run/authority-for.js';
import { runsBeside } from './run/beside-runs.js';
import { type ExecRequest, refuseNoCommand } from './run/exec-request.js';
import type { CallersJail } from './run/in-callers-jail.js';
import { liveNote, recordInterruptedLive } from './run/live-runs.js';
import { liveView, writesAsOwner } from './run/live-view.js';
import { unusedFork } from './run/plan-of.js';
import { runInJail } from './run/run.js';
import { ownJailOf, runOnTarget } from './run/run-on-target.js';
import { viewOf } from './run/view.js';

export type LiveRequest = Omit<ExecRequest, 'wait' | 'onProgress'>;

function nobodyHere(owner: Owner): readonly string[] {
  if (owner.shift === 0 || writesAsOwner(owner)) return [];
  return [
    "root's commands run as an unprivileged user, so only world-writable files can be changed here; ctx exec works on a fork",
  ];
}

/** A caller who asked for these would have been promised them. */
function refuseFork({ fork, readonly = false, apart }: LiveRequest): void {
  // What a tool may do to the directory is its cap's to say.
  if (apart !== undefined || (fork === undefined && !readonly)) return;
  throw new ErrnoError('EINVAL', {
    operation: 'jail run',
    reason: `expected no ${readonly ? 'read-only workspace' : 'fork'}: a command on the directory itself has none`,
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
    remedy: 'ctx exec has a fork, and apply leaves them alone',
  });
}

function refuseForkLimits({ disk, inodes }: Quota): void {
  if (disk === undefined && inodes === undefined) return;
  throw new ErrnoError('ENOTSUP', {
    operation: 'jail run',
    reason: '--disk and --files limit a fork, and there is none here',
    remedy: 'ctx exec runs it on a fork, with that limit',
  });
}

/** `permitted` is what was decided about it, where somebody did. */
export async function executeLive(host: Host, asked: LiveRequest, permitted?: Permitted): Promise<LiveEnvelope> {
  refuseNoCommand(asked, 'jail run');
  const read = await withMounts(host, asked);
  refuseFork(read);
  recordInterruptedLive(host);
  const place = placeOf(host, read.cwd);
  const { owner, origin } = place;
  refuseOwnFiles(host, origin);
  const resolved = permitted ?? (await authorityFor(host, place, { ...read, wait: false, live: true }));
  const request = await withTreesOf(host, read, resolved);
  const { argv, environmentAdditions, weakened, trees = [] } = request;
  const mounts = unusedFork(host, place);
  await resolved.permission.confirmDirectories();
  const startsIn = resolved.agent?.cwd ?? place.directory;
  const callers: { jail?: CallersJail } = {};
  const ofCaller = () => ({ ...request, wait: false });
  const runs = runsBeside(host, ofCaller, startsIn, executeLive, () => callers.jail);
  const offered = await agentViewFor(host, place, { ...resolved, tool: undefined }, { ...runs, pending: undefined });
  const viewOfDirectory = () => {
    refuseForkLimits(resolved.authority.quota);
    const agentHome = offered.view?.home;
    const shown = viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened, agentHome });
    const own = request.apart === undefined ? shown : apartView(shown, request.apart);
    const readOnly = [...readOnlyByRequest(place, resolved, request), ...own.readOnly];
    const live = liveView({ ...own, readOnly }, owner, host.store.directory);
    return withAgentView(withTrees(host, live, trees), offered.view);
  };
  try {
    const view = await recordedRefusal(host, () => refusedEntry(place, request, resolved.agent), viewOfDirectory);
    return await runOnDirectory(host, request, { place, resolved, view, offered, callers });
  } finally {
    await offered.view?.end();
  }
}

interface LiveTarget {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly view: EnforcedView;
  readonly offered: OfferedView;
  /** Told of the jail once there is one. */
  readonly callers: { jail?: CallersJail };
}

async function runOnDirectory(host: Host, request: LiveRequest, target: LiveTarget): Promise<LiveEnvelope> {
  const { place, resolved, view, offered } = target;
  const { origin, owner } = place;
  const { trees = [] } = request;
  const outputsOf = (run: string) => join(storePaths(host.store.directory).runs, run);
  const { report } = await runOnTarget(host, request, {
    place,
    resolved,
    view,
    isLive: true,
    object: `workspace/${origin}`,
    facts: { live: true, ...(trees.length === 0 ? {} : { trees: trees.map(treeText) }) },
    note: liveNote(host),
    outputsOf,
    run: (command) => {
      if (offered.view !== undefined) {
        target.callers.jail = {
          ...{ place, resolved, view: command.view, commands: offered.view.commands, isLive: true },
          object: `workspace/${origin}`,
          facts: { live: true, caller: command.run },
          note: () => liveNote(host),
          outputsOf,
        };
      }
      return runInJail({
        ...ownJailOf(host, resolved, request),
        ...command,
        counted: [],
        onStarted: request.onStarted,
        beside: offered.view?.commands,
        servers: serversOf(command.view, [...trees, ...viewServer(offered.view, command.view, undefined)]),
      });
    },
    // Nothing is told apart from what was there before.
    look: async () => ({ seen: undefined, facts: {} }),
  });
  const how = { isKept: false, hasCheckpoint: false };
  const reports = mountReports(trees, how);
  return {
    ...report,
    workspace: { origin, vault: null, fork: null },
    live: [origin, ...resolved.live],
    warnings: [...report.warnings, ...nobodyHere(owner), ...offered.warnings, ...mountWarnings(trees, how)],
    ...(reports.length === 0 ? {} : { mounts: reports }),
  };
}
