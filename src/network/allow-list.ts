/**
 * Grant + host + port -> verdict, and after resolution, grant + address -> verdict. Pure.
 *
 * Two questions, both asked of every connection: is the host and port granted, and is every address it resolves to
 * public. An operator's rule for a private host answers the second only: the grant still has to name it, and then it may be
 * at any address where a server can be, also in a range that is kept for documentation or for the future: networks use them.
 * Nothing lifts the refusal of metadata, link-local, multicast, broadcast and unspecified addresses.
 */
import { hostRefusal } from '../authority/decide-host.js';
import { makeNetwork, type Network, parseHostPort } from '../authority/network.js';
import { coach } from '../authority/refusal.js';
import { type AddressKind, addressKind, canonicalAddress, carriedAddresses } from './address.js';
import type { Target } from './host-name.js';
import type { OwnAddresses } from './own-addresses.js';

export interface NetworkRules {
  readonly network: Network;
  /** `host:port` that may resolve to loopback and private addresses. */
  readonly privateHosts: ReadonlySet<string>;
}

export type HostVerdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const allowed: HostVerdict = Object.freeze({ allowed: true });

const refused = (reason: string): HostVerdict => Object.freeze({ allowed: false, reason });

/** `own`: public, and of this very machine, whose firewall lets itself in everywhere. */
type Kind = AddressKind | 'own';

const lifted: readonly Kind[] = [
  'loopback',
  'private',
  'shared',
  'own',
  'documentation',
  'benchmark',
  'reserved',
  'tunnel',
];

function kindOf(address: string, own: OwnAddresses): Kind {
  const kind = addressKind(address);
  if (kind !== 'public') return kind;
  return [canonicalAddress(address) ?? '', ...carriedAddresses(address)].some((each) => own.has(each)) ? 'own' : kind;
}

export function networkRules(grant: Network, privateHosts: readonly string[] = []): NetworkRules {
  return Object.freeze({
    network: makeNetwork(grant),
    privateHosts: new Set(privateHosts.map(parseHostPort)),
  });
}

export function judgeTarget({ network }: NetworkRules, target: Target): HostVerdict {
  const reason = hostRefusal(network, target);
  return reason === undefined ? allowed : refused(coach(reason));
}

/** `own`: this machine's addresses, in their canonical notation. The reason does not say which address: what names mean inside the operator's network is not the subject's to learn. */
export function judgeAddress(
  rules: NetworkRules,
  { host, port }: Target,
  address: string,
  own: OwnAddresses,
): HostVerdict {
  const kind = kindOf(address, own);
  if (kind === 'public') return allowed;
  const wanted = `${host}:${port}`;
  if (!lifted.includes(kind)) return refused(`${wanted} is at a ${kind} address; no rule allows those`);
  if (rules.privateHosts.has(wanted)) return allowed;
  return refused(`${wanted} is at a ${kind} address; an operator can list it as a private host`);
}

export type AddressesVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string; readonly address: string };

/** One address that is refused refuses all: a name that is public and private at once is a name being rebound. */
export function judgeAddresses(
  rules: NetworkRules,
  target: Target,
  addresses: readonly string[],
  own: OwnAddresses,
): AddressesVerdict {
  for (const address of addresses) {
    const verdict = judgeAddress(rules, target, address, own);
    if (!verdict.allowed) return { ...verdict, address };
  }
  return { allowed: true };
}
