/**
 * Grant + host + port -> verdict, and after resolution, grant + address -> verdict. Pure.
 *
 * Two questions, both asked of every connection: is the host and port granted, and is every address it resolves to
 * public. An operator's rule for a private host answers the second only: the grant still has to name it. Nothing lifts
 * the refusal of metadata, link-local, multicast and unspecified addresses.
 */
import { isPublicHost, makeNetwork, type Network, parseHostPort } from '../authority/network.js';
import { type AddressKind, addressKind, canonicalAddress } from './address.js';
import type { Target } from './host-name.js';

export interface NetworkRules {
  readonly kind: Network['kind'];
  /** Granted `host:port`, canonical. Empty means none. */
  readonly hosts: ReadonlySet<string>;
  /** `host:port` that may resolve to loopback and private addresses. */
  readonly privateHosts: ReadonlySet<string>;
}

export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const allowed: Verdict = Object.freeze({ allowed: true });

const refused = (reason: string): Verdict => Object.freeze({ allowed: false, reason });

/** `own`: public, and of this very machine, whose firewall lets itself in everywhere. */
type Kind = AddressKind | 'own';

const lifted: readonly Kind[] = ['loopback', 'private', 'shared', 'own'];

function kindOf(address: string, own: ReadonlySet<string>): Kind {
  const kind = addressKind(address);
  return kind === 'public' && own.has(canonicalAddress(address) ?? '') ? 'own' : kind;
}

export function networkRules(grant: Network, privateHosts: readonly string[] = []): NetworkRules {
  const network = makeNetwork(grant);
  return Object.freeze({
    kind: network.kind,
    hosts: new Set(network.kind === 'hosts' ? network.hosts : []),
    privateHosts: new Set(privateHosts.map(parseHostPort)),
  });
}

export function judgeTarget(rules: NetworkRules, { host, port }: Target): Verdict {
  const wanted = `${host}:${port}`;
  switch (rules.kind) {
    case 'none':
      return refused(`no network is granted; an operator would grant ${wanted}, or any public host`);
    case 'any public':
      if (isPublicHost(host)) return allowed;
      return refused(
        `${wanted} is not a public host; an operator would grant it by name and list it as a private host`,
      );
    case 'hosts':
      if (rules.hosts.has(wanted)) return allowed;
      return refused(`${wanted} is not among the granted hosts; an operator would add ${wanted}`);
  }
}

/** `own`: this machine's addresses, in their canonical notation. The reason does not say which address: what names mean inside the operator's network is not the subject's to learn. */
export function judgeAddress(
  rules: NetworkRules,
  { host, port }: Target,
  address: string,
  own: ReadonlySet<string>,
): Verdict {
  const kind = kindOf(address, own);
  if (kind === 'public') return allowed;
  const wanted = `${host}:${port}`;
  if (!lifted.includes(kind)) return refused(`${wanted} is at a ${kind} address; no rule allows those`);
  if (rules.privateHosts.has(wanted)) return allowed;
  return refused(`${wanted} is at a ${kind} address; an operator would list it as a private host`);
}

export type AddressesVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string; readonly address: string };

/** One address that is refused refuses all: a name that is public and private at once is a name being rebound. */
export function judgeAddresses(
  rules: NetworkRules,
  target: Target,
  addresses: readonly string[],
  own: ReadonlySet<string>,
): AddressesVerdict {
  for (const address of addresses) {
    const verdict = judgeAddress(rules, target, address, own);
    if (!verdict.allowed) return { ...verdict, address };
  }
  return { allowed: true };
}
