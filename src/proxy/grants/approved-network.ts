/** A network that a person granted together with an approval: for this command, on top of what its Authority holds. Pure. */
import { authorityDigest, makeAuthority } from '../../authority/authority.js';
import { anyPublicNetwork, hostNetwork, type Network } from '../../authority/network.js';
import { makePolicy } from '../../authority/policy.js';
import type { ResolvedAuthority } from './authority-of.js';

/** `any`, or `host:port`. */
export type NetworkNames = readonly string[];

export interface NetworkGrant {
  readonly network: NetworkNames;
  /** Who granted it. */
  readonly by: string;
}

/** EINVAL where a name is none. */
export function networkOf(names: NetworkNames): Network {
  return names.includes('any') ? anyPublicNetwork : hostNetwork(names);
}

function joined(held: Network, granted: Network): Network {
  if (held.kind === 'hosts' && granted.kind === 'hosts') return hostNetwork([...held.hosts, ...granted.hosts]);
  return held.kind === 'any public' ? held : granted;
}

/** The same Authority where nothing is granted; else one with a digest of its own, which says who granted what. */
export function withNetwork(resolved: ResolvedAuthority, { network: names, by }: NetworkGrant): ResolvedAuthority {
  if (names.length === 0) return resolved;
  const { authority } = resolved;
  const { identity, surface, mounts, policy, toolPath, quota, lifetime, ancestors } = authority;
  const { type } = identity.label;
  const connect = { subject: type, class: 'network', name: 'default', permission: 'connect' } as const;
  const widened = makeAuthority({
    identity,
    surface,
    mounts,
    policy: makePolicy('', [...policy.rules, connect]),
    toolPath,
    network: joined(authority.network, networkOf(names)),
    quota,
    lifetime,
    ancestors,
    supervised: [...authority.supervised, ...names.map((host) => ({ by, excess: { kind: 'network', host } as const }))],
  });
  return Object.freeze({ ...resolved, authority: widened, digest: authorityDigest(widened) });
}
