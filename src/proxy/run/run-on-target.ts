/** One command in a jail of its own, on a target that is ready: in the record, run, looked at, reported. */
import { secretsFor } from '../grants/injected-secrets.js';
import type { Host } from '../host.js';
import { CommandRun } from './command-run.js';
import type { ExecRequest } from './exec-request.js';
import { type JailRun, type RunRequest, runInJail } from './run.js';
import type { Decided, OpenTarget } from './target.js';

/** Closes the target. `inJail` is how its jail is run. */
export async function runOnTarget<Report>(
  host: Host,
  request: ExecRequest,
  target: OpenTarget<Report>,
  inJail: (asked: RunRequest) => Promise<JailRun> = runInJail,
): Promise<Report> {
  try {
    const run = CommandRun.begin(host, request, target);
    let ran: JailRun;
    try {
      request.onReady?.();
      try {
        ran = await inJail(target.jail(run.command));
      } finally {
        await target.ended();
      }
    } catch (error) {
      run.fail(error);
      throw error;
    }
    run.ran();
    const seen = await run.seen(ran, () => target.look());
    return await seen.envelope(run.end(ran, seen.facts));
  } finally {
    target.close();
  }
}

/** What a jail of its own is given, whatever the target. */
export function ownJailOf(host: Host, { resolved, request }: Pick<Decided, 'resolved' | 'request'>) {
  return {
    program: host.jailProgram,
    authority: resolved.authority,
    privateHosts: request.privateHosts ?? [],
    secrets: secretsFor(host, request.secrets),
    streams: request.streams,
    input: request.stdin,
    keepsNoOutput: request.keepsNoOutput,
    treeProgram: host.tree.program,
    starter: host.starter,
    lockLibrary: host.lockLibrary,
    onStarted: request.onStarted,
  };
}
