/** One command of a workspace as the proxy takes it, and the one way that `Workspace.exec` and `ctx exec` run it. */
import { ErrnoError } from '../../base/errno.js';
import { type Host, type Place, placeOf } from '../../proxy/host.js';
import type { Envelope, LiveEnvelope } from '../../proxy/report/envelope.js';
import type { ExecRequest } from '../../proxy/run/exec-request.js';
import { type Command, formOf, type JailOptions, type WorkspaceOptions } from '../options.js';
import { startingPlace } from '../place.js';
import { requestOf } from '../request-of.js';
import { endedBy } from './cancellation.js';
import { GuardedCallbacks } from './guarded-callbacks.js';

/** Whose command it is, and what it may do. */
export interface CommandPlace {
  readonly host: Host;
  readonly place: Place;
  readonly options: WorkspaceOptions;
}

/** Callbacks of the caller's are guarded: `callbacks` is what the command is to run during. */
export function commandOf(
  { host, place, options }: CommandPlace,
  command: Command,
  { directory, environment = [], streams = 'capture', ...rest }: JailOptions,
  callbacks: GuardedCallbacks,
): ExecRequest {
  const request = requestOf(host, place, options);
  const signal = callbacks.signalWith(rest.signal);
  const endOn = endedBy(signal);
  const onStarted = callbacks.guard('onStarted', rest.onStarted);
  const onApproval = callbacks.guard('onApproval', rest.onApproval ?? request.onApproval);
  return {
    ...request,
    ...rest,
    approvalMilliseconds: rest.approvalMilliseconds ?? request.approvalMilliseconds,
    onApproval: onApproval && (async (...asked) => onApproval(...asked)),
    onProgress: callbacks.guard('onProgress', request.onProgress),
    onOutput: callbacks.guard('onOutput', rest.onOutput),
    onReady: callbacks.guard('onReady', rest.onReady),
    onLimit: callbacks.guard('onLimit', rest.onLimit),
    ...formOf(command),
    cwd: startingPlace(host, place, directory),
    environmentAdditions: [...request.environmentAdditions, ...environment],
    streams,
    signal,
    onStarted: (jail) => {
      endOn(jail);
      onStarted?.(jail);
    },
  };
}

/** ECANCELED where the signal came before the command's turn. */
export function refuseEnded(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new ErrnoError('ECANCELED', { operation: 'workspace', reason: 'interrupted before its turn' });
}

/** For a process that runs one command: what a `Workspace` has beside it is not read. */
export function placeAt(
  host: Host,
  { directory, ...options }: WorkspaceOptions & { readonly directory: string },
): CommandPlace {
  return { host, place: placeOf(host, directory), options };
}

/** In a jail of its own, on a fork. */
export async function execIn(place: CommandPlace, command: Command, options: JailOptions): Promise<Envelope> {
  refuseEnded(options.signal);
  const { execute } = await import('../../proxy/execute.js');
  const { onFork } = await import('../../proxy/run/open-fork-target.js');
  const callbacks = new GuardedCallbacks();
  try {
    return await execute(place.host, commandOf(place, command, options, callbacks), onFork);
  } finally {
    callbacks.end();
  }
}

/** The same on the directory itself. */
export async function execLiveIn(place: CommandPlace, command: Command, options: JailOptions): Promise<LiveEnvelope> {
  const { execute } = await import('../../proxy/execute.js');
  const { onDirectory } = await import('../../proxy/run/live-target.js');
  const callbacks = new GuardedCallbacks();
  try {
    return await execute(place.host, commandOf(place, command, options, callbacks), onDirectory);
  } finally {
    callbacks.end();
  }
}
