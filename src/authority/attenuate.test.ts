import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AttenuationContext, attenuate, type ChildRequest } from './attenuate.js';
import { type Authority, authorityDigest, makeAuthority } from './authority.js';
import { parseLabel } from './label.js';
import { type Isolation, isolations } from './lineage.js';
import { parseMounts, printMount } from './mount.js';
import { hostNetwork } from './network.js';
import { parsePolicy } from './policy.js';
import { makeSurface } from './surface.js';

const parent: Authority = makeAuthority({
  identity: { uid: 1000, gid: 1000, groups: [5, 7], label: parseLabel('u:r:coder_t:s1'), isolation: 'uid' },
  surface: makeSurface({
    cwd: '/workspace',
    additionalReads: ['/docs'],
    systemReads: ['/usr'],
    hidden: ['/host/project/keys'],
  }),
  mounts: parseMounts(
    '/host/project\t/workspace\trw\trbind,nosuid,nodev\n/host/empty\t/workspace/vendor\tro\tbind,noexec\n/host/shared\t/shared\tro\t-\n',
    'mount',
  ),
  policy: parsePolicy(
    'allow coder_t tool:fs.read execute\nallow coder_t model:a/b use\nallow coder_t network:default connect\n',
    'agent/coder.d/policy',
  ),
  toolPath: ['/ctx/tool', '/ctx/home/1000/tool'],
  network: hostNetwork(['a.org:443', 'b.org:443']),
  quota: { memory: 1000, pids: 10 },
  lifetime: { expiresAt: 1000, uses: 5 },
});

const label = parseLabel('u:r:reviewer_t:s0');
const plain: ChildRequest = {
  identity: { label },
  surface: makeSurface({ cwd: '/workspace/src' }),
  policy: parsePolicy('allow reviewer_t tool:fs.read execute\n', 'child'),
};

function granted(change: Partial<ChildRequest>, context: Partial<AttenuationContext> = {}): Authority {
  const result = attenuate(parent, { ...plain, ...change }, { now: 0, ...context });
  assert.ok(result.kind === 'granted', JSON.stringify(result));
  return result.authority;
}

function kinds(change: Partial<ChildRequest>, context: Partial<AttenuationContext> = {}): readonly string[] {
  const result = attenuate(parent, { ...plain, ...change }, { now: 0, ...context });
  if (result.kind === 'granted') return [];
  for (const { coaching } of result.excesses) assert.ok(coaching.length > 20);
  return result.excesses.map(({ excess }) => excess.kind);
}

const mounts = (text: string) => ({
  surface: makeSurface({ cwd: '/workspace' }),
  mounts: parseMounts(text, 'request'),
});

describe('mounts that a child’s policy names', () => {
  const asking = { policy: parsePolicy('allow reviewer_t mount:src read\n', 'child') };
  const under = (text: string) => {
    const holder = makeAuthority({
      ...parent,
      policy: parsePolicy(`allow coder_t network:default connect\n${text}`, 'parent'),
    });
    const result = attenuate(holder, { ...plain, ...asking }, { now: 0 });
    return result.kind === 'granted' ? [] : result.excesses.map(({ excess }) => excess.kind);
  };

  it('are its parent’s to give where that names none, or names the same', () => {
    assert.deepEqual(under(''), []);
    assert.deepEqual(under('allow coder_t mount:src read\n'), []);
    assert.deepEqual(under('allow coder_t mount:other read\n'), ['permission']);
    assert.deepEqual(under('allow other_t mount:other read\n'), [], 'of another subject');
  });
});

describe('a child', () => {
  it('has what its parent has where it asks for nothing else', () => {
    const child = granted({});
    assert.deepEqual(child.identity, { ...parent.identity, label, life: 'owned' });
    assert.deepEqual(child.quota, parent.quota);
    assert.deepEqual(child.lifetime, parent.lifetime);
    assert.deepEqual(child.toolPath, parent.toolPath);
    assert.deepEqual(child.ancestors, ['coder_t']);
    assert.equal(child.network.kind, 'none');
    assert.deepEqual(child.supervised, []);
  });

  it("sees its parent's paths where the parent sees them", () => {
    const child = granted({});
    assert.equal(child.view.locate('/workspace/src/x')?.host, '/host/project/src/x');
    assert.equal(child.view.accessTo('/workspace/other'), 'none');
  });

  it('gets the mounts inside what it asked for, so nothing they cover shows', () => {
    const child = granted(mounts('/workspace\t/w\trw\tnoexec\n'));
    assert.deepEqual(
      child.mounts.map(printMount),
      [
        '/host/project\t/w\trw\trbind,nosuid,nodev,noexec',
        '/host/empty\t/w/vendor\tro\tbind,noexec',
        '/host/project\t/workspace\trw\trbind,nosuid,nodev',
        '/host/empty\t/workspace/vendor\tro\tbind,nosuid,nodev,noexec',
      ].sort((a, b) => ((a.split('\t')[1] ?? '') < (b.split('\t')[1] ?? '') ? -1 : 1)),
    );
    assert.equal(child.view.locate('/w/vendor/x')?.host, '/host/empty/x');
  });

  it('keeps hidden what its parent does not see, under every name', () => {
    const child = granted(mounts('/workspace\t/w\trw\t-\n'));
    assert.equal(child.view.accessTo('/w/keys/id'), 'none');
    assert.deepEqual(kinds(mounts('/workspace/keys\t/k\tro\t-\n')), ['hidden path']);
  });

  it('may hide more', () => {
    const child = granted({ surface: makeSurface({ cwd: '/workspace', hidden: ['/workspace/private'] }) });
    assert.equal(child.view.accessTo('/workspace/private/x'), 'none');
    assert.equal(child.view.accessTo('/workspace/public/x'), 'write');
  });

  it('may read what its parent writes, and not write what its parent reads', () => {
    assert.equal(granted(mounts('/workspace\t/w\tro\t-\n')).view.accessTo('/w/x'), 'read');
    assert.deepEqual(kinds(mounts('/shared\t/s\trw\t-\n')), ['read-only path']);
    assert.deepEqual(kinds(mounts('/workspace/vendor\t/v\trw\t-\n')), ['read-only path']);
    assert.deepEqual(kinds({ surface: makeSurface({ cwd: '/docs/x' }) }), ['read-only path']);
  });

  it('gets a tree of its parent as a whole, and no other', () => {
    const holder = makeAuthority({
      identity: parent.identity,
      surface: makeSurface({ cwd: '/workspace' }),
      mounts: parseMounts('chunked:/n.ctx\t/notes\trw\t-\nmemory:\t/workspace/m\tro\t-\n', 'mount'),
      policy: plain.policy,
    });
    const ask = (text: string) => {
      const policy = parsePolicy('', 'child');
      return attenuate(holder, { ...plain, ...mounts(text), policy }, { now: 0 });
    };
    const given = ask('/notes\t/n\tro\tnoexec\n/workspace\t/w\tro\t-\n');
    assert.ok(given.kind === 'granted', JSON.stringify(given));
    const lines = given.authority.mounts.map(printMount);
    assert.ok(lines.includes('chunked:/n.ctx\t/n\tro\tnoexec'), lines.join());
    assert.ok(lines.includes('memory:\t/w/m\tro\t-'), lines.join());
    for (const [text, kind] of [
      ['/notes/a\t/n\tro\t-\n', 'part of a tree'],
      ['chunked:/n.ctx\t/n\tro\t-\n', 'hidden path'],
      ['/workspace/m\t/n\trw\t-\n', 'read-only path'],
    ] as const) {
      const refused = ask(text);
      assert.deepEqual(refused.kind === 'refused' && refused.excesses.map(({ excess }) => excess.kind), [kind]);
    }
  });

  it('may not see a host path only because its parent has it under another name', () => {
    assert.deepEqual(kinds(mounts('/host/project\t/p\tro\t-\n')), ['hidden path']);
    assert.deepEqual(kinds(mounts('/\t/all\tro\t-\n')), ['hidden path']);
    assert.deepEqual(kinds(mounts('/workspaces\t/p\tro\t-\n')), ['hidden path']);
  });

  it('is outside whom its parent is: with a uid of its own it is no longer the owner of the workspace', () => {
    const asked = (held: Isolation, isolation: Isolation) => {
      const within = { ...parent, identity: { ...parent.identity, isolation: held } };
      const identity = { label: parseLabel('u:r:kid_t:s1'), isolation };
      const request = { identity, surface: makeSurface({ cwd: '/workspace' }), policy: parsePolicy('', 'child') };
      return attenuate(within, request, { now: 0 }).kind;
    };
    for (const held of isolations)
      for (const isolation of isolations)
        assert.equal(
          asked(held, isolation) === 'granted',
          held === 'shared' || held === isolation,
          `${held} ${isolation}`,
        );
  });

  it('is refused with every excess named', () => {
    const result = kinds({
      identity: { label: parseLabel('root:r:x_t:s2'), uid: 0, groups: [5, 6], isolation: 'shared', life: 'detached' },
      surface: makeSurface({ cwd: '/workspace', additionalWrites: ['/docs'], additionalReads: ['/etc'] }),
      policy: parsePolicy('allow x_t tool:sh execute\nallow y_t tool:fs.read execute\n', 'child'),
      toolPath: ['/ctx/tool', '/evil'],
      network: hostNetwork(['a.org:443', 'c.org:443']),
      quota: { memory: 1001, pids: 10, disk: 5 },
      lifetime: { expiresAt: 1001, uses: 6 },
    });
    assert.deepEqual(result, [
      ...['identity', 'label', 'label', 'group', 'isolation', 'detached life'],
      ...['permission', 'foreign subject', 'read-only path', 'hidden path', 'tool path'],
      ...['network', 'network without permission', 'quota', 'lifetime', 'lifetime'],
    ]);
  });

  it('has tool paths of its parent, and no others', () => {
    assert.deepEqual(granted({ toolPath: ['/ctx/tool'] }).toolPath, ['/ctx/tool']);
    for (const toolPath of [['/evil'], ['/ctx/tool/below'], ['/ctx'], ['/ctx/tool', '/ctx/home/1000/tool', '/evil']]) {
      assert.deepEqual(kinds({ toolPath }), ['tool path'], toolPath.join());
    }
  });

  it('lives as its parent’s own, unless it asks for more', () => {
    assert.equal(granted({ identity: { label, life: 'owned' } }).identity.life, 'owned');
    assert.deepEqual(kinds({ identity: { label, life: 'detached' } }), ['detached life']);
  });

  it('gets nothing from a parent that has expired or is used up', () => {
    assert.deepEqual(kinds({}, { now: 1000 }), ['parent is over']);
    assert.deepEqual(kinds({}, { used: 5 }), ['parent is over']);
  });

  it('inherits the network only with the permission to use it', () => {
    const policy = parsePolicy('allow reviewer_t network:default connect\n', 'child');
    assert.deepEqual(granted({ policy }).network, parent.network);
    assert.deepEqual(kinds({ policy, network: { kind: 'any public' } }), ['network']);
  });
});

describe('a supervisor', () => {
  const policy = parsePolicy('allow reviewer_t tool:deploy execute\n', 'child');
  const excess = { kind: 'permission', rule: 'tool:deploy execute' } as const;

  it('grants exactly what was named, and the child is marked with it', () => {
    const child = granted({ policy }, { grants: [{ by: 'operator:ann', excess }] });
    assert.ok(child.policy.allows('reviewer_t', 'tool', 'deploy', 'execute'));
    assert.deepEqual(child.supervised, [{ by: 'operator:ann', excess }]);
    assert.notEqual(authorityDigest(child), authorityDigest(granted({})));
    const other = { kind: 'permission', rule: 'tool:deploy2 execute' } as const;
    assert.deepEqual(kinds({ policy }, { grants: [{ by: 'ann', excess: other }] }), ['permission']);
  });

  it('does not mark what was no excess', () => {
    assert.deepEqual(granted({}, { grants: [{ by: 'ann', excess }] }).supervised, []);
  });

  it('grants a host path, but nothing that is hidden', () => {
    const request = mounts('/host\t/h\tro\t-\n');
    const grant = {
      by: 'ann',
      excess: { kind: 'hidden path', source: '/host', target: '/h', mode: 'ro', host: '/host' },
    } as const;
    const child = granted(request, { grants: [grant] });
    assert.equal(child.view.locate('/h/etc')?.host, '/host/etc');
    assert.equal(child.view.accessTo('/h/project/keys/id'), 'none');
  });

  it('cannot change who a child is', () => {
    const identity = { label, uid: 0 };
    const grant = { by: 'ann', excess: { kind: 'identity', field: 'uid', asked: 0, held: 1000 } } as const;
    assert.deepEqual(kinds({ identity }, { grants: [grant] }), ['identity']);
  });
});
