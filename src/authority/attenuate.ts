/**
 * Attenuation: a parent's Authority and a request give a child's Authority that is within the parent's, or a refusal
 * that lists everything that is not. What a request leaves out is the parent's (groups, tool path, quota, lifetime,
 * isolation), never more; its policy and its surface it must name.
 *
 * A supervisor may grant excesses, each named exactly; the child carries them as `supervised`, with who granted them,
 * in its canonical bytes. A grant for something that is not an excess changes nothing and is not carried.
 *
 * A child may choose a type of its own, even one that objects' own policies favour: it carries its ancestors' types,
 * and such a policy must allow all of them (see decide).
 */
import { viewMounts } from '../base/limits/objects.js';
import { deriveView } from './attenuate-view.js';
import {
  type Authority,
  type AuthorityParts,
  givenNetwork,
  type Identity,
  makeAuthority,
  mayConnect,
  type SupervisorGrant,
} from './authority.js';
import { coachExcess, type Excess, isGrantable, sameExcess } from './excess.js';
import { sortedUnique } from './frozen.js';
import { keepsIsolation } from './lineage.js';
import type { Mount } from './mount.js';
import { namesMounts } from './mount-permission.js';
import { networkExcess } from './network.js';
import { printGrant } from './permission.js';
import { type Policy, printRule } from './policy.js';
import { lifetimeFault, lifetimeFields, makeLifetime, makeQuota, numberExcess, quotaFields } from './quota.js';
import { makeSurface, type Surface } from './surface.js';
import { View } from './view.js';

export interface ChildRequest extends Pick<AuthorityParts, 'policy' | 'toolPath' | 'network' | 'quota' | 'lifetime'> {
  readonly identity: Pick<Identity, 'label'> & Partial<Identity>;
  /** Paths of the parent's view. */
  readonly surface: Surface;
  /** Sources are paths of the parent's view. */
  readonly mounts?: readonly Mount[];
}

export interface AttenuationContext {
  readonly now: number;
  /** How often the parent has been used. */
  readonly used?: number;
  readonly grants?: readonly SupervisorGrant[];
}

export interface ExplainedExcess {
  readonly excess: Excess;
  readonly coaching: string;
}

export type Attenuation =
  | { readonly kind: 'granted'; readonly authority: Authority; readonly supervised: readonly SupervisorGrant[] }
  | { readonly kind: 'refused'; readonly excesses: readonly ExplainedExcess[] };

function identityExcess(parent: Identity, child: ChildRequest['identity']): Excess[] {
  const excesses: Excess[] = [];
  for (const field of ['owner', 'uid', 'gid'] as const) {
    const asked = child[field];
    if (asked !== undefined && asked !== parent[field])
      excesses.push({ kind: 'identity', field, asked, held: parent[field] });
  }
  for (const field of ['user', 'role'] as const) {
    const [asked, held] = [child.label[field], parent.label[field]];
    if (asked !== held) excesses.push({ kind: 'label', field, asked, held });
  }
  if (child.label.level > parent.label.level) {
    excesses.push({ kind: 'label', field: 'level', asked: `s${child.label.level}`, held: `s${parent.label.level}` });
  }
  for (const gid of new Set(child.groups ?? [])) {
    if (gid !== parent.gid && !parent.groups.includes(gid)) excesses.push({ kind: 'group', gid });
  }
  const isolation = child.isolation ?? parent.isolation;
  if (!keepsIsolation(parent.isolation, isolation)) {
    excesses.push({ kind: 'isolation', asked: isolation, held: parent.isolation });
  }
  if (child.life === 'detached') excesses.push({ kind: 'detached life' });
  return excesses;
}

function policyExcess(parent: Authority, policy: Policy, childType: string): Excess[] {
  const { type } = parent.identity.label;
  return policy.rules.flatMap((rule): Excess[] => {
    if (rule.subject !== childType) return [{ kind: 'foreign subject', rule: printRule(rule) }];
    if (parent.policy.allows(type, rule.class, rule.name, rule.permission)) return [];
    // A parent whose policy names no mount has all of its own, and a child's come from those.
    if (rule.class === 'mount' && !namesMounts(parent.policy, type)) return [];
    return [{ kind: 'permission', rule: printGrant(rule) }];
  });
}

/** What the child is to have: its own where it asked, else its parent's. */
function inherited<T extends object>(asked: Partial<T>, held: T): T {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return { ...held, ...Object.fromEntries(given) };
}

export function attenuate(parent: Authority, request: ChildRequest, context: AttenuationContext): Attenuation {
  const grants = context.grants ?? [];
  const grantOf = (excess: Excess) =>
    isGrantable(excess) ? grants.find((grant) => sameExcess(grant.excess, excess)) : undefined;
  const { label } = request.identity;
  const fault = lifetimeFault(parent.lifetime, context.now, context.used ?? 0);
  const connects = mayConnect(request.policy, label.type);
  const network = givenNetwork(request.policy, label.type, request.network, parent.network);
  const asked = { quota: makeQuota(request.quota ?? {}), lifetime: makeLifetime(request.lifetime ?? {}) };
  const requestedView = new View(makeSurface(request.surface), request.mounts ?? []);
  const derived = deriveView(parent.view, requestedView, (excess) => grantOf(excess) !== undefined);
  const excesses: Excess[] = [
    ...(fault === undefined ? [] : [{ kind: 'parent is over', fault } as const]),
    ...identityExcess(parent.identity, request.identity),
    ...policyExcess(parent, request.policy, label.type),
    ...derived.excesses,
    ...(request.toolPath ?? [])
      .filter((path) => !parent.toolPath.includes(path))
      .map((path) => ({ kind: 'tool path', path }) as const),
    ...networkExcess(network, parent.network).map((host) => ({ kind: 'network', host }) as const),
    ...(network.kind === 'none' || connects ? [] : [{ kind: 'network without permission' } as const]),
    ...numberExcess(quotaFields, asked.quota, parent.quota).map((excess) => ({ kind: 'quota', ...excess }) as const),
    ...numberExcess(lifetimeFields, asked.lifetime, parent.lifetime).map(
      (excess) => ({ kind: 'lifetime', ...excess }) as const,
    ),
    ...(derived.mounts.length > viewMounts
      ? [{ kind: 'too many mounts', asked: derived.mounts.length, held: viewMounts } as const]
      : []),
  ];
  const refused = excesses.filter((excess) => grantOf(excess) === undefined);
  if (refused.length > 0) {
    const explained = refused.map((excess) =>
      Object.freeze({ excess: Object.freeze(excess), coaching: coachExcess(excess) }),
    );
    return Object.freeze({ kind: 'refused', excesses: Object.freeze(explained) });
  }
  const authority = makeAuthority({
    identity: { ...inherited(request.identity, parent.identity), life: request.identity.life ?? 'owned' },
    surface: { ...request.surface, hidden: sortedUnique(derived.hidden) },
    mounts: derived.mounts,
    policy: request.policy,
    toolPath: request.toolPath ?? parent.toolPath,
    network,
    quota: inherited(asked.quota, parent.quota),
    lifetime: inherited(asked.lifetime, parent.lifetime),
    ancestors: [...new Set([parent.identity.label.type, ...parent.ancestors])].filter((type) => type !== label.type),
    supervised: excesses.flatMap((excess) => grantOf(excess) ?? []),
  });
  return Object.freeze({ kind: 'granted', authority, supervised: authority.supervised });
}
