import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { addressBytes, addressKind, canonicalAddress, carriedAddresses } from './address.js';

const kinds = {
  public: ['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.0', '100.63.255.255', '2606:4700::1111', '2a00::1'],
  metadata: ['169.254.169.254', 'fd00:ec2::254', 'fd20:ce::254', '168.63.129.16', '100.100.100.200', '169.254.170.2'],
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
