import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { hostNetwork } from '../authority/network.js';
import { networkOwnMilliseconds } from '../base/limits/network.js';
import { isWithin } from './address.js';
import { judgeAddress, networkRules } from './allow-list.js';
import { addressesOfHost, localRoutes4, localRoutes6, recentAddressesOfHost } from './own-addresses.js';

/** A network namespace of its own, where whole networks are routed to this machine without an interface having them. */
const routes = [
  'ip link set lo up',
  'ip route add local 45.33.32.0/24 dev lo',
  'ip route add local 45.33.40.0/25 dev lo src 127.0.0.1 table 77',
  'ip -6 route add local 2600:1:5::/48 dev lo',
].join(' && ');
const show = (path: string) =>
  spawnSync('unshare', ['-Urn', 'sh', '-c', `${routes} && cat ${path}`], { encoding: 'utf8' });
const trie = show('/proc/net/fib_trie');
const skip = trie.status === 0 ? false : `needs a network namespace with ip: ${trie.stderr}`;

describe('addresses of this machine', () => {
  it('are its interfaces and its loopback', () => {
    const own = addressesOfHost();
    assert.ok(own.has('127.0.0.1') && own.has('127.9.9.9'));
    assert.ok(!own.has('45.33.32.156'));
  });

  it('are what the kernel routes to itself, in every table', { skip }, () => {
    const four = localRoutes4(trie.stdout);
    const isOwn = (bytes: readonly number[]) => four.some((range) => isWithin(bytes, range));
    for (const bytes of [
      [45, 33, 32, 1],
      [45, 33, 40, 127],
      [127, 0, 0, 1],
    ]) {
      assert.ok(isOwn(bytes), String(bytes));
    }
    for (const bytes of [
      [45, 33, 33, 1],
      [45, 33, 40, 128],
      [0, 0, 0, 0],
    ]) {
      assert.ok(!isOwn(bytes), String(bytes));
    }
    const six = localRoutes6(show('/proc/net/ipv6_route').stdout);
    assert.ok(six.some((range) => isWithin([0x26, 0, 0, 1, 0, 5, ...new Array<number>(9).fill(0), 7], range)));
    assert.ok(!six.some((range) => isWithin([0x26, 0, 0, 1, 0, 6, ...new Array<number>(9).fill(0), 7], range)));
  });

  it('are read from lines of the kernel’s form, and of no other', () => {
    const [address, zero] = ['26000001000500000000000000000000', '0'.repeat(32)];
    const line = (of: string, flags: string) =>
      `${of} 30 ${zero} 00 ${zero} 00000000 00000001 00000000 ${flags}       lo`;
    const six = (...lines: readonly string[]) => localRoutes6(`${lines.join('\n')}\n`);
    assert.deepEqual(six(line(address, '80200001')), [[[0x26, 0, 0, 1, 0, 5, ...new Array<number>(10).fill(0)], 48]]);
    assert.deepEqual(
      six(line(address, '00200001'), line(`${address}0`, '80000000'), line(`x${address}`, '80000000')),
      [],
    );
    const leaf = '        |-- 45.33.32.0\n';
    const four = (...lines: readonly string[]) => localRoutes4(`${leaf}${lines.join('\n')}\n`);
    assert.deepEqual(four('           /24 host LOCAL'), [[[45, 33, 32, 0], 24]]);
    assert.deepEqual(
      four('x          /24 host LOCAL', '           /24 link UNICAST', '           /24 host LOCALE'),
      [],
    );
    assert.ok(!localRoutes4('           /0 host LOCAL').some((range) => isWithin([0, 0, 0, 0], range)));
  });

  it('are read again when a second is over, and not before', () => {
    let [reads, time] = [0, 5];
    const recent = recentAddressesOfHost(
      () => {
        reads += 1;
        return { has: () => false };
      },
      () => time,
    );
    for (const [at, expected] of [
      [5, 1],
      [networkOwnMilliseconds + 5, 1],
      [networkOwnMilliseconds + 6, 2],
      [networkOwnMilliseconds + 7, 2],
      [2 * networkOwnMilliseconds + 7, 3],
    ] as const) {
      time = at;
      recent();
      assert.equal(reads, expected, `${at}`);
    }
  });

  it('are refused in every notation that carries one', () => {
    const rules = networkRules(hostNetwork(['a.example:443']));
    const own = new Set(['45.33.32.156']);
    const target = { host: 'a.example', port: 443 };
    for (const address of ['45.33.32.156', '::ffff:45.33.32.156', '64:ff9b::2d21:209c', '2600::5efe:2d21:209c']) {
      assert.equal(judgeAddress(rules, target, address, own).allowed, false, address);
    }
    for (const address of ['2600::5efe:7f00:1', '2600::200:5efe:7f00:1', '64:ff9b::7f00:1', '64:ff9b:1::7f00:1']) {
      assert.equal(judgeAddress(rules, target, address, new Set()).allowed, false, address);
    }
    for (const address of ['45.33.32.157', '64:ff9b::2d21:209d', '2600::1']) {
      assert.equal(judgeAddress(rules, target, address, own).allowed, true, address);
    }
  });
});
