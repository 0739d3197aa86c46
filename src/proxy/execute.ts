/**
 * The only way a command runs: decided, its target made ready, run in a jail, reported, each step in the record before its effect. What
 * it works on is the one thing in which commands differ: `onFork`, `onDirectory`, `onNothing`.
 */
import type { AgentView } from './agent-views.js';
import { agentViewFor } from './grants/agent-view.js';
import type { Host } from './host.js';
import { withMounts, withTreesOf } from './run/asked-mounts.js';
import { authorityFor, type Permitted } from './run/authority-for.js';
import { runsBeside } from './run/beside-runs.js';
import { type ExecRequest, refuseNoCommand } from './run/exec-request.js';
import { recordInterruptedLive } from './run/live-runs.js';
import { runOnTarget } from './run/run-on-target.js';
import { JoinPatience } from './run/settled-fork.js';
import type { OpenTarget, TargetKind, TargetReport } from './run/target.js';

/** `permitted` is what was decided about it, where somebody did. */
export async function execute<Report extends TargetReport>(
  host: Host,
  asked: ExecRequest,
  on: TargetKind<Report>,
  permitted?: Permitted,
): Promise<Report> {
  refuseNoCommand(asked, on.verb);
  const given: ExecRequest = on.isLive ? { ...asked, wait: false, live: true } : asked;
  const read = await withMounts(host, given);
  recordInterruptedLive(host);
  const place = on.placeOf(host, read);
  const ahead = permitted === undefined ? on.lookAhead?.(host, place) : undefined;
  let view: AgentView | undefined;
  let report: Report | undefined;
  try {
    const resolved = permitted ?? (await authorityFor(host, place, read));
    const whole = await withTreesOf(host, read, resolved);
    const pending = on.isLive ? undefined : (whole.pending ?? []);
    let target: OpenTarget<Report> | undefined;
    const approvedCall = resolved.permission.approval ?? undefined;
    const caller = () => ({ ...whole, pending, fork: target?.fork ?? whole.fork, approvedCall });
    const runs = runsBeside(host, caller, resolved.agent?.cwd ?? place.directory, {
      execute,
      on,
      callers: () => target?.callers(),
    });
    const asking = { ...resolved, tool: whole.calledTool };
    const viewed = await agentViewFor(host, place, asking, { ...runs, pending });
    view = viewed.view;
    const request = { ...whole, view };
    const patience = new JoinPatience();
    while (report === undefined) {
      try {
        target = await on.open(host, { request, place, resolved, warnings: viewed.warnings, ahead });
        report = await runOnTarget(host, request, target);
      } catch (error) {
        await patience.after(error);
      }
    }
  } finally {
    ahead?.stop();
    await view?.end();
  }
  // A command beside its caller leaves it to that one's end.
  return read.pending === undefined ? settled(report, view) : report;
}

/** With what became of what its tools asked of the fork. */
export async function settled<Report extends TargetReport>(
  report: Report,
  view: AgentView | undefined,
): Promise<Report> {
  const notes = (await view?.settle()) ?? [];
  return notes.length === 0 ? report : { ...report, warnings: [...report.warnings, ...notes] };
}
