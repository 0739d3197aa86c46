/**
 * Which addresses are this machine's own, as the kernel routes them: every destination of a route of type `local`, in any
 * table. The list of interfaces is not enough: a whole network can be routed here without an address of it being set.
 */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { networkOwnMilliseconds } from '../base/limits/network.js';
import { type AddressRange, addressBytes, addressRange, canonicalAddress, isWithin } from './address.js';

export interface OwnAddresses {
  /** Of an address in its canonical notation. */
  has(address: string): boolean;
}

/** Read anew each time: a machine may get another address while a jail lives. */
export function addressesOfHost(): OwnAddresses {
  const ranges = [...localRoutes4(readText('/proc/net/fib_trie')), ...localRoutes6(readText('/proc/net/ipv6_route'))];
  const listed = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const set = new Set(listed.flatMap(({ address }) => canonicalAddress(address) ?? []));
  return {
    has: (address) => {
      const bytes = addressBytes(address);
      return set.has(address) || (bytes !== undefined && ranges.some((range) => isWithin(bytes, range)));
    },
  };
}

/**
 * The same, read again after a second: to read the routes costs as much as a connection. An address that came since then is noticed
 * when the connection is open, by its two ends (gate.ts).
 */
export function recentAddressesOfHost(read = addressesOfHost, clock = () => performance.now()): () => OwnAddresses {
  let known: OwnAddresses | undefined;
  let readAt = 0;
  return () => {
    const now = clock();
    if (known === undefined || now - readAt > networkOwnMilliseconds) {
      known = read();
      readAt = now;
    }
    return known;
  };
}

/** Where the kernel shows no routes, the interfaces are all there is to go by. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** A leaf of the trie is a line with its address, followed by a line for each length of prefix it has routes for. */
export function localRoutes4(trie: string): AddressRange[] {
  const routes: AddressRange[] = [];
  let address = '';
  for (const line of trie.split('\n')) {
    const leaf = /\|-- ([0-9.]+)$/.exec(line);
    if (leaf !== null) address = leaf[1] ?? '';
    const local = /^\s+\/([0-9]+) \S+ LOCAL\b/.exec(line);
    if (local !== null) routes.push(addressRange(address, Number(local[1])));
  }
  return routes;
}

/** RTF_LOCAL of linux/ipv6_route.h. */
const localFlag = 0x8000_0000;

export function localRoutes6(table: string): AddressRange[] {
  return table.split('\n').flatMap((line) => {
    const [address = '', bits = '', , , , , , , flags = ''] = line.split(' ');
    if (!/^[0-9a-f]{32}$/.test(address) || (Number.parseInt(flags, 16) & localFlag) === 0) return [];
    return [addressRange(address.replaceAll(/.{4}(?=.)/g, '$&:'), Number.parseInt(bits, 16))];
  });
}
