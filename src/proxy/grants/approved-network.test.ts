import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { authorityDigest, makeAuthority, mayConnect } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import { anyPublicNetwork, hostNetwork, type Network, noNetwork } from '../../authority/network.js';
import { makePolicy } from '../../authority/policy.js';
import { makeSurface } from '../../authority/surface.js';
import { networkOf, withNetwork } from './approved-network.js';
import type { ResolvedAuthority } from './authority-of.js';

const connect = { subject: 'coder_t', class: 'network', name: 'default', permission: 'connect' } as const;
const tool = { subject: 'coder_t', class: 'tool', name: 'fs.read', permission: 'execute' } as const;

function resolved(network: Network): ResolvedAuthority {
  const authority = makeAuthority({
    identity: { uid: 1, gid: 1, label: parseLabel('u:r:coder_t:s0') },
    surface: makeSurface({ cwd: '/work' }),
    policy: makePolicy('', network.kind === 'none' ? [tool] : [tool, connect]),
    network,
    quota: { memory: 1_000_000 },
  });
  const digest = authorityDigest(authority);
  return {
    authority,
    digest,
    agent: undefined,
    line: [],
    links: [],
    search: [],
    caches: [],
    git: { made: new Map(), environment: {}, notes: [] },
    roots: [],
    live: [],
    skipped: [],
    warnings: [],
  };
}

describe('a network that comes with an approval', () => {
  it('is what was said, and nothing else changes', () => {
    const before = resolved(noNetwork);
    const { authority, digest } = withNetwork(before, { network: ['example.org:443'], by: 'uid 0' });
    assert.deepEqual(authority.network, hostNetwork(['example.org:443']));
    assert.ok(mayConnect(authority.policy, 'coder_t'));
    assert.ok(authority.policy.allows('coder_t', 'tool', 'fs.read', 'execute'));
    assert.deepEqual(authority.surface, before.authority.surface);
    assert.deepEqual(authority.quota, before.authority.quota);
    assert.deepEqual(authority.supervised, [{ by: 'uid 0', excess: { kind: 'network', host: 'example.org:443' } }]);
    assert.notEqual(digest, before.digest);
  });

  it('adds to what is granted, and never takes away', () => {
    const some = resolved(hostNetwork(['a.example.org:443']));
    const hosts = withNetwork(some, { network: ['b.example.org:443'], by: '' }).authority.network;
    assert.deepEqual(hosts, hostNetwork(['a.example.org:443', 'b.example.org:443']));
    assert.deepEqual(withNetwork(some, { network: ['any'], by: '' }).authority.network, anyPublicNetwork);
    const any = resolved(anyPublicNetwork);
    assert.deepEqual(withNetwork(any, { network: ['b.example.org:443'], by: '' }).authority.network, anyPublicNetwork);
  });

  it('that is none leaves the Authority as it is', () => {
    const before = resolved(noNetwork);
    assert.equal(withNetwork(before, { network: [], by: 'uid 0' }), before);
    assert.throws(() => networkOf(['not a host']), { code: 'EINVAL' });
  });
});
