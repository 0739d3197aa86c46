/** What a caller of the SDK says. Everything that widens what a command may do is said here, when a workspace is opened. */
import type { ExecRequest } from '../proxy/exec-request.js';

/** What the commands of a workspace may do beyond working in it; the same as the options of `ctx exec`. */
export type Grants = Pick<
  ExecRequest,
  'agent' | 'reads' | 'writes' | 'liveWrites' | 'siblings' | 'readonly' | 'network' | 'privateHosts' | 'quota'
> &
  Partial<Pick<ExecRequest, 'weakened'>>;

export interface WorkspaceOptions
  extends Grants,
    Pick<ExecRequest, 'approvalMilliseconds' | 'onApproval' | 'onProgress'> {
  /** The fork to work on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** `NAME=VALUE` for every command, or `NAME` for the value it has here. */
  readonly environment?: readonly string[];
  /** Wait while another process uses the fork, instead of EBUSY. */
  readonly wait?: boolean;
}

/** A program and its arguments, or a text for the shell. */
export type Command = readonly string[] | { readonly shell: string };

export interface ExecOptions
  extends Pick<ExecRequest, 'timeoutMilliseconds' | 'approvalMilliseconds' | 'onApproval' | 'onLimit'> {
  /** Where it starts: a directory of the workspace; without one, where the workspace was opened. */
  readonly directory?: string | undefined;
  readonly environment?: readonly string[];
  /** Ends the command; one that has not started is ECANCELED. */
  readonly signal?: AbortSignal | undefined;
}

/** Of a command in a kept jail, which can be spoken with while it runs. */
export interface RunOptions extends ExecOptions {
  /** What it reads; without it, nothing. */
  readonly input?: string | Uint8Array | undefined;
  /** Told of its output as it comes, which is in the report too. No more is read until what this returns has resolved. */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void | Promise<void>) | undefined;
}
