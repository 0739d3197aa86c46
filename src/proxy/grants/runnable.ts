/**
 * Whether this host's jail can hold an Authority as it is. What an agent's files ask for and the jail cannot do yet is
 * refused by name: a command that runs with less isolation or less of a limit than was written down is worse than none.
 */
import type { Authority } from '../../authority/authority.js';
import { lifetimeFault } from '../../authority/quota.js';
import { coach } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { shiftedCount } from '../../jail/id-maps.js';
import type { Host, Place } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';
import { fitsShift } from './jail-identity.js';

interface Obstacle {
  readonly code: 'ENOTSUP' | 'EPERM' | 'EINVAL';
  readonly reason: string;
  readonly remedy: string;
}

/** Why its `iso`, uid and gid cannot be had here. */
function identityObstacle(host: Host, place: Place, authority: Authority, name: string): Obstacle | undefined {
  const { isolation, uid, gid } = authority.identity;
  const { owner } = place;
  const isRoot = host.uid === 0;
  if (isolation === 'uid' && !isRoot) {
    const reason = 'iso uid: only root can run a command as a uid of its own';
    return { code: 'ENOTSUP', reason, remedy: `run it as root, or: ctx agent set ${name} iso userns` };
  }
  if (isolation === 'uid') {
    if (fitsShift(uid) && fitsShift(gid)) return undefined;
    return { code: 'EINVAL', reason: `iso uid: expected ids below ${shiftedCount}`, remedy: 'choose smaller ones' };
  }
  if (isolation === 'userns') {
    if (!isRoot || (fitsShift(uid) && fitsShift(gid))) return undefined;
    return { code: 'EINVAL', reason: `iso userns: expected ids below ${shiftedCount}`, remedy: 'choose smaller ones' };
  }
  if (uid === owner.uid && gid === owner.gid) return undefined;
  return {
    code: 'EPERM',
    reason: `it runs as ${uid}:${gid}, and here commands run as ${owner.uid}:${owner.gid}`,
    remedy: `run it in a workspace of ${uid}:${gid}, or: ctx agent set ${name} iso ${isRoot ? 'uid' : 'userns'}`,
  };
}

/** An unprivileged process can neither take nor leave a group: it has those of the process that runs it. */
function groupsObstacle(host: Host, { identity }: Authority): Obstacle | undefined {
  if (host.uid === 0) {
    const large = identity.groups.find((group) => !fitsShift(group));
    if (large === undefined) return undefined;
    const reason = `groups: expected ids below ${shiftedCount}, got ${large}`;
    return { code: 'EINVAL', reason, remedy: 'choose smaller ones' };
  }
  const missing = identity.groups.filter((group) => !host.groups.includes(group));
  if (missing.length === 0) return undefined;
  const reason = `groups ${missing.join(', ')}: without root a command has your groups, and you are not in these`;
  return { code: 'ENOTSUP', reason, remedy: 'run it as root, or take them out of its groups file' };
}

/** Throws ENOTSUP, EINVAL, EPERM or EACCES where the command must not run. */
export function assertRunnable(host: Host, place: Place, resolved: ResolvedAuthority): void {
  const { authority, agent } = resolved;
  if (agent === undefined) return;
  const operation = `agent ${agent.name}`;
  const obstacle = identityObstacle(host, place, authority, agent.name) ?? groupsObstacle(host, authority);
  if (obstacle !== undefined) {
    throw new ErrnoError(obstacle.code, { operation, reason: obstacle.reason, remedy: obstacle.remedy });
  }
  const fault = lifetimeFault(authority.lifetime, host.now().getTime(), 0); // its uses are counted by uses.ts
  if (fault !== undefined) throw new ErrnoError('EACCES', { operation, reason: coach({ kind: fault }) });
  if (agent.cwd !== undefined && authority.view.accessTo(agent.cwd) === 'none') {
    throw new ErrnoError('EACCES', {
      operation,
      path: agent.cwd,
      reason: 'its cwd is not in its view',
      remedy: `ctx agent set ${agent.name} cwd ''`,
    });
  }
}

/** What is granted and not given: less than the Authority says, so a warning and no refusal. */
export function withheld(place: Place, { live }: ResolvedAuthority): readonly string[] {
  // Binds are not shifted with the command: to the host's files it is a stranger.
  const shifted = place.owner.shift > 0 && live.length > 0;
  return shifted
    ? ["root's commands run as an unprivileged user, so on the host only world-writable files can be changed"]
    : [];
}
