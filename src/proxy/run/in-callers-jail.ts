/**
 * A command that a tool runs for its caller, in the jail that the caller is in: decided and recorded as every command, with what the caller
 * sees and nothing more. It has no checkpoint of its own, and what it changes is in its caller's report.
 */
import { commandPlan } from '../../jail/plan.js';
import type { AgentView, BesideEnd } from '../agent-views.js';
import type { EnforcedView } from '../grants/enforced-plan.js';
import type { Host, Place } from '../host.js';
import type { RunNote } from '../report/last-run.js';
import { authorityFor, type Permitted } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import type { Facts } from './recorded-run.js';
import { type JailRun, limitsOf } from './run.js';
import { runOnTarget, type TargetCommand } from './run-on-target.js';
import { limitsByOutcome, withTimeout } from './time-limit.js';

/** The jail of a command, for as long as it runs. */
export interface CallersJail {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly view: EnforcedView;
  readonly commands: AgentView['commands'];
  readonly isLive: boolean;
  /** As the record names what it works on. */
  readonly object: string;
  readonly facts: Facts;
  /** Of its own for each command. */
  note(): RunNote;
  outputsOf(run: string): string;
}

/**
 * Not where what it may do is other than what the jail was made for: an approval gave it more, or its agent's files have changed. And not
 * where one of the two was approved for exactly what it finds: the other could change that.
 */
function fits({ resolved }: CallersJail, asked: Permitted): boolean {
  return resolved.digest === asked.digest && !resolved.permission.isBound && !asked.permission.isBound;
}

async function runThere(
  caller: CallersJail,
  request: ExecRequest,
  { authority }: Permitted,
  { view, events, onOutput, timeoutMilliseconds }: TargetCommand,
): Promise<JailRun> {
  const start = process.hrtime.bigint();
  const command = await caller.commands.start({
    plan: commandPlan({ ...view.jail, argv: request.argv }),
    input: 'nothing',
    onOutput: (stream, chunk) => onOutput?.(stream, chunk),
  });
  request.onStarted?.(command);
  const [outcome, timedOut] = await withTimeout(command, timeoutMilliseconds, events);
  return {
    outcome,
    timedOut,
    durationMilliseconds: Number(process.hrtime.bigint() - start) / 1e6,
    stdout: null,
    stderr: null,
    // Those of the jail are in its caller's report.
    connections: [],
    ...limitsOf([], [], limitsByOutcome(outcome, authority, events)),
  };
}

/** `otherwise` runs it in a jail of its own, with what was decided. */
export async function runInCallersJail(
  host: Host,
  request: ExecRequest,
  caller: CallersJail,
  otherwise: (permitted: Permitted) => Promise<BesideEnd>,
): Promise<BesideEnd> {
  const { place, view, isLive, object } = caller;
  const permitted = await authorityFor(host, place, { ...request, ...(isLive ? { live: true } : {}) });
  if (!fits(caller, permitted)) return otherwise(permitted);
  await permitted.permission.confirmDirectories();
  const { report } = await runOnTarget(host, request, {
    place,
    resolved: permitted,
    view,
    isLive,
    object,
    facts: caller.facts,
    note: caller.note(),
    outputsOf: (run) => caller.outputsOf(run),
    run: (command) => runThere(caller, request, permitted, command),
    look: async () => ({ seen: undefined, facts: {} }),
  });
  return report;
}
