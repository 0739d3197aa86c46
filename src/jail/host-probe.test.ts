import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { diagnose, type HostFacts } from './host-probe.js';

const good: HostFacts = {
  kernel: '6.1.0-18-amd64',
  root: false,
  store: '/home/ada/.local/share/ctxfs',
  attempts: { 'user-namespace': 0, namespaces: 0, overlay: 0, proc: 0, seccomp: 0, owners: 0 },
  landlock: 3,
  fuse: 'usable',
  cgroup: { version: 2, controllers: ['cpu', 'memory'] },
  limits: ['memory', 'pids', 'cpu'],
  appArmorRestriction: false,
};

const check = (facts: HostFacts, name: string) => diagnose(facts).find((each) => each.name === name);

describe('the diagnosis of a host', () => {
  it('finds nothing wrong with a host that has everything', () => {
    assert.deepEqual(
      diagnose(good).map(({ name, state, found }) => `${name}: ${state}, ${found}`),
      [
        'kernel: ok, 6.1.0-18-amd64',
        'user namespaces: ok, works',
        'all namespaces: ok, works',
        "overlay on the store's filesystem: ok, works",
        'own /proc: ok, works',
        'seccomp: ok, works',
        'Landlock: ok, ABI 3',
        'idmapped mounts: ok, only root needs them',
        'FUSE: ok, /dev/fuse',
        'cgroup: ok, v2: cpu memory',
        'limits: ok, --memory --processes --cpus',
      ],
    );
  });

  it('knows which kernels are too old', () => {
    for (const kernel of ['5.11.22', '5.4.0-150-generic', '4.18.0-553.el8.x86_64', '', 'odd']) {
      assert.equal(check({ ...good, kernel }, 'kernel')?.state, 'missing', kernel);
    }
    for (const kernel of ['5.12.0', '5.15.0-rc1', '6.0', '10.1.2-foo']) {
      assert.equal(check({ ...good, kernel }, 'kernel')?.state, 'ok', kernel);
    }
  });

  it('names the errno of what the kernel refused, and what to do about it', () => {
    const overlay = check(
      { ...good, attempts: { ...good.attempts, overlay: 22 } },
      "overlay on the store's filesystem",
    );
    assert.equal(overlay?.state, 'missing');
    assert.equal(overlay?.found, 'EINVAL');
    assert.match(overlay?.remedy ?? '', /CTX_DATA.*\/home\/ada\/\.local\/share\/ctxfs/);
    const odd = check({ ...good, attempts: { ...good.attempts, seccomp: 9999 } }, 'seccomp');
    assert.equal(odd?.found, 'errno 9999');
  });

  it('tells a restriction by AppArmor from one by sysctl', () => {
    const closed = { ...good, attempts: { ...good.attempts, 'user-namespace': 1 } };
    assert.match(check(closed, 'user namespaces')?.remedy ?? '', /user\.max_user_namespaces/);
    const remedy = check({ ...closed, appArmorRestriction: true }, 'user namespaces')?.remedy ?? '';
    assert.match(remedy, /apparmor_restrict_unprivileged_userns=0/);
  });

  it('calls optional what a jail can do without', () => {
    const attempts = { ...good.attempts, owners: 22 };
    const poor: HostFacts = { ...good, root: true, attempts, fuse: 'missing', cgroup: { version: 0, controllers: [] } };
    for (const name of ['idmapped mounts', 'FUSE', 'cgroup']) assert.equal(check(poor, name)?.state, 'optional');
    // A command is refused without it, unless somebody says otherwise each time.
    const open = check({ ...good, landlock: 0 }, 'Landlock');
    assert.deepEqual([open?.state, /--weaken landlock/.test(open?.remedy ?? '')], ['missing', true]);
    assert.match(check({ ...good, fuse: 'closed' }, 'FUSE')?.remedy ?? '', /chmod/);
    assert.match(check(poor, 'FUSE')?.remedy ?? '', /modprobe/);
  });

  it('has, for any host, the same checks in the same order, and a remedy for exactly what is not ok', () => {
    const errno = fc.constantFrom(0, 1, 13, 22, 38);
    const facts: fc.Arbitrary<HostFacts> = fc.record({
      kernel: fc.string(),
      root: fc.boolean(),
      store: fc.constant('/store'),
      attempts: fc.record({
        'user-namespace': errno,
        namespaces: errno,
        overlay: errno,
        proc: errno,
        seccomp: errno,
        owners: errno,
      }),
      landlock: fc.nat({ max: 9 }),
      fuse: fc.constantFrom('usable' as const, 'closed' as const, 'missing' as const),
      cgroup: fc.record({
        version: fc.constantFrom(0 as const, 1 as const, 2 as const),
        controllers: fc.array(fc.constantFrom('cpu', 'memory')),
      }),
      limits: fc.subarray(['memory', 'pids', 'cpu'] as const).map((held) => [...held]),
      appArmorRestriction: fc.boolean(),
    });
    const names = diagnose(good).map(({ name }) => name);
    fc.assert(
      fc.property(facts, (host) => {
        const checks = diagnose(host);
        assert.deepEqual(
          checks.map(({ name }) => name),
          names,
        );
        for (const { state, remedy } of checks) assert.equal(remedy === undefined, state === 'ok');
      }),
      seeded(200),
    );
  });
});
