/** What tools of a kept jail's agent run: commands beside their caller in the same jail, tools of the operator in jails of their own. */
import { ErrnoError } from '../base/errno.js';
import type { AgentViewRequest } from '../proxy/agent-views.js';
import { execute } from '../proxy/execute.js';
import type { Host } from '../proxy/host.js';
import type { Envelope } from '../proxy/report/envelope.js';
import { besideRequest } from '../proxy/run/beside-request.js';
import { runsBeside } from '../proxy/run/beside-runs.js';
import { onFork } from '../proxy/run/open-fork-target.js';
import { endOf } from '../proxy/run/server-run.js';
import type { KeptCommand, KeptJailRequest } from './jail-request.js';

/** The kept jail, once it is made. */
export interface BesideJail {
  readonly fork: string;
  /** Whether those who are in it now may not write: neither may what they call. */
  readonly isReadOnly: boolean;
  /** Whatever runs already: its caller is one of those, and waits for it. */
  beside(command: KeptCommand): Promise<Envelope>;
}

/** `startsIn` is where its commands start by themselves. */
export function keptRuns(
  host: Host,
  request: KeptJailRequest,
  startsIn: string,
  jail: () => BesideJail | undefined,
): Pick<AgentViewRequest, 'run' | 'runTool' | 'runServer'> {
  const whole = () => ({ ...request, argv: [], streams: 'capture', fork: jail()?.fork ?? request.fork }) as const;
  return {
    ...runsBeside(host, whole, startsIn, { execute, on: onFork }),
    run: async (command) => {
      const made = jail();
      if (made === undefined)
        throw new ErrnoError('EAGAIN', {
          operation: 'call',
          reason: 'the jail is still starting',
          remedy: 'try again',
        });
      const { argv, shell, cwd, timeoutMilliseconds, onOutput, onStarted, signal, onApproval, ...given } =
        besideRequest(whole(), command, startsIn);
      const readonly = given.readonly === true || made.isReadOnly;
      const asked = { argv, shell, cwd, timeoutMilliseconds, onOutput, onStarted, signal, readonly } as const;
      return endOf(await made.beside({ ...asked, environmentAdditions: [], input: 'nothing', onApproval }));
    },
  };
}
