import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson } from '../base/canonical-json.js';
import { networkHosts } from '../base/limits/objects.js';
import { type AuthorityParts, authorityDigest, authorityJson, makeAuthority } from './authority.js';
import { parseLabel } from './label.js';
import { parseMounts } from './mount.js';
import { hostNetwork, isPublicHost, networkExcess, parseHostPort } from './network.js';
import { parsePolicy } from './policy.js';
import { preamble } from './preamble.js';
import { makeSurface } from './surface.js';

const refused = { code: 'EINVAL' };
const parts: AuthorityParts = {
  identity: { uid: 1000, gid: 1000, groups: [7, 5, 7], label: parseLabel('u:r:coder_t:s0') },
  surface: makeSurface({
    cwd: '/work',
    additionalReads: ['/data', '/a\nb'],
    systemReads: ['/usr'],
    hidden: ['/data/store'],
  }),
  mounts: parseMounts('/srv/x\t/x\trw\tnodev\n', 'mount'),
  policy: parsePolicy('allow coder_t tool:b execute\nallow coder_t tool:a execute\n', 'one'),
  quota: { memory: 1024 },
};

describe('an authority', () => {
  it('cannot be changed, at any depth', () => {
    const authority = makeAuthority(parts);
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      assert.ok(Object.isFrozen(value), JSON.stringify(value));
      for (const member of Object.values(value)) visit(member);
    };
    visit(authority);
  });

  it('has one digest whatever the order of rules and groups, and another for any other grant', () => {
    const digest = authorityDigest(makeAuthority(parts));
    assert.match(digest, /^sha256:[0-9a-f]{64}$/);
    const same = makeAuthority({
      ...parts,
      identity: { ...parts.identity, groups: [5, 7] },
      policy: parsePolicy('# other file\nallow coder_t tool:a execute\nallow coder_t tool:b execute\n', 'two'),
    });
    assert.equal(authorityDigest(same), digest);
    const others: readonly Partial<AuthorityParts>[] = [
      { quota: { memory: 1025 } },
      { mounts: [] },
      { toolPath: ['/ctx/tool'] },
      { lifetime: { uses: 1 } },
      { ancestors: ['x_t'] },
      { supervised: [{ by: 'me', excess: { kind: 'group', gid: 5 } }] },
      { surface: makeSurface({ ...parts.surface, hidden: [] }) },
      { identity: { ...parts.identity, groups: [5] } },
    ];
    const digests = others.map((change) => authorityDigest(makeAuthority({ ...parts, ...change })));
    assert.equal(new Set([digest, ...digests]).size, others.length + 1);
  });

  it('is canonical JSON for its digest', () => {
    const value = JSON.parse(canonicalJson(authorityJson(makeAuthority(parts))));
    assert.equal(value.identity.label, 'u:r:coder_t:s0');
    assert.deepEqual(value.policy, ['allow coder_t tool:a execute', 'allow coder_t tool:b execute']);
  });

  it('is refused with ids, limits or mounts that mean nothing', () => {
    for (const bad of [
      { identity: { ...parts.identity, uid: -1 } },
      { identity: { ...parts.identity, gid: 0xffffffff } },
      { identity: { ...parts.identity, groups: [1.5] } },
      { quota: { memory: 0 } },
      { quota: { memoryy: 1 } as object },
      { lifetime: { expiresAt: Number.NaN } },
      { toolPath: ['tool'] },
      { mounts: [...(parts.mounts ?? []), ...(parts.mounts ?? [])] },
    ]) {
      assert.throws(() => makeAuthority({ ...parts, ...bad }), refused, JSON.stringify(bad));
    }
  });

  it('is refused where one policy object would mean two mounts', () => {
    const mounts = parseMounts('/1\t/a/b\tro\t-\n/2\t/a.b\tro\t-\n', 'mount');
    assert.ok(makeAuthority({ ...parts, mounts }));
    const policy = parsePolicy('allow coder_t mount:a.b read\n', 'policy');
    assert.throws(() => makeAuthority({ ...parts, mounts, policy }), refused);
  });

  it('shows a mount at its target, and hides host paths under every name', () => {
    const mounts = parseMounts('/data\t/alias\trw\t-\n/data/store/k\t/k\tro\t-\n', 'mount');
    const { view } = makeAuthority({ ...parts, mounts });
    assert.deepEqual(view.locate('/alias/y')?.host, '/data/y');
    assert.equal(view.accessTo('/alias/y'), 'write');
    assert.equal(view.accessTo('/alias/store/y'), 'none');
    assert.equal(view.accessTo('/k'), 'none');
    assert.deepEqual(view.maskedTargets(), ['/alias/store', '/data/store', '/k']);
  });
});

describe('the network of an authority', () => {
  it('has one form for one host', () => {
    assert.equal(parseHostPort('Registry.NPMjs.org:443'), 'registry.npmjs.org:443');
    assert.equal(parseHostPort('[2606:4700:0:0::1]:443'), '[2606:4700::1]:443');
    for (const text of [
      ...['', 'a', 'a:', ':80', 'a.b:0', 'a.b:65536', 'a.b:080', 'a.b.:80', 'a..b:80', '*.b:80', 'a b:80', 'a\0.b:80'],
      ...[
        '127.1:80',
        '0x7f.1:80',
        '2130706433:80',
        '1.2.3.256:80',
        '01.2.3.4:80',
        '::1:80',
        '[::1:80',
        'ä.de:80',
        '[x]:80',
      ],
    ]) {
      assert.throws(() => parseHostPort(text), refused, text);
    }
  });

  it('knows what cannot be public', () => {
    for (const host of ['example.org', '1.1.1.1', '[2606:4700::1]']) assert.ok(isPublicHost(host), host);
    for (const host of [
      ...[
        'localhost',
        'a.localhost',
        'metadata.google.internal',
        'printer',
        '169.254.169.254',
        '10.0.0.1',
        '127.0.0.1',
      ],
      ...['172.31.0.1', '192.168.1.1', '100.64.0.1', '0.0.0.0', '224.0.0.1', '[::1]', '[fd00::1]', '[fe80::1]'],
      ...['[::ffff:7f00:1]', '[2002:7f00:1::]', '[64:ff9b::7f00:1]', '[2001::1]'],
    ]) {
      assert.ok(!isPublicHost(host), host);
    }
  });

  it('has as many hosts as are allowed, and not one more', () => {
    const hosts = Array.from({ length: networkHosts + 1 }, (_, number) => `h${number}.org:443`);
    const most = hostNetwork(hosts.slice(1));
    assert.equal(most.kind === 'hosts' && most.hosts.length, networkHosts);
    assert.throws(() => hostNetwork(hosts), /at most/);
  });

  it('of a child is within the one of its parent', () => {
    const [none, any] = [{ kind: 'none' }, { kind: 'any public' }] as const;
    const two = hostNetwork(['a.org:443', 'b.org:443']);
    assert.deepEqual(networkExcess(none, none), []);
    assert.deepEqual(networkExcess(any, two), ['any public']);
    assert.deepEqual(networkExcess(two, any), []);
    assert.deepEqual(networkExcess(hostNetwork(['10.0.0.1:80', 'a.org:1']), any), ['10.0.0.1:80']);
    assert.deepEqual(networkExcess(hostNetwork(['a.org:443', 'a.org:80']), two), ['a.org:80']);
    assert.deepEqual(networkExcess(two, none), ['a.org:443', 'b.org:443']);
    assert.equal(hostNetwork([]).kind, 'none');
  });
});

describe('a preamble', () => {
  it('is short, says the same every time, and lists nothing hidden', () => {
    const text = preamble(makeAuthority(parts));
    assert.equal(text, preamble(makeAuthority(parts)));
    assert.ok(
      text.startsWith('You work in /work, where you may read and write.\nYou may also read and write:\n- /x\n'),
    );
    assert.match(text, /You may read, but not write:\n- "\/a\\nb"\n- \/data\n/);
    assert.match(text, /Network: none\./);
    assert.doesNotMatch(text, /store|\/usr/);
    assert.ok(text.length < 1000);
  });

  it('names what the jail has of its own, where it has any', () => {
    const authority = makeAuthority(parts);
    const own = preamble(authority, { objects: true, writable: ['$HOME', '/tmp'] });
    assert.match(own, /Your tools are programs in \/ctx\/tool\..*\n.*write to \$HOME and \/tmp: .*\nNetwork: none\./);
    assert.equal(preamble(authority, { objects: false, writable: [] }), preamble(authority));
  });

  it('cuts long lists and says by how much', () => {
    const additionalReads = Array.from({ length: 100 }, (_, index) => `/data/${index}`);
    const text = preamble(
      makeAuthority({ ...parts, mounts: [], surface: makeSurface({ cwd: '/work', additionalReads }) }),
    );
    assert.match(text, /- and 76 more\n/);
  });
});
