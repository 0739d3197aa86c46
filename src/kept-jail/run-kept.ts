/** One command in a kept jail: its streams, its clock, its limits. The jail goes on. */
import type { RunningCommand, ServedCommand } from '../jail/asked-commands.js';
import type { ControlGroup } from '../jail/cgroup.js';
import { commandPlan } from '../jail/plan.js';
import type { Outcome } from '../jail/report.js';
import type { ServedJail } from '../jail/serve.js';
import type { ConnectionEvent } from '../network/events.js';
import { temporaryOf } from '../proxy/grants/enforced-plan.js';
import { capturedStreams } from '../proxy/report/captured-output.js';
import { type JailNetwork, type JailRun, limitsOf, type RunRequest } from '../proxy/run/run.js';
import { limitsByOutcome, withTimeout } from '../proxy/run/time-limit.js';
import { type LimitWatch, watchLimits } from '../proxy/run/watch-limits.js';

/** Where the bytes of a command come from and go; without them it reads nothing, and its output is in the report. */
export interface Conversation {
  readonly input: ServedCommand['input'];
  readonly onOutput: ServedCommand['onOutput'];
}

export interface KeptRunRequest
  extends Pick<
    RunRequest,
    | 'view'
    | 'authority'
    | 'outputs'
    | 'onOutput'
    | 'timeoutMilliseconds'
    | 'events'
    | 'onConnection'
    | 'treeProgram'
    | 'counted'
    | 'vault'
  > {
  readonly jail: ServedJail;
  readonly network: JailNetwork | undefined;
  /** Of the whole kept jail: what it held while this command ran is reported with it. */
  readonly group: ControlGroup | undefined;
  readonly conversation: Conversation | undefined;
  readonly onStarted?: ((command: RunningCommand) => void) | undefined;
}

/** Events are summed by what they are about, in the order of their first: those of this command are what the sums grew by. */
function addedTo(before: readonly ConnectionEvent[], after: readonly ConnectionEvent[]): readonly ConnectionEvent[] {
  return after.flatMap((event, index) => {
    const { count = 0, bytesIn = 0, bytesOut = 0, milliseconds = 0 } = before[index] ?? {};
    if (event.count === count) return [];
    return [
      {
        ...event,
        count: event.count - count,
        bytesIn: event.bytesIn - bytesIn,
        bytesOut: event.bytesOut - bytesOut,
        milliseconds: event.milliseconds - milliseconds,
      },
    ];
  });
}

export async function runKept(request: KeptRunRequest): Promise<JailRun> {
  const { jail, network, view, authority, conversation, events } = request;
  const captured = capturedStreams(request.outputs);
  const group = request.group?.since();
  const connectionsBefore = network?.connections() ?? [];
  const endAttribution = network?.attribute(request.onConnection);
  let durationMilliseconds = 0;
  let command: RunningCommand | undefined;
  let watch: LimitWatch | undefined;
  let ended: [Outcome, boolean];
  try {
    watch = await watchLimits({
      quota: authority.quota,
      events,
      group,
      treeProgram: request.treeProgram,
      roots: request.counted,
      vault: request.vault,
      temporary: temporaryOf(view),
      end: () => command?.kill(),
    });
    // What looking at the fork takes, before and after, is our time and not the command's.
    const start = process.hrtime.bigint();
    command = jail.start({
      plan: commandPlan(view.jail),
      input: conversation?.input ?? 'nothing',
      onOutput:
        conversation?.onOutput ??
        ((stream, chunk) => {
          captured[stream].add(chunk);
          return request.onOutput?.(stream, chunk);
        }),
      onHeld: watch.held,
    });
    request.onStarted?.(command);
    ended = await withTimeout(command, request.timeoutMilliseconds, events);
    durationMilliseconds = Number(process.hrtime.bigint() - start) / 1e6;
  } finally {
    // Also where the fork was full before: what is connected to later is not this command's.
    endAttribution?.();
    await watch?.stop();
    captured.stdout.close();
    captured.stderr.close();
  }
  const [outcome, timedOut] = ended;
  return {
    outcome,
    timedOut,
    durationMilliseconds,
    stdout: conversation === undefined ? captured.stdout.finish() : null,
    stderr: conversation === undefined ? captured.stderr.finish() : null,
    connections: addedTo(connectionsBefore, network?.connections() ?? []),
    ...limitsOf(group?.events() ?? [], watch.reached, limitsByOutcome(outcome, authority, events)),
  };
}
