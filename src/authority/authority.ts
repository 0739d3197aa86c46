/**
 * The authority layer: what one subject may do, and nothing about how it is enforced. Pure: no I/O, no clock, no
 * process; imports `base/` only. Code that enforces takes an Authority and asks here.
 *
 *     texts      syntax  policy (permission)  mount  label  name  lineage  workspace-file  operator-mounts
 *     files      absolute-path  path-index  surface  scope  tooling-paths  resolve-surface  surface-mounts  view
 *                system-profile  program-paths
 *     limits     network  quota (and lifetime)
 *     the value  authority: all of it, frozen, with canonical bytes and a digest
 *     answers    decide (objects, six steps)  decide-path (files)  refusal (reasons that coach)  explain  preamble
 *     children   attenuate (attenuate-view, excess): a child within its parent, or every excess named
 *
 * Promises: a value once made cannot change; the same inputs give the same bytes on every host; what is not granted is
 * denied; what does not parse is refused with EINVAL. No function here reads `meta.json` or any description.
 */

import { canonicalJson, type Json } from '../base/canonical-json.js';
import { viewMounts } from '../base/limits/objects.js';
import { sha256 } from '../base/sha256.js';
import { isNormalPath, normalPathRule } from './absolute-path.js';
import type { Excess } from './excess.js';
import { deepFrozen, sortedUnique, sortedUniqueNumbers } from './frozen.js';
import { isSubjectType, type Label, parseLabel, printLabel } from './label.js';
import { type Isolation, isolations, type Life, lives } from './lineage.js';
import { type Mount, makeMount, printMount } from './mount.js';
import { mountObjectName } from './name.js';
import { anyPublicNetwork, makeNetwork, type Network, noNetwork } from './network.js';
import { type Policy, printRule, type SubjectRules } from './policy.js';
import { type Lifetime, makeLifetime, makeQuota, type Quota } from './quota.js';
import { makeSurface, type Surface } from './surface.js';
import { quoted, refuse } from './syntax.js';
import { View } from './view.js';

export interface Identity {
  readonly owner: number;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly label: Label;
  readonly isolation: Isolation;
  readonly life: Life;
}

/** What a supervisor granted beyond the parent, and who that was. */
export interface SupervisorGrant {
  readonly by: string;
  readonly excess: Excess;
}

export interface Authority {
  readonly identity: Identity;
  readonly surface: Surface;
  /** Beyond the surface: the agent's mount file and the operator's mounts. */
  readonly mounts: readonly Mount[];
  /** Surface and mounts together. */
  readonly view: View;
  /** Object permissions, as they were written. */
  readonly policy: Policy;
  /** The rules in force: those of the identity's type. */
  readonly permissions: SubjectRules;
  /** Where tools are searched, in order. */
  readonly toolPath: readonly string[];
  readonly network: Network;
  readonly quota: Quota;
  readonly lifetime: Lifetime;
  /** Types of the agents it descends from, nearest first: an object's own policy must allow them too. */
  readonly ancestors: readonly string[];
  readonly supervised: readonly SupervisorGrant[];
}

export interface AuthorityParts {
  readonly identity: Omit<Identity, 'owner' | 'groups' | 'isolation' | 'life'> & Partial<Identity>;
  readonly surface: Surface;
  readonly mounts?: readonly Mount[];
  readonly policy: Policy;
  readonly toolPath?: readonly string[];
  /** Left out: any public host where the policy allows `network:default connect`, none where it does not. */
  readonly network?: Network;
  readonly quota?: Quota;
  readonly lifetime?: Lifetime;
  readonly ancestors?: readonly string[];
  readonly supervised?: readonly SupervisorGrant[];
}

/** The kernel's ids are 32 bits, and the last one means "none". */
function checkedId(what: string, id: number): number {
  return Number.isInteger(id) && id >= 0 && id < 0xffffffff ? id : refuse('authority', `expected a ${what}, got ${id}`);
}

function makeIdentity(parts: AuthorityParts['identity']): Identity {
  const isolation = parts.isolation ?? 'shared';
  const life = parts.life ?? 'owned';
  if (!isolations.includes(isolation)) refuse('authority', `expected an iso of ${isolations.join(', ')}`);
  if (!lives.includes(life)) refuse('authority', `expected a life of ${lives.join(', ')}`);
  return Object.freeze({
    owner: checkedId('uid', parts.owner ?? parts.uid),
    uid: checkedId('uid', parts.uid),
    gid: checkedId('gid', parts.gid),
    groups: sortedUniqueNumbers((parts.groups ?? []).map((group) => checkedId('gid', group))),
    label: parseLabel(printLabel(parts.label)),
    isolation,
    life,
  });
}

function makeMounts(mounts: readonly Mount[], policy: Policy): readonly Mount[] {
  if (mounts.length > viewMounts) refuse('authority', `expected at most ${viewMounts} mounts, got ${mounts.length}`);
  const made = mounts.map(makeMount).sort((a, b) => (a.target < b.target ? -1 : 1));
  const granted = new Set(policy.rules.filter((rule) => rule.class === 'mount').map((rule) => rule.name));
  const targets = new Map<string, string>();
  for (const [index, { target }] of made.entries()) {
    if (made[index - 1]?.target === target) refuse('authority', `expected one mount at ${quoted(target)}`);
    const name = mountObjectName(target);
    if (name === undefined || !granted.has(name)) continue;
    const other = targets.get(name);
    if (other !== undefined) {
      refuse('authority', `the policy's mount:${name} would mean both ${quoted(other)} and ${quoted(target)}`);
    }
    targets.set(name, target);
  }
  return Object.freeze(made);
}

export function mayConnect(policy: Policy, subject: string): boolean {
  return policy.allows(subject, 'network', 'default', 'connect');
}

/** Without one of its own a subject that may connect at all has what `held` reaches: its parent's, or any public host. */
export function givenNetwork(policy: Policy, subject: string, own: Network | undefined, held: Network): Network {
  return makeNetwork(own ?? (mayConnect(policy, subject) ? held : noNetwork));
}

export function makeAuthority(parts: AuthorityParts): Authority {
  const identity = makeIdentity(parts.identity);
  const surface = makeSurface(parts.surface);
  const mounts = makeMounts(parts.mounts ?? [], parts.policy);
  const { type } = identity.label;
  const connects = mayConnect(parts.policy, type);
  const network = givenNetwork(parts.policy, type, parts.network, anyPublicNetwork);
  if (network.kind !== 'none' && !connects) {
    refuse(
      'authority',
      'a network was given without the permission to use it',
      `allow ${type} network:default connect`,
    );
  }
  const toolPath = parts.toolPath ?? [];
  for (const path of toolPath) if (!isNormalPath(path)) refuse('authority', `tool path: expected ${normalPathRule}`);
  const ancestors = parts.ancestors ?? [];
  for (const ancestor of ancestors) if (!isSubjectType(ancestor)) refuse('authority', 'expected types as ancestors');
  return Object.freeze({
    identity,
    surface,
    mounts,
    view: new View(surface, mounts),
    policy: parts.policy,
    permissions: parts.policy.of(type),
    toolPath: Object.freeze([...new Set(toolPath)]),
    network,
    quota: makeQuota(parts.quota ?? {}),
    lifetime: makeLifetime(parts.lifetime ?? {}),
    ancestors: Object.freeze([...ancestors]),
    supervised: deepFrozen((parts.supervised ?? []).map(({ by, excess }) => ({ by, excess: { ...excess } }))),
  });
}

/** The Authority as data. Rules are a set, so their order and lines are left out; so is the policy's file name. */
export function authorityJson(authority: Authority): Json {
  const { identity, surface, network, quota, lifetime } = authority;
  return {
    version: 1,
    identity: { ...identity, label: printLabel(identity.label) },
    surface: { ...surface },
    mounts: authority.mounts.map(printMount),
    policy: sortedUnique(authority.policy.rules.map(printRule)),
    toolPath: authority.toolPath,
    network: { ...network },
    quota: { ...quota },
    lifetime: { ...lifetime },
    ancestors: authority.ancestors,
    supervised: authority.supervised.map(({ by, excess }) => ({ by, excess: { ...excess } })),
  };
}

/** The algorithm, a colon, and the digest of the canonical bytes: what a record names an Authority by. */
export function authorityDigest(authority: Authority): string {
  return `sha256:${sha256(canonicalJson(authorityJson(authority)))}`;
}
