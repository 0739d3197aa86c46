/**
 * One command on a target, a fork or a directory itself, all of it ready: in the record, run, looked at, reported. Every command goes
 * this way, in a jail of its own or in one that is kept.
 */
import { uniqueName } from '../../base/unique-name.js';
import { secretNames, secretsFor } from '../grants/injected-secrets.js';
import { withheld } from '../grants/runnable.js';
import type { Host, Place } from '../host.js';
import type { LiveEnvelope } from '../report/envelope.js';
import { heldCachesText } from '../report/held-caches.js';
import type { RunNote } from '../report/last-run.js';
import { nestingHint } from '../report/nesting-hint.js';
import { busy } from './agent-status.js';
import type { Permitted } from './authority-for.js';
import { type ExecRequest, shortest } from './exec-request.js';
import { type Facts, RecordedRun } from './recorded-run.js';
import { requestedOf } from './requested.js';
import type { JailRun, RunRequest } from './run.js';

/** One command, as the jail of its target is asked to run it. */
export interface TargetCommand extends Pick<RunRequest, 'view' | 'events' | 'onConnection' | 'outputs' | 'onOutput'> {
  readonly timeoutMilliseconds: number | undefined;
  /** Its name in the record. */
  readonly run: string;
}

export interface CommandTarget<Seen> {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly view: TargetCommand['view'];
  /** On a directory itself: nothing of it is undone by anybody. */
  readonly isLive: boolean;
  /** What the record says of it: its name there, and its facts. */
  readonly object: string;
  readonly facts: Facts;
  readonly note: RunNote;
  /** Where the output of a run is kept that its report has no room for. */
  outputsOf(run: string): string;
  run(command: TargetCommand): Promise<JailRun>;
  /** After the run: what it did, for the record and for the envelope. */
  look(): Promise<{ readonly seen: Seen; readonly facts: Facts }>;
}

/** What every envelope says, whatever the command ran on; its warnings are those of the command. */
export type TargetReport = Omit<LiveEnvelope, 'workspace' | 'live'>;

export interface RanOnTarget<Seen> {
  readonly report: TargetReport;
  readonly seen: Seen;
}

type TargetRequest = Omit<ExecRequest, 'wait' | 'onProgress'>;

export async function runOnTarget<Seen>(
  host: Host,
  request: TargetRequest,
  target: CommandTarget<Seen>,
): Promise<RanOnTarget<Seen>> {
  const { place, resolved, view } = target;
  const { agent, permission } = resolved;
  const { decision, approval } = permission;
  const { argv, weakened, onOutput } = request;
  const { origin, directory } = place;
  const run = uniqueName();
  const recorded = RecordedRun.begin(host, {
    run,
    note: target.note,
    whose: { object: target.object, agent: agent?.name, parent: agent?.parent?.agent },
    facts: {
      argv,
      directory,
      origin,
      authority: resolved.digest,
      weakened,
      decision: { ...decision },
      approval,
      injected: secretNames(request.secrets),
      ...projectFact(request),
      ...target.facts,
    },
    onLimit: request.onLimit,
    signal: request.signal,
  });
  let ran: JailRun;
  // A command beside its caller is a part of that one.
  const idle = busy(request.isBeside === true ? undefined : agent);
  try {
    request.onReady?.();
    ran = await target.run({
      run,
      view,
      events: recorded.events,
      onConnection: recorded.connections,
      outputs: target.outputsOf(run),
      onOutput,
      timeoutMilliseconds: shortest(request.timeoutMilliseconds, resolved.authority.quota.wallTime),
    });
  } catch (error) {
    recorded.fail(error);
    throw error;
  } finally {
    idle();
  }
  const { seen, facts } = await target.look();
  const { report, heldCaches, unwritten } = recorded.end(ran, facts);
  return {
    seen,
    report: {
      version: 1,
      argv,
      directory,
      request: requestedOf(request, target.isLive),
      agent: agent?.name ?? null,
      authority: resolved.digest,
      decision,
      approval,
      ...report,
      weakened,
      warnings: [
        ...unwritten,
        ...heldCachesText(heldCaches),
        ...nestingHint(report),
        ...(report.exitCode === 0 ? [] : permission.hints),
        ...(request.projectDefaults?.warnings ?? []),
        ...resolved.warnings,
        ...withheld(place, resolved),
      ],
    },
  };
}

/** Nothing where no defaults of a project counted. */
function projectFact({ projectDefaults }: TargetRequest): Facts {
  return typeof projectDefaults?.digest === 'string' ? { project: projectDefaults.digest } : {};
}

/** What a jail of its own is given, whatever the target. */
export function ownJailOf(host: Host, { authority }: Permitted, request: TargetRequest) {
  return {
    program: host.jailProgram,
    authority,
    privateHosts: request.privateHosts ?? [],
    secrets: secretsFor(host, request.secrets),
    streams: request.streams,
    input: request.stdin,
    keepsNoOutput: request.keepsNoOutput,
    treeProgram: host.tree.program,
    starter: host.starter,
    lockLibrary: host.lockLibrary,
  };
}
