/**
 * Who a command is, inside its jail and outside of it, by its agent's `iso` (docs/objects.md). Pure.
 *
 *   shared   the workspace's owner: itself where a person runs it, shifted where root does
 *   userns   inside, ids of the agent's own; outside, whoever runs it (or, where root does, the owner shifted)
 *   uid      root only: the agent's own uid, shifted, outside too; the fork is shown as the agent's
 */
import type { Isolation } from '../../authority/lineage.js';
import { sha256 } from '../../base/sha256.js';
import { shiftedCount } from '../../jail/id-maps.js';
import type { JailIdentity } from '../../jail/plan.js';
import type { Owner } from '../../vault/vault.js';
import type { ResolvedAuthority } from './authority-of.js';

/** Above every id that systems hand out, below 2^31. */
const firstOwnId = 0x60000000;
const ownIdDigits = 6;

/** The same for the same agent, always. */
function ownId(agent: string): number {
  return firstOwnId + Number.parseInt(sha256(agent).slice(0, ownIdDigits), 16);
}

export type IdentityOf = Pick<ResolvedAuthority, 'authority' | 'agent'>;

export function jailIdentity(owner: Owner, { authority, agent }: IdentityOf): JailIdentity {
  const { uid, gid, groups, isolation } = authority.identity;
  const byUser: Isolation = agent === undefined ? 'shared' : isolation;
  if (owner.shift === 0) {
    if (agent === undefined || byUser === 'shared') return { kind: 'self', uid: owner.uid, gid: owner.gid };
    // An agent that has its person's ids in its files gets numbers that are nobody's.
    const own = ownId(agent.name);
    return { kind: 'self', uid: uid === owner.uid ? own : uid, gid: gid === owner.gid ? own : gid };
  }
  const given = groups.length === 0 ? {} : { groups };
  if (byUser === 'uid') {
    const other = uid !== owner.uid || gid !== owner.gid;
    const fork = other ? { owner: { uid: owner.uid, gid: owner.gid } } : {};
    return { kind: 'shifted', uid, gid, shift: owner.shift, ...given, ...fork };
  }
  return { kind: 'shifted', uid: owner.uid, gid: owner.gid, shift: owner.shift, ...given };
}

/** Ids that root's jails have room for. */
export function fitsShift(id: number): boolean {
  return id < shiftedCount;
}

/** As whose the fork's files are shown: those who share its mounts have it in common. */
export function ownersOf({ owner }: { readonly owner: Owner }, resolved: IdentityOf): string {
  const identity = jailIdentity(owner, resolved);
  return identity.kind === 'shifted' && identity.owner !== undefined ? `${identity.uid}:${identity.gid}` : '';
}
