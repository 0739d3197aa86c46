/** One command of a kept jail: what is asked for, with what the kept jail was started with, decided about. */
import { ErrnoError } from '../base/errno.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import { withCertificatesOf } from '../proxy/grants/trusted-certificates.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import { authorityFor, type Permitted } from '../proxy/run/authority-for.js';
import { type ExecRequest, refuseNoCommand } from '../proxy/run/exec-request.js';
import { type KeptCommand, type KeptJailRequest, lostJail } from './jail-request.js';

export interface DecidedCommand {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: Permitted;
  readonly request: ExecRequest;
  readonly command: KeptCommand;
}

/** The kept jail that is asked: its name, and what it was started with. */
export interface AskedJail {
  readonly id: string;
  readonly host: Host;
  readonly request: KeptJailRequest;
  readonly origin: string;
  readonly resolved: ResolvedAuthority;
}

/** The command with what the kept jail was started with: it adds to that, and takes nothing of it back. Pure. */
export function requestFor(kept: KeptJailRequest, command: KeptCommand): ExecRequest {
  const { environment: _environment, conversation, ...rest } = command;
  return {
    ...kept,
    ...rest,
    wait: false,
    readonly: kept.readonly === true || command.readonly === true,
    environmentAdditions: [...kept.environmentAdditions, ...command.environmentAdditions],
    input: command.input ?? (conversation?.input === 'pipe' ? 'unknown' : 'nothing'),
    streams: 'capture',
  };
}

/** Outside of the kept jail's turns: no other command waits for a person's answer. */
export async function decideCommand(kept: AskedJail, command: KeptCommand): Promise<DecidedCommand> {
  const { environment } = command;
  const { origin, resolved: first } = kept;
  const host: Host = {
    ...kept.host,
    ...(environment === undefined ? {} : { environment: withCertificatesOf(environment, kept.host.environment) }),
    requester: kept.host.requester ?? `kept jail ${kept.id}`,
  };
  const request = requestFor(kept.request, command);
  refuseNoCommand(request, 'exec');
  if (request.signal?.aborted === true) {
    throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
  }
  const place = placeOf(host, request.cwd);
  if (place.origin !== origin) throw lostJail(origin, `it cannot run a command in another workspace, ${place.origin}`);
  const resolved = await authorityFor(host, place, request, first);
  if (resolved.heldDigest !== first.digest) {
    throw lostJail(origin, 'what its agent may do has changed since it started');
  }
  return { host, place, resolved, request, command };
}
