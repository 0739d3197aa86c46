import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyPublicNetwork, hostNetwork, type Network, noNetwork } from '../authority/network.js';
import { judgeAddress, judgeAddresses, judgeTarget, networkRules } from './allow-list.js';

const target = (host: string, port = 443) => ({ host, port });

const none: ReadonlySet<string> = new Set();

describe('the allow-list', () => {
  it('allows nothing where nothing is granted, and an empty list is nothing', () => {
    for (const grant of [noNetwork, hostNetwork([]), { kind: 'hosts', hosts: [] } as Network]) {
      assert.equal(judgeTarget(networkRules(grant), target('example.org')).allowed, false);
    }
  });

  it('refuses a grant it does not know', () => {
    assert.throws(() => networkRules({ kind: 'all' } as unknown as Network), { code: 'EINVAL' });
  });

  it('compares host and port exactly', () => {
    const rules = networkRules(hostNetwork(['Example.org:443', '[::ffff:127.0.0.1]:80']));
    assert.equal(judgeTarget(rules, target('example.org')).allowed, true);
    assert.equal(judgeTarget(rules, target('[::ffff:7f00:1]', 80)).allowed, true);
    for (const other of [
      target('example.org', 80),
      target('www.example.org'),
      target('org'),
      target('notexample.org'),
    ]) {
      assert.equal(judgeTarget(rules, other).allowed, false, JSON.stringify(other));
    }
  });

  it('takes any public host for what has a public name or address', () => {
    const rules = networkRules(anyPublicNetwork);
    for (const host of ['example.org', '8.8.8.8', '[2606:4700::1111]']) {
      assert.equal(judgeTarget(rules, target(host, 22)).allowed, true, host);
    }
    for (const host of [
      'localhost',
      'printer.local',
      'metadata.google.internal',
      '10.0.0.1',
      '[::1]',
      '[::ffff:808:808]',
    ]) {
      assert.equal(judgeTarget(rules, target(host)).allowed, false, host);
    }
  });

  it('says what an operator can add', () => {
    const verdict = judgeTarget(networkRules(hostNetwork(['a.example:443'])), target('b.example'));
    assert.match(verdict.allowed ? '' : verdict.reason, /an operator can add b\.example:443/);
  });

  it('judges every address, and tells the subject none', () => {
    const rules = networkRules(anyPublicNetwork);
    const verdict = judgeAddresses(rules, target('example.org'), ['8.8.8.8', '10.1.2.3'], none);
    assert.ok(!verdict.allowed && verdict.address === '10.1.2.3' && !verdict.reason.includes('10.1.2.3'));
    assert.equal(judgeAddresses(rules, target('example.org'), ['8.8.8.8', '2606:4700::1'], none).allowed, true);
  });

  it('refuses a public address that is this machine’s own, unless a rule lists the host', () => {
    const own = new Set(['8.8.8.8', '2606:4700::1']);
    for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '2606:4700:0::1']) {
      assert.equal(
        judgeAddress(networkRules(anyPublicNetwork), target('example.org'), address, own).allowed,
        false,
        address,
      );
    }
    assert.equal(judgeAddress(networkRules(anyPublicNetwork), target('example.org'), '8.8.4.4', own).allowed, true);
    const listed = networkRules(hostNetwork(['me.example:80']), ['me.example:80']);
    assert.equal(judgeAddress(listed, target('me.example', 80), '8.8.8.8', own).allowed, true);
  });

  it('lets a private host be wherever a server can be, at that port, and nowhere worse', () => {
    const rules = networkRules(hostNetwork(['registry.example:80']), ['Registry.example:80']);
    const anywhere = ['127.0.0.1', '::1', '10.0.0.1', 'fd12::1', '100.64.0.1', '::ffff:10.0.0.1'];
    const kept = [
      '192.0.2.7',
      '198.51.100.1',
      '203.0.113.9',
      '2001:db8::1',
      '198.18.0.1',
      '240.0.0.1',
      '64:ff9b:1::808:808',
    ];
    for (const address of [...anywhere, ...kept]) {
      assert.equal(judgeAddress(rules, target('registry.example', 80), address, none).allowed, true, address);
      assert.equal(judgeAddress(rules, target('registry.example', 81), address, none).allowed, false, address);
    }
    const metadata = ['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', '192.0.0.192'];
    for (const address of [
      ...metadata,
      ...metadata.map((each) => `::ffff:${each}`),
      'fd00:ec2::254',
      'fd20:ce::254',
      '169.254.1.1',
      '0.0.0.0',
      '224.0.0.1',
      '255.255.255.255',
      '::ffff:169.254.169.254',
      '::',
      'nonsense',
    ]) {
      assert.equal(judgeAddress(rules, target('registry.example', 80), address, none).allowed, false, address);
    }
  });

  it('refuses addresses kept for documentation to a host that is not listed as private', () => {
    const rules = networkRules(hostNetwork(['registry.example:80']));
    for (const address of ['203.0.113.9', '2001:db8::1', '198.18.0.1', '240.0.0.1']) {
      assert.equal(judgeAddress(rules, target('registry.example', 80), address, none).allowed, false, address);
    }
  });

  it('does not grant what is only listed as private', () => {
    for (const grant of [noNetwork, anyPublicNetwork, hostNetwork(['other.example:80'])]) {
      assert.equal(judgeTarget(networkRules(grant, ['localhost:80']), target('localhost', 80)).allowed, false);
    }
  });
});
