/**
 * Decide for hosts: may this subject connect there? Asked by the hook of a fetch, by the network proxy of every connection and
 * by `ctx why`, so that they answer alike. Whether the addresses behind a name are public is the proxy's next question.
 */
import type { Authority } from './authority.js';
import { isPublicHost, type Network } from './network.js';
import { lifetimeFault } from './quota.js';
import { allowed, type Reason, refusedFor, type Verdict } from './refusal.js';

export interface HostPort {
  /** In canonical form. */
  readonly host: string;
  readonly port: number;
}

/** Why a network does not reach there; undefined where it does. */
export function hostRefusal(network: Network, { host, port }: HostPort): Reason | undefined {
  const hostPort = `${host}:${port}`;
  switch (network.kind) {
    case 'none':
      return { kind: 'no network', hostPort };
    case 'any public':
      return isPublicHost(host) ? undefined : { kind: 'host not public', hostPort };
    case 'hosts':
      return network.hosts.includes(hostPort) ? undefined : { kind: 'host not granted', hostPort };
  }
}

export function decideHost(authority: Authority, target: HostPort, now: number, used: number): Verdict {
  const fault = lifetimeFault(authority.lifetime, now, used);
  if (fault !== undefined) return refusedFor('EACCES', { kind: fault });
  const reason = hostRefusal(authority.network, target);
  return reason === undefined ? allowed : refusedFor('EACCES', reason);
}
