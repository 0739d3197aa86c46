/**
 * A command on a directory itself: the same Authority, the same jail, no fork. Nothing of it is undone by anybody, so it is
 * a verb of its own, and report and record say that it was live.
 */
import type { Json } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import type { Owner } from '../vault/vault.js';
import { denialsOf } from './denials.js';
import type { Envelope } from './envelope.js';
import { authorityFor, type ExecRequest, keepGoing, shortest } from './execute.js';
import { type Host, placeOf } from './host.js';
import { LimitEvents } from './limit-events.js';
import { liveView, writesAsOwner } from './live-view.js';
import { unusedFork } from './plan-of.js';
import { refusalsOf } from './refusals.js';
import { runInJail } from './run.js';
import { withheld } from './runnable.js';
import { viewOf } from './view.js';

export type LiveRequest = Omit<ExecRequest, 'wait' | 'onProgress'>;

/** As that of a fork, without what only a fork can say. */
export type LiveEnvelope = Omit<Envelope, 'workspace' | 'changes' | 'pending' | 'entered' | 'clashes'> & {
  readonly workspace: { readonly origin: string; readonly vault: null; readonly fork: null };
};

function nobodyHere(owner: Owner): readonly string[] {
  if (owner.shift === 0 || writesAsOwner(owner)) return [];
  return [
    "this directory is root's, to whom root's commands are nobody: they write what everybody may write; ctx exec has a fork",
  ];
}

export async function executeLive(host: Host, request: LiveRequest): Promise<LiveEnvelope> {
  if (request.argv.length === 0 || request.argv[0] === '') {
    throw new ErrnoError('EINVAL', {
      operation: 'jail run',
      reason: 'expected a command',
      remedy: 'for example: ctx jail run -- make',
    });
  }
  const place = placeOf(host, request.cwd);
  const { owner, origin, directory } = place;
  const resolved = await authorityFor(host, place, { ...request, wait: false });
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
  const view = viewOf({ host, place, resolved, mounts, argv, environmentAdditions, weakened });
  const startedAt = host.now();
  const { decision, approval } = resolved.leave;
  const facts = {
    argv,
    directory,
    origin,
    authority: resolved.digest,
    weakened,
    decision: { ...decision },
    approval,
    live: true,
  } satisfies Record<string, Json>;
  const { agent } = resolved;
  const whose = { object: `workspace/${origin}`, agent: agent?.name, parent: agent?.parent?.agent };
  host.recorder.append({ ...whose, type: 'exec', status: 'begin', facts });
  request.onReady?.();

  const unwritten: string[] = [];
  const events = new LimitEvents(host.now, (event) => {
    const status = event.percent === 100 ? 'denied' : 'ok';
    keepGoing(unwritten, 'a limit', () =>
      host.recorder.append({ ...whose, type: 'limit', status, facts: { ...event } }),
    );
    request.onLimit?.(event);
  });
  const run = await runInJail({
    program: host.jailProgram,
    view: liveView(view, owner, host.store.directory),
    authority: resolved.authority,
    privateHosts: request.privateHosts ?? [],
    streams: request.streams,
    timeoutMilliseconds: shortest(request.timeoutMilliseconds, quota.wallTime),
    events,
    treeProgram: host.tree.program,
    counted: [],
    onStarted: request.onStarted,
  }).catch((error: unknown) => {
    const code = error instanceof ErrnoError ? error.code : 'EIO';
    host.recorder.append({ ...whose, type: 'exec', status: 'failed', facts: { ...facts, error: code } });
    throw error;
  });
  const { timedOut, connections, limitsReached } = run;
  const { exitCode, signal, refusedCalls, ...resources } = run.outcome;
  const refusals = refusalsOf(refusedCalls, host.architecture);
  const status = exitCode === 0 ? 'ok' : 'failed';
  const ended = { ...facts, exitCode, signal, timedOut, limitsReached };
  keepGoing(unwritten, 'how it ended', () => host.recorder.append({ ...whose, type: 'exec', status, facts: ended }));
  for (const denial of denialsOf(whose, refusals, connections)) {
    keepGoing(unwritten, 'what it was refused', () => host.recorder.append(denial));
  }
  return {
    version: 1,
    argv,
    directory,
    workspace: { origin, vault: null, fork: null },
    agent: agent?.name ?? null,
    authority: resolved.digest,
    decision,
    approval,
    live: [origin, ...resolved.live],
    exitCode,
    signal,
    timedOut,
    stdout: run.stdout,
    stderr: run.stderr,
    startedAt: startedAt.toISOString(),
    durationMilliseconds: run.durationMilliseconds,
    resources,
    refusals,
    connections,
    limitEvents: events.all,
    limitsReached,
    weakened,
    warnings: [
      ...unwritten,
      ...resolved.leave.warnings,
      ...resolved.warnings,
      ...withheld(place, resolved),
      ...nobodyHere(owner),
    ],
  };
}
