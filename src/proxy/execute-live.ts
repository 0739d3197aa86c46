/**
 * A command on a directory itself: the same Authority, the same jail, no fork. Nothing of it is undone by anybody, so it is
 * a verb of its own, and report and record say that it was live.
 */
import { join } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { ErrnoError } from '../base/errno.js';
import { uniqueName } from '../base/unique-name.js';
import { storePaths } from '../vault/store/layout.js';
import type { Owner } from '../vault/vault.js';
import { secretNames } from './grants/injected-secrets.js';
import { withheld } from './grants/runnable.js';
import { type Host, placeOf } from './host.js';
import type { LiveEnvelope } from './report/envelope.js';
import { nestingHint } from './report/nesting-hint.js';
import { authorityFor } from './run/authority-for.js';
import { type ExecRequest, refuseNoCommand, shortest } from './run/exec-request.js';
import { liveNote, recordInterruptedLive } from './run/live-runs.js';
import { liveView, writesAsOwner } from './run/live-view.js';
import { unusedFork } from './run/plan-of.js';
import { recordedRun } from './run/recorded-run.js';
import { requestedOf } from './run/requested.js';
import { runInJail } from './run/run.js';
import { viewOf } from './run/view.js';

export type LiveRequest = Omit<ExecRequest, 'wait' | 'onProgress'>;

function nobodyHere(owner: Owner): readonly string[] {
  if (owner.shift === 0 || writesAsOwner(owner)) return [];
  return [
    "this directory is root's, to whom root's commands are nobody: they write what everybody may write; ctx exec has a fork",
  ];
}

/** Whoever asked for these would have been promised them. */
function refuseFork({ fork, readonly = false }: LiveRequest): void {
  if (fork === undefined && !readonly) return;
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

export async function executeLive(host: Host, request: LiveRequest): Promise<LiveEnvelope> {
  refuseNoCommand(request, 'jail run');
  refuseFork(request);
  recordInterruptedLive(host);
  const place = placeOf(host, request.cwd);
  const { owner, origin, directory } = place;
  refuseOwnFiles(host, origin);
  const resolved = await authorityFor(host, place, { ...request, wait: false, live: true });
  const { quota } = resolved.authority;
  if (quota.disk !== undefined || quota.inodes !== undefined) {
    throw new ErrnoError('ENOTSUP', {
      operation: 'jail run',
      reason: 'a limit of disk or files is of a fork, and here there is none',
      remedy: 'ctx exec runs it on a fork, with that limit',
    });
  }
  const { argv, environmentAdditions, weakened } = request;
  const mounts = unusedFork(host, place);
  await resolved.permission.confirmDirectories();
  const view = viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened });
  const { agent, permission } = resolved;
  const { decision, approval } = permission;
  const run = uniqueName();
  const { report, unwritten } = await recordedRun(
    host,
    {
      run,
      note: liveNote(host),
      whose: { object: `workspace/${origin}`, agent: agent?.name, parent: agent?.parent?.agent },
      facts: {
        argv,
        directory,
        origin,
        authority: resolved.digest,
        weakened,
        decision: { ...decision },
        approval,
        injected: secretNames(request.secrets),
        live: true,
      },
      onLimit: request.onLimit,
      signal: request.signal,
    },
    (events, onConnection) => {
      request.onReady?.();
      return runInJail({
        program: host.jailProgram,
        view: liveView(view, owner, host.store.directory),
        authority: resolved.authority,
        privateHosts: request.privateHosts ?? [],
        secrets: request.secrets ?? [],
        streams: request.streams,
        outputs: join(storePaths(host.store.directory).runs, run),
        onOutput: request.onOutput,
        timeoutMilliseconds: shortest(request.timeoutMilliseconds, quota.wallTime),
        events,
        onConnection,
        treeProgram: host.tree.program,
        starter: host.starter,
        lockLibrary: host.lockLibrary,
        counted: [],
        onStarted: request.onStarted,
      });
    },
    // Nothing is told apart from what was there before.
    async () => ({ seen: undefined, facts: {} }),
  );
  return {
    version: 1,
    argv,
    directory,
    request: requestedOf(request, true),
    workspace: { origin, vault: null, fork: null },
    agent: agent?.name ?? null,
    authority: resolved.digest,
    decision,
    approval,
    live: [origin, ...resolved.live],
    ...report,
    weakened,
    warnings: [
      ...unwritten,
      ...nestingHint(report),
      ...(report.exitCode === 0 ? [] : permission.hints),
      ...resolved.warnings,
      ...withheld(place, resolved),
      ...nobodyHere(owner),
    ],
  };
}
