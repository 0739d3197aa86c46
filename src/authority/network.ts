/**
 * What a subject may connect to: nothing, any public host, or listed hosts and ports. Names are brought to one form
 * here, strictly, so that the allow-list compares equal what is equal: lower case, ASCII labels (an international name
 * in its `xn--` form), no final dot, no address in an odd notation. Whether a name resolves to a private address is the
 * network proxy's question, asked after resolution.
 */
import { networkHosts } from '../base/limits/objects.js';
import { sortedUnique } from './frozen.js';
import { quoted, refuse } from './syntax.js';

export type Network =
  | { readonly kind: 'none' }
  | { readonly kind: 'any public' }
  /** Each `host:port` in canonical form, sorted. */
  | { readonly kind: 'hosts'; readonly hosts: readonly string[] };

export const noNetwork: Network = Object.freeze({ kind: 'none' });
export const anyPublicNetwork: Network = Object.freeze({ kind: 'any public' });

const hostLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const addressPart = /^(?:0|[1-9][0-9]{0,2})$/;

function isAddress4(host: string): boolean {
  const parts = host.split('.');
  return parts.length === 4 && parts.every((part) => addressPart.test(part) && Number(part) <= 255);
}

function canonicalHost(host: string): string | undefined {
  if (host.startsWith('[')) {
    if (!/^\[[0-9a-fA-F:.]{2,45}\]$/.test(host) || !URL.canParse(`http://${host}/`)) return undefined;
    return new URL(`http://${host}/`).hostname;
  }
  const lower = host.toLowerCase();
  if (isAddress4(lower)) return lower;
  const labels = lower.split('.');
  const last = labels.at(-1) ?? '';
  // A last label of digits or 0x is read as an address by URL parsers and by libc: 127.1, 0x7f.1, 2130706433.
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last)) return undefined;
  return lower.length <= 253 && labels.every((label) => hostLabel.test(label)) ? lower : undefined;
}

/** One `host:port` in its canonical form. */
export function parseHostPort(text: string): string {
  const colon = text.lastIndexOf(':');
  const port = text.slice(colon + 1);
  const host = colon > 0 ? canonicalHost(text.slice(0, colon)) : undefined;
  if (host === undefined || !/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > 65_535) {
    return refuse('network', `expected host:port, like registry.npmjs.org:443, got ${quoted(text)}`);
  }
  return `${host}:${port}`;
}

/** An empty list means no network. */
export function hostNetwork(hosts: readonly string[]): Network {
  if (hosts.length > networkHosts) refuse('network', `expected at most ${networkHosts} hosts`);
  const canonical = sortedUnique(hosts.map(parseHostPort));
  return canonical.length === 0 ? noNetwork : Object.freeze({ kind: 'hosts', hosts: canonical });
}

/** Rebuilt from its parts, so that what is not canonical never enters an Authority. */
export function makeNetwork(network: Network): Network {
  switch (network.kind) {
    case 'none':
      return noNetwork;
    case 'any public':
      return anyPublicNetwork;
    case 'hosts':
      return hostNetwork(network.hosts);
    default:
      return refuse('network', 'expected none, any public or hosts');
  }
}

const reserved4: readonly (readonly [first: number, last: number])[] = [
  [0x00000000, 0x00ffffff], // this network
  [0x0a000000, 0x0affffff], // private
  [0x64400000, 0x647fffff], // shared, carrier
  [0x7f000000, 0x7fffffff], // loopback
  [0xa9fe0000, 0xa9feffff], // link local, cloud metadata
  [0xac100000, 0xac1fffff], // private
  [0xc0000000, 0xc00000ff], // protocol assignments
  [0xc0000200, 0xc00002ff], // documentation
  [0xc0586300, 0xc05863ff], // relay to IPv6
  [0xc0a80000, 0xc0a8ffff], // private
  [0xc6120000, 0xc613ffff], // benchmarks
  [0xc6336400, 0xc63364ff], // documentation
  [0xcb007100, 0xcb0071ff], // documentation
  [0xe0000000, 0xffffffff], // multicast, reserved, broadcast
];
const localNames = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'arpa',
  'test',
  'onion',
];

/** Whether a canonical host could be public: a name with a public suffix, or an address outside the reserved ranges. */
export function isPublicHost(host: string): boolean {
  if (host.startsWith('[')) {
    // Global unicast only; without documentation, Teredo and 6to4, which carry another address inside.
    return /^\[[23][0-9a-f]{3}:/.test(host) && !/^\[(?:2001:(?:db8|0?):|2002:)/.test(host);
  }
  if (isAddress4(host)) {
    const number = host.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    return !reserved4.some(([first, last]) => number >= first && number <= last);
  }
  const labels = host.split('.');
  return labels.length > 1 && !localNames.includes(labels.at(-1) ?? '');
}

function hostOf(hostPort: string): string {
  return hostPort.slice(0, hostPort.lastIndexOf(':'));
}

/** What `child` asks for beyond `parent`: hosts, or `any public`. */
export function networkExcess(child: Network, parent: Network): readonly string[] {
  if (child.kind === 'none') return [];
  if (child.kind === 'any public') return parent.kind === 'any public' ? [] : ['any public'];
  if (parent.kind === 'any public') return child.hosts.filter((host) => !isPublicHost(hostOf(host)));
  const held = new Set(parent.kind === 'hosts' ? parent.hosts : []);
  return child.hosts.filter((host) => !held.has(host));
}
