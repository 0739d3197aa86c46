import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { type AddressKind, addressBytes, addressKind, canonicalAddress, carriedAddresses } from './address.js';

/** What IANA's registries and the clouds say, beside the table that is tested: the narrowest range decides. */
const registry: readonly (readonly [range: string, kind: AddressKind])[] = [
  ...[
    ['0.0.0.0/0', 'public'],
    ['0.0.0.0/8', 'reserved'],
    ['0.0.0.0/32', 'unspecified'],
    ['10.0.0.0/8', 'private'],
    ['100.64.0.0/10', 'shared'],
    ['100.100.100.200/32', 'metadata'],
    ['127.0.0.0/8', 'loopback'],
    ['168.63.129.16/32', 'metadata'],
    ['169.254.0.0/16', 'link-local'],
    ['169.254.169.254/32', 'metadata'],
    ['169.254.170.2/32', 'metadata'],
    ['172.16.0.0/12', 'private'],
    ['192.0.0.0/24', 'reserved'],
    ['192.0.0.192/32', 'metadata'],
    ['192.0.2.0/24', 'documentation'],
    ['192.88.99.0/24', 'tunnel'],
    ['192.168.0.0/16', 'private'],
    ['198.18.0.0/15', 'benchmark'],
    ['198.51.100.0/24', 'documentation'],
    ['203.0.113.0/24', 'documentation'],
    ['224.0.0.0/4', 'multicast'],
    ['240.0.0.0/4', 'reserved'],
    ['255.255.255.255/32', 'broadcast'],
  ],
  ...[
    ['::/0', 'reserved'],
    ['2000::/3', 'public'],
    ['2001::/23', 'reserved'],
    ['2001:2::/48', 'benchmark'],
    ['2001:db8::/32', 'documentation'],
    ['3fff::/20', 'documentation'],
    ['fc00::/7', 'private'],
    ['fd00:ec2::254/128', 'metadata'],
    ['fd20:ce::254/128', 'metadata'],
    ['fe80::/10', 'link-local'],
    ['fec0::/10', 'private'],
    ['ff00::/8', 'multicast'],
  ],
] as const;

const numberOf = (bytes: readonly number[]) => bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);

interface NumberRange {
  readonly width: number;
  readonly from: bigint;
  readonly to: bigint;
  readonly kind: AddressKind;
}

const ranges = registry.map(([text, kind]): NumberRange => {
  const [address = '', bits = ''] = text.split('/');
  const bytes = addressBytes(address) ?? [];
  const from = numberOf(bytes);
  return { width: bytes.length, from, to: from + (1n << BigInt(8 * bytes.length - Number(bits))) - 1n, kind };
});

function textOf(width: number, number: bigint): string {
  const digits = number.toString(16).padStart(2 * width, '0');
  if (width === 16) return digits.match(/.{4}/g)?.join(':') ?? '';
  return [...Buffer.from(digits, 'hex')].join('.');
}

const kinds = {
  public: ['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.0', '100.63.255.255', '2606:4700::1111', '2a00::1'],
  metadata: [
    ...['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', '192.0.0.192'],
    ...['fd00:ec2::254', 'fd20:ce::254'],
  ],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', 'fc00::1', 'fdff::1', 'fec0::1'],
  shared: ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf::1'],
  unspecified: ['0.0.0.0', '::'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  broadcast: ['255.255.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmark: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  reserved: ['0.1.2.3', '240.0.0.1', '192.0.0.1', '4000::1', '100::1', '5f00::1', '2001:20::1'],
  malformed: ['', '1.2.3', '127.1', '01.2.3.4', '1.2.3.4.5', 'fe80::1%eth0', 'localhost', '::g', '1::2::3'],
} as const;

describe('an address', () => {
  it('is of its kind at both ends of every range, and on both sides of them', () => {
    for (const { width, from, to } of ranges) {
      for (const number of [from, to, from - 1n, to + 1n]) {
        if (number < 0n || number >= 1n << BigInt(8 * width)) continue;
        const address = textOf(width, number);
        // What carries an IPv4 address is judged by that: the next test but one.
        if (carriedAddresses(address).length > 0) continue;
        const around = ranges.filter((each) => each.width === width && each.from <= number && number <= each.to);
        const [narrowest] = around.sort((one, other) => (one.to - one.from < other.to - other.from ? -1 : 1));
        assert.equal(addressKind(address), narrowest?.kind, address);
      }
    }
  });

  for (const [kind, addresses] of Object.entries(kinds)) {
    it(`is ${kind}: ${addresses.join(' ')}`, () => {
      for (const address of addresses) assert.equal(addressKind(address), kind, address);
    });
  }

  it('that carries an IPv4 address is judged by it, and a dead way is never public', () => {
    const hex = (dotted: string) => Buffer.from(addressBytes(dotted) ?? []).toString('hex');
    const groups = (digits: string) => digits.match(/.{4}/g)?.join(':') ?? '';
    for (const inner of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '100.64.0.1', '192.168.1.1', '8.8.8.8']) {
      const kind = addressKind(inner);
      const digits = hex(inner);
      const inverted = hex((addressBytes(inner) ?? []).map((byte) => byte ^ 0xff).join('.'));
      for (const outer of [
        `::ffff:${inner}`,
        `::ffff:${groups(digits)}`,
        `64:ff9b::${inner}`,
        `64:ff9b::${groups(digits)}`,
      ]) {
        assert.equal(addressKind(outer), kind, outer);
      }
      const dead = [
        `::${inner}`,
        `::ffff:0:${inner}`,
        `64:ff9b:1::${inner}`,
        `2002:${groups(digits)}::1`,
        `2001:0:808:808:0:0:${groups(inverted)}`,
        ...['2600', '2a00:1450:4001', '2606:4700'].flatMap((prefix) =>
          ['0', '200', '100', '300'].map((bits) => `${prefix}::${bits}:5efe:${groups(digits)}`),
        ),
      ];
      for (const outer of dead) assert.equal(addressKind(outer), kind === 'public' ? 'tunnel' : kind, outer);
    }
  });

  it('is never public where anything it carries is not, whatever the prefix', () => {
    const digits = (bytes: readonly number[]) => Buffer.from(bytes).toString('hex');
    const part = (count: number) => fc.uint8Array({ minLength: count, maxLength: count }).map((bytes) => [...bytes]);
    const inner = fc.oneof(
      part(4),
      part(3).map((rest) => [127, ...rest]),
      part(3).map((rest) => [10, ...rest]),
      fc.constant([169, 254, 169, 254]),
    );
    fc.assert(
      fc.property(part(8), inner, fc.constantFrom(0, 1, 2, 3), (prefix, carried, bits) => {
        const bytes = [...prefix, bits, 0, 0x5e, 0xfe, ...carried];
        const text = digits(bytes).match(/.{4}/g)?.join(':') ?? '';
        const kind = addressKind(text);
        const inside = addressKind(carried.join('.'));
        assert.notEqual(kind, 'public', text);
        if (inside !== 'public') assert.equal(kind, inside, text);
      }),
      seeded(2000),
    );
  });

  it('of IPv4 is as public mapped into IPv6 as it is plain', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        assert.equal(addressKind(`::ffff:${address}`), addressKind(address));
        assert.equal(canonicalAddress(`::ffff:${address}`), address);
      }),
      seeded(500),
    );
  });

  it('of IPv6 has one form whatever its notation', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const canonical = canonicalAddress(address) ?? '';
        assert.deepEqual(canonicalAddress(canonical), canonical);
        assert.equal(addressKind(canonical), addressKind(address.toUpperCase()));
      }),
      seeded(500),
    );
  });
});

describe('what an address carries', () => {
  it('is every IPv4 address that a packet to it may arrive at', () => {
    for (const [text, carried] of [
      ['45.33.32.156', []],
      ['not an address', []],
      ['fe80::1%eth0', []],
      ['2600::1', []],
      ['::ffff:45.33.32.156', ['45.33.32.156']],
      ['64:ff9b::45.33.32.156', ['45.33.32.156']],
      ['2002:2d21:209c::', ['45.33.32.156']],
      ['2600::5efe:45.33.32.156', ['45.33.32.156']],
      ['2002:0101:0101::5efe:45.33.32.156', ['1.1.1.1', '45.33.32.156']],
    ] as const) {
      assert.deepEqual(carriedAddresses(text), carried, text);
    }
  });

  it('does not make of a private prefix a tunnel', () => {
    assert.equal(addressKind('fc00::5efe:45.33.32.156'), 'private');
    assert.equal(addressKind('2600::5efe:45.33.32.156'), 'tunnel');
    assert.equal(addressKind('192.88.99.1'), 'tunnel');
  });
});
