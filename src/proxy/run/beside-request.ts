/** Commands that tools run for a command that called them, as requests: what they have of its, and what of their own. Pure. */
import type { RunningJail } from '../../jail/launch.js';
import type { SharedPath } from '../../jail/plan.js';
import type { BesideCommand, ServerCommand, ToolCommand } from '../agent-views.js';
import { type ExecRequest, shortest } from './exec-request.js';
import { shellCommand } from './shell-command.js';

/** Ends with its caller. */
function endingBy(signal: AbortSignal): (jail: RunningJail) => void {
  return (jail) => {
    const kill = () => jail.kill();
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
  };
}

type Common = Pick<BesideCommand, 'timeoutMilliseconds' | 'onOutput' | 'signal'>;

/** The person's terminal is the caller's, and approvals are given by `ctx approvals`: the caller hears that one is waited for. */
function saidWaiting(onOutput: Common['onOutput']): NonNullable<ExecRequest['onApproval']> {
  return async ({ id }) => {
    await onOutput('stderr', Buffer.from(`ctx: waits for an approval: ctx approvals grant ${id}, or deny\n`));
    return undefined;
  };
}

function asked({ timeoutMilliseconds, onOutput, signal }: Common, request: Pick<ExecRequest, 'timeoutMilliseconds'>) {
  return {
    timeoutMilliseconds: shortest(timeoutMilliseconds, request.timeoutMilliseconds),
    streams: 'capture',
    input: 'nothing',
    onOutput,
    signal,
    onStarted: endingBy(signal),
    onApproval: saidWaiting(onOutput),
    onProgress: undefined,
    onReady: undefined,
    onLimit: undefined,
    mounts: [],
    trees: undefined,
    isBeside: true,
    view: undefined,
    calledTool: undefined,
    toolCall: undefined,
    approvedCall: undefined,
    alone: undefined,
    wait: false,
  } as const;
}

/**
 * A directory may be the fork's alone, so the command goes there itself; the process that decides about it reads that,
 * too.
 */
function startedIn({ text, directory }: BesideCommand): string {
  return `cd -- '${directory.replaceAll("'", "'\\''")}' || exit 1\n${text}`;
}

/** With the caller's agent and grants, on its fork. `startsIn` is where such a command starts by itself. */
export function besideRequest(request: ExecRequest, command: BesideCommand, startsIn: string): ExecRequest {
  const shell = command.directory === startsIn ? command.text : startedIn(command);
  return { ...request, ...asked(command, request), argv: shellCommand(shell), shell, stdin: 'nothing' };
}

type Caller = Pick<
  ExecRequest,
  'cwd' | 'fork' | 'weakened' | 'approvalMilliseconds' | 'timeoutMilliseconds' | 'toolCall' | 'approvedCall'
>;

/**
 * With the tool's own grants, for no one, and of its caller's the fork alone. `stdin` is a descriptor that holds its
 * input.
 */
export function toolRequest(
  { cwd, fork, approvalMilliseconds, weakened, toolCall, approvedCall, ...request }: Caller,
  command: ToolCommand | (ServerCommand & { readonly timeoutMilliseconds?: undefined }),
  program: SharedPath,
  stdin: number,
) {
  const { grants } = command;
  return {
    ...asked(command, request),
    argv: [program.target],
    cwd,
    fork,
    weakened,
    // Of a call that was approved no one is asked again; of another tool everyone is.
    approvedCall: toolCall?.name === command.name ? approvedCall : undefined,
    environmentAdditions: [],
    stdin,
    // Bound by an approval, and shown with the question. A server reads one call after the other.
    input: Buffer.isBuffer(command.input) ? command.input : 'nothing',
    apart: { program, hidesFork: grants.fork === undefined },
    readonly: grants.fork !== 'rw',
    reads: grants.reads,
    liveWrites: grants.writes,
    network: grants.network,
    privateHosts: grants.privateHosts,
    secrets: grants.secrets,
    quota: grants.quota,
    ...(approvalMilliseconds === undefined ? {} : { approvalMilliseconds }),
  } satisfies ExecRequest;
}

/** The same of a tool that goes on between calls: it has a home that stays, and no time limit but its caller's. */
export function serverRequest(caller: Caller, command: ServerCommand, program: SharedPath, home: string) {
  const { wallTime: _ofOneCall, ...quota } = command.grants.quota;
  const request = toolRequest(caller, command, program, command.input);
  return { ...request, quota, home, keepsNoOutput: true, apart: { ...request.apart, keepsHome: true } };
}
