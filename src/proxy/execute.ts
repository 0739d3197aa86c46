/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork stays locked from before the command until its report is made, so that the report is exact. Whatever happens
 * the lock is released and nothing stays mounted: the jail holds both, and ends with this process.
 */

import type { RecordEntry } from '../audit/record.js';
import type { Quota } from '../authority/quota.js';
import type { Json } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import type { RunningJail } from '../jail/launch.js';
import type { Layer } from '../jail/plan.js';
import { reportOf } from '../vault/changes.js';
import { saveCheckpoint } from '../vault/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../vault/flatten.js';
import { syncFork } from '../vault/sync.js';
import type { Problem, Progress } from '../vault/tree.js';
import { closeFork, openFork, writtenTrees } from '../vault/vault.js';
import type { AgentFacts } from './agent-facts.js';
import { type ResolvedAuthority, resolveAuthority } from './authority-of.js';
import type { ApprovalRequest } from './await-approval.js';
import { decideRequest, type Leave } from './decide-request.js';
import { denialsOf } from './denials.js';
import type { Envelope } from './envelope.js';
import { mountsOf } from './fork-mounts.js';
import { refreshGitIndex } from './git-index.js';
import { type Host, type Place, placeOf } from './host.js';
import { type LimitEvent, LimitEvents } from './limit-events.js';
import { refusalsOf } from './refusals.js';
import { decisionOf } from './refused-decision.js';
import { runInJail } from './run.js';
import { assertRunnable, withheld } from './runnable.js';
import { countUse } from './uses.js';
import { viewOf } from './view.js';

export interface ExecRequest extends Pick<ApprovalRequest, 'approvalMilliseconds' | 'onApproval'> {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The fork it works on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** The agent it runs for; without one, for nobody: this directory and nothing more. */
  readonly agent?: string | undefined;
  /** Paths to show beyond that, as written; what is written outside the workspace is not in the fork. */
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  readonly siblings?: boolean;
  /** Show it the workspace read-only. */
  readonly readonly?: boolean;
  /** What a command without an agent may connect to: `any`, or `host:port`. */
  readonly network?: readonly string[];
  /** `host:port` that may be reached although they are private or loopback, named by the operator. */
  readonly privateHosts?: readonly string[];
  readonly quota?: Quota;
  readonly environmentAdditions: readonly string[];
  /** Layers of the jail to do without, named by the operator; in the record and in the report. */
  readonly weakened: readonly Layer[];
  readonly timeoutMilliseconds?: number | undefined;
  readonly streams: 'inherit' | 'capture';
  readonly wait: boolean;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The workspace is ready; whatever is drawn of its making can go. */
  readonly onReady?: (() => void) | undefined;
  /** The command is starting: its signals can be passed on from here. */
  readonly onStarted?: ((jail: RunningJail) => void) | undefined;
  /** A threshold of a limit was reached: called while the command runs, and once for each. */
  readonly onLimit?: ((event: LimitEvent) => void) | undefined;
  /** Cancels what comes before the command. */
  readonly signal?: AbortSignal | undefined;
}

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
}

/**
 * After the command has run, its report is worth more than what is written about it: a full disk, which may be the command's
 * own doing, is said in the report. That it began is in the record already.
 */
export function keepGoing(warnings: string[], what: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    warnings.push(`could not write ${what}: ${error.reason} (${error.code})`);
  }
}

export function shortest(...times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((time) => time !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

/** What a command may do, and the leave to run it. */
export type Permitted = ResolvedAuthority & { readonly leave: Leave };

/** What is refused here is in the record, like every command that ran. */
export async function authorityFor(host: Host, place: Place, request: ExecRequest): Promise<Permitted> {
  let agent: AgentFacts | undefined;
  try {
    agent = request.agent === undefined ? undefined : await host.agents(request.agent);
    const { reads = [], writes = [], siblings = false, network = [], privateHosts = [], quota = {} } = request;
    const grants = { network: [...network, ...privateHosts], quota };
    const resolved = await resolveAuthority(host, { place, agent, reads, writes, siblings, grants });
    assertRunnable(host, place, resolved);
    const leave = await decideRequest(host, place, resolved, request);
    await countUse(host, resolved.line);
    return { ...resolved, leave };
  } catch (error) {
    if (error instanceof ErrnoError) {
      const { argv, agent: asked = null } = request;
      const { code, reason } = error;
      const decision = decisionOf(error) as Json | undefined;
      const facts = { argv, directory: place.directory, origin: place.origin, asked, error: code, reason, decision };
      const whose = { object: `workspace/${place.origin}`, agent: agent?.name, parent: agent?.parent?.agent };
      host.recorder.append({ ...whose, type: 'exec', status: 'denied', layer: 'proxy', facts });
    }
    throw error;
  }
}

export async function execute(host: Host, request: ExecRequest): Promise<Envelope> {
  if (request.argv.length === 0 || request.argv[0] === '') {
    throw new ErrnoError('EINVAL', {
      operation: 'exec',
      reason: 'expected a command',
      remedy: 'for example: ctx exec -- npm test',
    });
  }
  const place = placeOf(host, request.cwd);
  const resolved = await authorityFor(host, place, request);
  const opened = await openFork({
    store: host.store,
    tree: host.tree,
    origin: place.origin,
    owner: place.owner,
    fork: request.fork,
    wait: request.wait,
    look: true,
    purpose: request.argv.join(' '),
    onProgress: request.onProgress,
    signal: request.signal,
  });
  try {
    resolved.leave.confirm(opened);
    const object = `fork/${opened.id}/${opened.name}`;
    // Frozen first, so that whatever the command writes is told apart from what was there, and can be undone alone.
    const saved = saveCheckpoint(opened, { automatic: true, reason: request.argv.join(' ') });
    await flattenTrunk(saved.fork);
    const synced = await syncFork(await flattenDeltas(saved.fork));
    const fork = await refreshGitIndex(host, place, synced, request.weakened, request.signal);
    const shown = viewOf({
      host,
      place,
      resolved,
      mounts: mountsOf(fork),
      argv: request.argv,
      environmentAdditions: request.environmentAdditions,
      weakened: request.weakened,
    });
    const view = request.readonly === true ? { ...shown, readOnly: [place.origin] } : shown;
    const timeoutMilliseconds = shortest(request.timeoutMilliseconds, resolved.authority.quota.wallTime);
    const startedAt = host.now();
    const facts = {
      argv: request.argv,
      directory: place.directory,
      origin: place.origin,
      authority: resolved.digest,
      weakened: request.weakened,
      decision: { ...resolved.leave.decision },
      approval: resolved.leave.approval,
    } satisfies Record<string, Json>;
    const whose = { object, agent: resolved.agent?.name, parent: resolved.agent?.parent?.agent };
    host.recorder.append({ ...whose, type: 'exec', status: 'begin', facts });
    if (request.signal?.aborted === true) {
      host.recorder.append({ ...whose, type: 'exec', status: 'failed', facts: { ...facts, error: 'ECANCELED' } });
      throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
    }
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
      view,
      authority: resolved.authority,
      privateHosts: request.privateHosts ?? [],
      streams: request.streams,
      timeoutMilliseconds,
      events,
      treeProgram: host.tree.program,
      counted: writtenTrees(fork),
      lockDescriptor: fork.lockDescriptor,
      onStarted: request.onStarted,
    }).catch((error: unknown) => {
      const code = error instanceof ErrnoError ? error.code : 'EIO';
      host.recorder.append({ ...whose, type: 'exec', status: 'failed', facts: { ...facts, error: code } });
      throw error;
    });

    const { changes, pending } = await reportOf(fork);
    const { timedOut, connections, limitsReached } = run;
    const { exitCode, signal, refusedCalls, ...resources } = run.outcome;
    const refusals = refusalsOf(refusedCalls, host.architecture);
    const ended: RecordEntry = {
      ...whose,
      type: 'exec',
      status: exitCode === 0 ? 'ok' : 'failed',
      facts: {
        ...facts,
        exitCode,
        signal,
        timedOut,
        changes: changes.map(({ kind, path }) => `${kind} ${path}`),
        refusals: refusals.map(({ call, count, firstAt, lastAt }) => ({ call, count, firstAt, lastAt })),
        connections: connections.map(({ verdict, host: name, port, count }) => `${verdict} ${name}:${port} ${count}`),
        limitsReached,
      },
    };
    keepGoing(unwritten, 'how it ended', () => host.recorder.append(ended));
    for (const denial of denialsOf(whose, refusals, connections)) {
      keepGoing(unwritten, 'what it was refused', () => host.recorder.append(denial));
    }
    return {
      version: 1,
      argv: request.argv,
      directory: place.directory,
      workspace: { origin: place.origin, vault: fork.id, fork: fork.name },
      agent: resolved.agent?.name ?? null,
      authority: resolved.digest,
      decision: resolved.leave.decision,
      approval: resolved.leave.approval,
      live: resolved.live,
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
      weakened: request.weakened,
      changes,
      pending: pending.length,
      entered: synced.entered,
      clashes: synced.clashes,
      warnings: [
        ...unwritten,
        ...resolved.leave.warnings,
        ...resolved.warnings,
        ...withheld(place, resolved),
        ...[...opened.problems, ...synced.problems].map(describe),
      ],
    };
  } finally {
    closeFork(opened);
  }
}
