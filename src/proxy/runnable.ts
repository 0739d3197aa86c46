/**
 * Whether this host's jail can hold an Authority as it stands. What an agent's files ask for and the jail cannot do yet is
 * refused by name: a command that runs with less isolation or less of a limit than was written down is worse than none.
 */
import type { Authority } from '../authority/authority.js';
import { lifetimeFault } from '../authority/quota.js';
import { coach } from '../authority/refusal.js';
import { ErrnoError } from '../base/errno.js';
import type { ResolvedAuthority } from './authority-of.js';
import type { Host, Place } from './host.js';

function unsupported(host: Host, { authority, agent }: ResolvedAuthority): string | undefined {
  if (agent === undefined) return undefined;
  const { isolation } = authority.identity;
  if (isolation === 'uid') return 'iso uid: a uid of its own for each agent';
  // Root's commands are always shifted.
  if (isolation === 'userns' && host.uid !== 0) return 'iso userns without root: ids of its own for each agent';
  if (agent.root !== '/') return `root ${agent.root}: a root of its own for each agent`;
  return authority.lifetime.uses === undefined ? undefined : 'expiry uses: counting how often an authority is used';
}

/** Throws ENOTSUP, EPERM or EACCES where the command must not run. */
export function assertRunnable(host: Host, place: Place, resolved: ResolvedAuthority): void {
  const { authority, agent } = resolved;
  if (agent === undefined) return;
  const operation = `agent ${agent.name}`;
  const missing = unsupported(host, resolved);
  if (missing !== undefined) {
    throw new ErrnoError('ENOTSUP', { operation, reason: `${missing} is not supported yet` });
  }
  const { uid, gid } = authority.identity;
  const { owner } = place;
  if (uid !== owner.uid || gid !== owner.gid) {
    throw new ErrnoError('EPERM', {
      operation,
      reason: `it runs as ${uid}:${gid}, and here commands run as ${owner.uid}:${owner.gid}`,
      remedy: `run it in a workspace of ${uid}:${gid}, or make an agent for ${owner.uid}:${owner.gid}`,
    });
  }
  const fault = lifetimeFault(authority.lifetime, host.now().getTime(), 0);
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

/** What is granted and not given yet: less than the Authority says, so a warning and no refusal. */
export function withheld(place: Place, { authority, agent, live }: ResolvedAuthority): readonly string[] {
  // Binds are not shifted with the command: to the host's files it is a stranger.
  const shifted = place.owner.shift > 0 && live.length > 0;
  return [
    ...(shifted ? ["root's commands are nobody to the host's files: there they write what everybody may write"] : []),
    ...(agent === undefined ? [] : withheldFrom(authority)),
  ];
}

function withheldFrom(authority: Authority): readonly string[] {
  return [
    ...(authority.identity.groups.length === 0 ? [] : ['its supplementary groups are not given to the command yet']),
  ];
}
