/** One command of a session: what is asked for, with what the session was started with, decided about. */
import { ErrnoError } from '../base/errno.js';
import { withAuthoritiesOf } from '../proxy/grants/authorities.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import { authorityFor, type Permitted } from '../proxy/run/authority-for.js';
import { type ExecRequest, refuseNoCommand } from '../proxy/run/exec-request.js';
import { lostSession, type SessionCommand, type SessionRequest } from './session-request.js';

export interface DecidedCommand {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: Permitted;
  readonly request: ExecRequest;
  readonly command: SessionCommand;
}

/** The session that is asked: its name, and what it was started with. */
export interface AskedSession {
  readonly id: string;
  readonly host: Host;
  readonly request: SessionRequest;
  readonly origin: string;
  readonly resolved: ResolvedAuthority;
}

/** Outside of the session's turns: no other command waits for a person's answer. */
export async function decideCommand(session: AskedSession, command: SessionCommand): Promise<DecidedCommand> {
  const { environment, conversation, ...rest } = command;
  const { origin, resolved: first } = session;
  const host: Host = {
    ...session.host,
    ...(environment === undefined ? {} : { environment: withAuthoritiesOf(environment, session.host.environment) }),
    requester: session.host.requester ?? `session ${session.id}`,
  };
  const request: ExecRequest = {
    ...session.request,
    ...rest,
    wait: false,
    readonly: session.request.readonly === true || command.readonly === true,
    environmentAdditions: [...session.request.environmentAdditions, ...command.environmentAdditions],
    input: command.input ?? (conversation?.input === 'pipe' ? 'unknown' : 'nothing'),
    streams: 'capture',
  };
  refuseNoCommand(request, 'exec');
  if (request.signal?.aborted === true) {
    throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
  }
  const place = placeOf(host, request.cwd);
  if (place.origin !== origin) throw lostSession(origin, `it works on ${origin}`);
  const resolved = await authorityFor(host, place, request, first);
  if (resolved.heldDigest !== first.digest) {
    throw lostSession(origin, 'what its agent may do has changed since it started');
  }
  return { host, place, resolved, request, command };
}
