/**
 * What kind of place an IP address is. Only `public` may be connected to without an operator's rule. An IPv6 address
 * that carries an IPv4 address is judged by what it carries, so that no notation of a private address is public; ways
 * that no one uses any more (6to4, Teredo, ISATAP, compatible) are never public. The ranges are IANA's special-purpose
 * registries, and addresses at which clouds serve credentials to anyone who asks.
 */
import { isIPv4, isIPv6 } from 'node:net';

export type AddressKind =
  | 'public'
  | 'metadata'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link-local'
  | 'unspecified'
  | 'multicast'
  | 'broadcast'
  | 'documentation'
  | 'benchmark'
  | 'reserved'
  | 'tunnel'
  | 'malformed';

export type AddressRange = readonly [prefix: readonly number[], bits: number];
type Range = readonly [...AddressRange, kind: AddressKind];

export function addressRange(address: string, bits: number): AddressRange {
  return [addressBytes(address) ?? [], bits];
}

function prefix(text: string): AddressRange {
  const [address = '', bits = ''] = text.split('/');
  return addressRange(address, Number(bits));
}

function range(text: string, kind: AddressKind): Range {
  return [...prefix(text), kind];
}

function bytes4(text: string): number[] {
  return text.split('.').map(Number);
}

function groups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** 4 or 16 numbers; undefined where the text is not an address in plain notation. A zone (`%eth0`) is none. */
export function addressBytes(text: string): readonly number[] | undefined {
  if (isIPv4(text)) return bytes4(text);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // The parser of URLs writes a final dotted quad as groups.
  const plain = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head = '', tail] = plain.split('::');
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

export function isWithin(
  address: readonly number[],
  [prefix, bits]: readonly [...AddressRange, ...unknown[]],
): boolean {
  if (address.length !== prefix.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== prefix[i]) return false;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return ((address[whole] ?? 0) & mask) === ((prefix[whole] ?? 0) & mask);
}

/** The first that fits. */
const ranges4: readonly Range[] = [
  range('169.254.169.254/32', 'metadata'),
  range('169.254.170.2/32', 'metadata'), // container credentials
  range('100.100.100.200/32', 'metadata'),
  range('192.0.0.192/32', 'metadata'),
  range('168.63.129.16/32', 'metadata'), // in a public range, answered by the cloud's own host
  range('0.0.0.0/32', 'unspecified'),
  range('0.0.0.0/8', 'reserved'), // this network
  range('10.0.0.0/8', 'private'),
  range('100.64.0.0/10', 'shared'),
  range('127.0.0.0/8', 'loopback'),
  range('169.254.0.0/16', 'link-local'),
  range('172.16.0.0/12', 'private'),
  range('192.0.0.0/24', 'reserved'),
  range('192.0.2.0/24', 'documentation'),
  range('192.88.99.0/24', 'tunnel'),
  range('192.168.0.0/16', 'private'),
  range('198.18.0.0/15', 'benchmark'),
  range('198.51.100.0/24', 'documentation'),
  range('203.0.113.0/24', 'documentation'),
  range('224.0.0.0/4', 'multicast'),
  range('255.255.255.255/32', 'broadcast'),
  range('240.0.0.0/4', 'reserved'),
];

const ranges6: readonly Range[] = [
  range('fd00:ec2::254/128', 'metadata'),
  range('fd20:ce::254/128', 'metadata'),
  range('::/128', 'unspecified'),
  range('::1/128', 'loopback'),
  range('fc00::/7', 'private'),
  range('fec0::/10', 'private'), // site-local
  range('fe80::/10', 'link-local'),
  range('ff00::/8', 'multicast'),
  range('2001:2::/48', 'benchmark'),
  range('2001:db8::/32', 'documentation'),
  range('3fff::/20', 'documentation'),
  range('2001::/23', 'reserved'), // protocol assignments
  range('2000::/3', 'public'),
];

interface Carrier {
  readonly range: AddressRange;
  readonly carried: (address: readonly number[]) => readonly number[];
  /** What a carried public address amounts to. */
  readonly otherwise: 'public' | 'tunnel';
}

/**
 * ISATAP: below any prefix the lower half is 0000:5efe or 0200:5efe and an IPv4 address, to which the packet goes. The two
 * lowest bits of the first byte only say whether that address is unique and whether it is a group's.
 */
function isIsatap(address: readonly number[]): boolean {
  const [first = 0xff, second, third, fourth] = address.slice(8);
  return (first & 0xfc) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}

const last4 = (address: readonly number[]) => address.slice(12);

const carriers: readonly Carrier[] = [
  { range: prefix('::ffff:0:0/96'), carried: last4, otherwise: 'public' }, // the same address, mapped
  { range: prefix('64:ff9b::/96'), carried: last4, otherwise: 'public' }, // NAT64, as resolvers give it
  { range: prefix('64:ff9b:1::/48'), carried: last4, otherwise: 'tunnel' }, // NAT64 of one's own
  { range: prefix('::ffff:0:0:0/96'), carried: last4, otherwise: 'tunnel' }, // translated
  { range: prefix('2002::/16'), carried: (address) => address.slice(2, 6), otherwise: 'tunnel' }, // 6to4
  // Teredo: the client's address is stored inverted.
  {
    range: prefix('2001::/32'),
    carried: (address) => last4(address).map((b) => b ^ 0xff),
    otherwise: 'tunnel',
  },
  { range: prefix('::/96'), carried: last4, otherwise: 'tunnel' }, // compatible
];

function kind4(address: readonly number[]): AddressKind {
  return ranges4.find((each) => isWithin(address, each))?.[2] ?? 'public';
}

/** By its prefix alone. */
function kindOfPrefix(address: readonly number[]): AddressKind {
  const carrier = carriers.find((each) => isWithin(address, each.range));
  if (carrier !== undefined) {
    const kind = kind4(carrier.carried(address));
    return kind === 'public' ? carrier.otherwise : kind;
  }
  return ranges6.find((each) => isWithin(address, each))?.[2] ?? 'reserved';
}

function kind6(address: readonly number[]): AddressKind {
  const exact = ranges6.find((each) => each[1] === 128 && isWithin(address, each));
  if (exact !== undefined) return exact[2];
  const kind = kindOfPrefix(address);
  if (!isIsatap(address)) return kind;
  const carried = kind4(last4(address));
  if (carried !== 'public') return carried;
  return kind === 'public' ? 'tunnel' : kind;
}

/** The IPv4 addresses that an IPv6 address carries, in plain notation: where a packet to it may arrive in the end. */
export function carriedAddresses(text: string): readonly string[] {
  const bytes = addressBytes(text);
  if (bytes?.length !== 16) return [];
  const carried = carriers.filter((each) => isWithin(bytes, each.range)).map((each) => each.carried(bytes));
  return [...carried, ...(isIsatap(bytes) ? [last4(bytes)] : [])].map((each) => each.join('.'));
}

export function addressKind(text: string): AddressKind {
  const bytes = addressBytes(text);
  if (bytes === undefined) return 'malformed';
  return bytes.length === 4 ? kind4(bytes) : kind6(bytes);
}

/** One notation for one address: IPv6 compressed, and an IPv4 address mapped into IPv6 as itself. */
export function canonicalAddress(text: string): string | undefined {
  const bytes = addressBytes(text);
  if (bytes === undefined) return undefined;
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff) {
    return last4(bytes).join('.');
  }
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}
