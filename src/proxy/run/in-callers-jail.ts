/**
 * A command that a tool runs for its caller, in the jail that the caller is in: decided and recorded as every command, with what the caller
 * sees and nothing more. It has no checkpoint of its own, and what it changes is in its caller's report.
 */
import { commandPlan } from '../../jail/plan.js';
import type { BesideEnd } from '../agent-views.js';
import type { Host } from '../host.js';
import { authorityFor, type Permitted } from './authority-for.js';
import { CommandRun } from './command-run.js';
import type { ExecRequest } from './exec-request.js';
import { type JailRun, limitsOf } from './run.js';
import type { CallersJail, TargetCommand } from './target.js';
import { limitsByOutcome, withTimeout } from './time-limit.js';

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
  const { isLive } = caller;
  const permitted = await authorityFor(host, caller.place, { ...request, ...(isLive ? { live: true } : {}) });
  if (!fits(caller, permitted)) return otherwise(permitted);
  await permitted.permission.confirmDirectories();
  const run = CommandRun.begin(host, request, { ...caller, resolved: permitted, note: caller.note() });
  let ran: JailRun;
  try {
    request.onReady?.();
    ran = await runThere(caller, request, permitted, run.command);
  } catch (error) {
    run.fail(error);
    throw error;
  }
  run.ran();
  return run.end(ran, {});
}
