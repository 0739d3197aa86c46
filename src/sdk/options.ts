/** What a caller of the SDK says. Everything that widens what a command may do is said here, when a workspace is opened. */
import type { Quota } from '../authority/quota.js';
import type { RunningJail } from '../jail/launch.js';
import type { JailLayer } from '../jail/plan.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import { shellCommand } from '../proxy/run/shell-command.js';

export type { JailLayer, Quota };

/** What the commands of a workspace may do beyond working in it; the same as the options of `ctx exec`. */
export type Grants = Pick<
  ExecRequest,
  | 'agent'
  | 'reads'
  | 'writes'
  | 'liveWrites'
  | 'siblings'
  | 'cache'
  | 'readonly'
  | 'network'
  | 'privateHosts'
  | 'secrets'
  | 'mounts'
  | 'quota'
  | 'user'
> &
  Partial<Pick<ExecRequest, 'weakened'>>;

export interface WorkspaceOptions
  extends Grants,
    Pick<ExecRequest, 'approvalMilliseconds' | 'onApproval' | 'onProgress'> {
  /** The fork to work on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** `NAME=VALUE` for every command, or `NAME` for the value it has here. */
  readonly environment?: readonly string[];
  /** Add the defaults of the project's `.ctx/project.toml`, where the person has confirmed them: docs/project.md. */
  readonly project?: boolean | undefined;
  /** A directory that stands for the person's home; without it the fork has one of its own. */
  readonly home?: string | undefined;
  /** Wait while another process uses the fork, instead of EBUSY. */
  readonly wait?: boolean;
  /** EBUSY where other commands are at work on the fork, instead of joining them. */
  readonly alone?: boolean | undefined;
}

/** A program and its arguments, or a text for the shell. */
export type Command = readonly string[] | { readonly shell: string };

export function argvOf(command: Command): readonly string[] {
  return 'shell' in command ? shellCommand(command.shell) : command;
}

/** As the proxy takes it. */
export function formOf(command: Command): Pick<ExecRequest, 'argv' | 'shell'> {
  return { argv: argvOf(command), shell: 'shell' in command ? command.shell : undefined };
}

export interface ExecOptions
  extends Pick<ExecRequest, 'timeoutMilliseconds' | 'approvalMilliseconds' | 'onApproval' | 'onLimit'> {
  /** Where it starts: a directory of the workspace; without one, where the workspace was opened. */
  readonly directory?: string | undefined;
  readonly environment?: readonly string[];
  /** Ends the command; one that has not started is ECANCELED. */
  readonly signal?: AbortSignal | undefined;
}

/** A command that runs: what a caller can do to it. */
export type Started = Pick<RunningJail, 'signal' | 'kill'>;

/** Of a command in a jail of its own. */
export interface JailOptions
  extends ExecOptions,
    Pick<ExecRequest, 'onOutput' | 'onReady' | 'calledTool' | 'toolCall'> {
  /** `inherit`: it speaks with the streams of this process itself; else its output is in the report. */
  readonly streams?: ExecRequest['streams'] | undefined;
  /** It is starting: its signals can be passed on from here. */
  readonly onStarted?: ((command: Started) => void) | undefined;
}

/** Of a command in a kept jail, which can be spoken with while it runs. */
export interface RunOptions extends ExecOptions {
  /** What it reads; without it, nothing. */
  readonly input?: string | Uint8Array | undefined;
  /**
   * Told of its output as it comes, which is in the report too. No more is read until what this returns has resolved, or the signal has
   * ended the command.
   */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void | Promise<void>) | undefined;
}
