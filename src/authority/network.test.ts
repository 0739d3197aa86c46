/** Hosts: both ends of every range that is not public and their neighbours, every local name, both sides of each length. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  anyPublicNetwork,
  hostNetwork,
  isPublicHost,
  makeNetwork,
  type Network,
  networkExcess,
  noNetwork,
  parseHostPort,
} from './network.js';

const refused = { name: 'ErrnoError', code: 'EINVAL' };

/** First and last address, as the registry of special addresses has them. */
const reserved = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
] as const;

const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const addressOf = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');

describe('a public host', () => {
  it('is outside of every reserved range, by one address', () => {
    for (const [first, last] of reserved) {
      assert.equal(isPublicHost(first), false, first);
      assert.equal(isPublicHost(last), false, last);
      const beside = [numberOf(first) - 1, numberOf(last) + 1].filter((number) => number >= 0 && number < 2 ** 32);
      for (const number of beside) assert.equal(isPublicHost(addressOf(number)), true, addressOf(number));
    }
  });

  it('has a name of two parts, the last of which is not local', () => {
    const local = 'localhost local internal intranet lan home corp private arpa test onion'.split(' ');
    for (const name of local) {
      assert.equal(isPublicHost(`a.${name}`), false, name);
      assert.equal(isPublicHost(`${name}.org`), true, name);
      assert.equal(isPublicHost(`a.x${name}`), true, name);
    }
    assert.equal(isPublicHost('org'), false);
    assert.equal(isPublicHost('a.org'), true);
  });

  it('is of global unicast, and carries no other address inside', () => {
    for (const host of ['[2000:1::]', '[3fff:1::]', '[2001:1::]', '[2001:db9::]', '[2003:a::]', '[20db:8::]'])
      assert.equal(isPublicHost(host), true, host);
    for (const host of [
      '[::1]',
      '[::]',
      '[1fff:1::]',
      '[4000::]',
      '[200:1::]',
      '[2001:db8::]',
      '[2001:0:1::]',
      '[2001::]',
    ])
      assert.equal(isPublicHost(host), false, host);
    for (const host of ['[2002:1::]', '[fe80::1]', '[fc00::1]', '[ff02::1]', '[23:a::]'])
      assert.equal(isPublicHost(host), false, host);
  });
});

describe('a host and its port', () => {
  const label = (length: number) => 'a'.repeat(length);

  it('are taken up to the longest, and not beyond', () => {
    for (const text of [
      'a:1',
      'a:65535',
      `${label(63)}.org:80`,
      'a_b.org:80',
      '_a.org:80',
      'a-b.org:80',
      '255.255.255.255:9',
    ])
      assert.equal(parseHostPort(text), text);
    const longest = [label(63), label(63), label(63), label(61)].join('.');
    assert.equal(parseHostPort(`${longest}:80`), `${longest}:80`);
    for (const text of [
      `${longest}a:80`,
      `${label(64)}.org:80`,
      'a:0',
      'a:65536',
      'a:100000',
      'a:1x',
      'a:x1',
      'a:-1',
      'a: 1',
    ])
      assert.throws(() => parseHostPort(text), refused, text);
  });

  it('are one word of one kind', () => {
    for (const host of [
      '-a.org',
      'a-.org',
      '.a',
      'a.',
      'a..b',
      'a.-b',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.0x',
      'a.0x1f',
      'a.7',
    ])
      assert.throws(() => parseHostPort(`${host}:80`), refused, host);
    for (const host of ['[::1', '::1]', '[::1]x', 'x[::1]', '[]', '[:]', '[1::2::3]', '[::g]', '[::1%1]'])
      assert.throws(() => parseHostPort(`${host}:80`), refused, host);
    assert.equal(parseHostPort('A.0XG:80'), 'a.0xg:80');
    assert.equal(parseHostPort('1.2.3.4a:80'), '1.2.3.4a:80');
    assert.equal(parseHostPort('[0:0:0:0:0:0:0:A]:80'), '[::a]:80');
  });
});

describe('a network', () => {
  const networks: Readonly<Record<string, Network>> = {
    none: noNetwork,
    any: anyPublicNetwork,
    one: hostNetwork(['a.org:443']),
    two: hostNetwork(['b.org:443', 'a.org:443', 'A.org:443']),
    local: hostNetwork(['10.0.0.1:80']),
  };

  it('of a child has these hosts beyond its parent, for each pair', () => {
    const excess: Readonly<Record<string, string>> = {
      'one none': 'a.org:443',
      'one local': 'a.org:443',
      'two none': 'a.org:443 b.org:443',
      'two one': 'b.org:443',
      'two local': 'a.org:443 b.org:443',
      'local none': '10.0.0.1:80',
      'local any': '10.0.0.1:80',
      'local one': '10.0.0.1:80',
      'local two': '10.0.0.1:80',
      ...Object.fromEntries(['none', 'one', 'two', 'local'].map((parent) => [`any ${parent}`, 'any public'])),
    };
    for (const [child, asked] of Object.entries(networks)) {
      for (const [parent, held] of Object.entries(networks)) {
        assert.equal(networkExcess(asked, held).join(' '), excess[`${child} ${parent}`] ?? '', `${child} of ${parent}`);
      }
    }
  });

  it('is made again as it is, and refused where it is of no kind', () => {
    for (const network of Object.values(networks)) {
      assert.deepEqual(makeNetwork(network), network);
      assert.ok(Object.isFrozen(makeNetwork(network)));
    }
    assert.throws(() => makeNetwork({ kind: 'all' } as unknown as Network), refused);
    assert.throws(() => makeNetwork({ kind: 'hosts', hosts: ['a'] }), refused);
    assert.deepEqual(makeNetwork({ kind: 'hosts', hosts: [] }), noNetwork);
  });
});
