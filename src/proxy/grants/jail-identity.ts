/**
 * Who a command is, inside its jail and outside of it, by its agent's `iso` (docs/objects.md). Pure.
 *
 *   shared   the workspace's owner: itself where a person runs it, shifted where root does
 *   userns   inside, ids of the agent's own; outside, the process that runs it (or, where root does, the owner shifted)
 *   uid      root only: the agent's own uid, shifted, outside too; the fork is shown as the agent's
 *
 * A command without an agent is `shared`, or `userns` with the ids that were asked for (`--user`).
 */
import { sha256 } from '../../base/sha256.js';
import { shiftedCount } from '../../jail/id-maps.js';
import type { JailIdentity } from '../../jail/plan.js';
import type { Owner } from '../../vault/vault.js';
import type { ResolvedAuthority } from './authority-of.js';

/** Above every id that systems hand out, below 2^31; where root runs it, among those that a shifted jail has. */
const firstOwnId = { self: 0x60000000, shifted: 0x0e000000 } as const;
const ownIdDigits = 6;

/** The same for the same agent, always. */
function ownId(agent: string, kind: JailIdentity['kind']): number {
  return firstOwnId[kind] + Number.parseInt(sha256(agent).slice(0, ownIdDigits), 16);
}

export type IdentityOf = Pick<ResolvedAuthority, 'authority' | 'agent'>;

/** An agent that has its person's ids in its files, or root's, gets numbers that are nobody's; what a person asks for is given. */
function idsInside(owner: Owner, { authority, agent }: IdentityOf, kind: JailIdentity['kind']) {
  const { uid, gid } = authority.identity;
  if (agent === undefined) return { uid, gid };
  const own = ownId(agent.name, kind);
  const inside = (id: number, ofOwner: number) => (id === ofOwner || id === 0 ? own : id);
  return { uid: inside(uid, owner.uid), gid: inside(gid, owner.gid) };
}

export function jailIdentity(owner: Owner, resolved: IdentityOf): JailIdentity {
  const { uid, gid, groups, isolation } = resolved.authority.identity;
  const own = { uid: owner.uid, gid: owner.gid };
  if (owner.shift === 0) {
    return isolation === 'shared' ? { kind: 'self', ...own } : { kind: 'self', ...idsInside(owner, resolved, 'self') };
  }
  const given = groups.length === 0 ? {} : { groups };
  if (isolation === 'uid') {
    const other = uid !== owner.uid || gid !== owner.gid;
    const fork = other ? { owner: own } : {};
    return { kind: 'shifted', uid, gid, shift: owner.shift, ...given, ...fork };
  }
  if (isolation === 'shared') return { kind: 'shifted', ...own, shift: owner.shift, ...given };
  const inside = idsInside(owner, resolved, 'shifted');
  const isSame = inside.uid === own.uid && inside.gid === own.gid;
  if (isSame) return { kind: 'shifted', ...inside, shift: owner.shift, ...given };
  // Two numbers have changed places inside: the group is the one that it is outside.
  const numbered = new Map([
    [own.gid, inside.gid],
    [inside.gid, own.gid],
  ]);
  const named = groups.length === 0 ? {} : { groups: groups.map((group) => numbered.get(group) ?? group) };
  return { kind: 'shifted', ...inside, shift: owner.shift, ...named, outside: own };
}

/** To files of the host and of the fork, as their owners are on the disk. */
export function ownerOfFiles(owner: Owner, resolved: IdentityOf): Pick<Owner, 'uid' | 'gid'> {
  const identity = jailIdentity(owner, resolved);
  if (identity.kind === 'self') return owner;
  return identity.outside ?? identity;
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
