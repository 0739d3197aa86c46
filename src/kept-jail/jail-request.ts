/** What is asked of a kept jail: what each of its commands is given, and one command. */
import { ErrnoError } from '../base/errno.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import type { Conversation } from './run-kept.js';

/** What every command of the kept jail is given; fixed when it starts. */
export type KeptJailRequest = Omit<ExecRequest, 'argv' | 'streams' | 'timeoutMilliseconds' | 'onStarted' | 'onLimit'>;

export interface KeptCommand
  extends Pick<
    ExecRequest,
    | 'argv'
    | 'shell'
    | 'cwd'
    | 'environmentAdditions'
    | 'readonly'
    | 'timeoutMilliseconds'
    | 'approvalMilliseconds'
    | 'onApproval'
    | 'input'
    | 'onStarted'
    | 'onLimit'
    | 'onOutput'
    | 'signal'
  > {
  /** Where its bytes come from and go; without one it reads nothing, and what it writes is in the report. */
  readonly conversation?: Conversation | undefined;
  /** What the caller's own environment is, for how things look and read. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** A kept jail that cannot go on with what it was started for. */
export function lostJail(origin: string, reason: string): ErrnoError {
  return new ErrnoError('ESTALE', {
    operation: 'kept jail',
    path: origin,
    reason,
    remedy: 'ctx jail stop ends it; ctx jail start begins another',
  });
}
