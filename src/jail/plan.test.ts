import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { identityShift } from './id-maps.js';
import type { Operation, Plan } from './operation.js';
import { type JailView, jailPlan, type SharedPath } from './plan.js';

/** Without the layers that are made of this host's facts: those have tests of their own. */
const layers = { weakened: ['landlock', 'seccomp'], architecture: 'x64', processes: 1024 } as const;

const self: JailView = {
  ...layers,
  identity: { kind: 'self', uid: 1000, gid: 1000 },
  person: { uid: 1000, gid: 1000, name: 'user', group: 'user', home: '/home/ada' },
  hostName: 'ctx',
  base: '/home/ada/.local/share/ctxfs/vault/0123456789abcdef',
  overlays: [
    { target: '/home/ada/project', lower: ['layer/1', 'layer/0'], upper: 'fork/main/upper', work: 'fork/main/work' },
  ],
  shared: [
    { source: '/usr', target: '/usr', access: 'read only' },
    { source: '/etc/ssl/certs', target: '/etc/ssl/certs', access: 'read only' },
    { source: '/home/ada/.nvm', target: '/home/ada/.nvm', access: 'read only' },
    {
      source: '/home/ada/.local/share/ctxfs/vault/0123456789abcdef/fork/main/home',
      target: '/home/ada',
      access: 'read write',
    },
  ],
  links: [
    { path: '/bin', target: 'usr/bin' },
    { path: '/lib64', target: 'usr/lib64' },
  ],
  hidden: ['/home/ada/.local/share/ctxfs'],
  directory: '/home/ada/project/src',
  environment: { PATH: '/usr/bin', HOME: '/home/ada', CTX_JAIL: '1' },
  argv: ['npm', 'test'],
};

const shifted: JailView = {
  ...self,
  identity: { kind: 'shifted', uid: 0, gid: 0, shift: identityShift },
  person: { uid: 0, gid: 0, name: 'root', group: 'root', home: '/root' },
  base: '/srv/data/vault/0123456789abcdef',
  overlays: [{ target: '/srv/project', lower: ['layer/0'], upper: 'fork/main/upper', work: 'fork/main/work' }],
  // The store lies under a granted ancestor: it has to be masked.
  shared: [
    { source: '/usr', target: '/usr', access: 'read only' },
    { source: '/srv/data', target: '/srv/data', access: 'read only' },
    { source: '/srv/data/vault/0123456789abcdef/fork/main/home', target: '/root', access: 'read write' },
  ],
  hidden: ['/srv/data/vault'],
  directory: '/srv/project',
};

/** An agent with a uid of its own, in a workspace of somebody else. */
const ofAgent: JailView = {
  ...shifted,
  identity: {
    kind: 'shifted',
    uid: 5000,
    gid: 5000,
    shift: identityShift,
    groups: [44, 1000],
    owner: { uid: 1000, gid: 0 },
  },
  person: { uid: 5000, gid: 5000, name: 'user', group: 'user', home: '/root' },
  shared: [
    { source: '/usr', target: '/usr', access: 'read only' },
    { source: '/srv/open', target: '/srv/open', access: 'read write' },
    { source: '/srv/data/vault/0123456789abcdef/fork/main/home', target: '/root', access: 'read write', ofFork: true },
  ],
};

/** What every jail has: `layers` leaves out two walls that would only be in the way of other properties. */
const whole = { weakened: [] } as const;

/** A filter by its digest: its verdicts are in vectors of their own, call by call. */
function modesInOctal(key: string, value: unknown): unknown {
  if (key === 'filter') return createHash('sha256').update(JSON.stringify(value)).digest('hex');
  if (typeof value === 'bigint') return `0x${value.toString(16)}`;
  return key === 'mode' && typeof value === 'number' ? `0${value.toString(8)}` : value;
}

/**
 * CTX_WRITE_VECTORS=1 writes what the code says now, to be read and committed by the person who changed it on purpose.
 */
function assertGolden(name: string, plan: Plan): void {
  const file = new URL(`../../../../test/vectors/${name}.json`, import.meta.url);
  const lines = plan.map((operation) => JSON.stringify(operation, modesInOctal));
  if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, `[${lines.join(',\n')}]\n`);
  assert.deepEqual(JSON.parse(`[${lines.join(',')}]`), JSON.parse(readFileSync(file, 'utf8')));
}

const segment = fc.constantFrom('a', 'b', 'a-b', 'a.b', 'home', 'tmp', 'usr');
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
const shared: fc.Arbitrary<SharedPath> = fc
  .record({
    source: path,
    target: path,
    elsewhere: fc.boolean(),
    access: fc.constantFrom('read only' as const, 'read write' as const),
  })
  .map(({ source, target, elsewhere, access }) => ({ source: elsewhere ? source : target, target, access }));

const view: fc.Arbitrary<JailView> = fc
  .record({
    identity: fc.constantFrom(self.identity, shifted.identity, ofAgent.identity),
    person: fc.constantFrom(self.person, shifted.person),
    hostName: fc.constant('ctx'),
    base: path,
    overlays: fc.array(
      path.map((target) => ({ target, lower: ['layer/0'], upper: 'fork/upper', work: 'fork/work' })),
      { maxLength: 2 },
    ),
    shared: fc.uniqueArray(shared, { maxLength: 8, selector: ({ target }) => target }),
    served: fc.array(fc.record({ target: path, writable: fc.boolean() }), { maxLength: 2 }),
    links: fc.array(fc.record({ path, target: path }), { maxLength: 3 }),
    hidden: fc.array(path, { maxLength: 3 }),
    directory: path,
    environment: fc.dictionary(fc.stringMatching(/^[A-Z]{1,4}$/), fc.string()),
    argv: fc.array(fc.string(), { minLength: 1 }),
  })
  .map((given) => ({ ...layers, ...given }));

function mountedAt(operation: Operation): string | undefined {
  if (operation.do === 'bind' || operation.do === 'overlay') return operation.target;
  if (operation.do === 'fuse') return operation.path;
  return operation.do === 'tmpfs' || operation.do === 'proc' || operation.do === 'devpts' ? operation.path : undefined;
}

const holds = (directory: string, below: string) => below.startsWith(`${directory}/`);
const indexOf = (plan: Plan, name: Operation['do']) => plan.findIndex((operation) => operation.do === name);

describe('the plan of a jail', () => {
  it('is, for an ordinary person, the one that was read and agreed to', () => {
    assertGolden('jail-plan-self', jailPlan({ ...self, ...whole }));
  });

  it('is, for root, the one that was read and agreed to', () => {
    assertGolden('jail-plan-shifted', jailPlan({ ...shifted, ...whole }));
  });

  it('is, for an agent with a uid of its own, the one that was read and agreed to', () => {
    assertGolden('jail-plan-agent-uid', jailPlan({ ...ofAgent, ...whole }));
  });

  it('gives the fork to an agent by maps that are one to one, and shows nothing else through them', () => {
    const ids = fc.nat({ max: 0x0ffe0000 - 1 });
    fc.assert(
      fc.property(ids, ids, ids, (owner, agent, other) => {
        const identity = { ...ofAgent.identity, uid: agent, gid: agent, owner: { uid: owner, gid: owner } } as const;
        const plan = jailPlan({ ...ofAgent, identity });
        const [maps] = plan.filter((operation) => operation.do === 'owners');
        const extents = (maps?.users ?? '').split('\n').map((line) => line.split(' ').map(Number));
        const shown = (stored: number) =>
          extents.flatMap(([from = 0, to = 0, count = 0]) =>
            stored + identityShift >= from && stored + identityShift < from + count
              ? [stored + identityShift - from + to - identityShift]
              : [],
          );
        assert.deepEqual(shown(owner), [agent]);
        assert.deepEqual(shown(agent), [owner]);
        if (other !== owner && other !== agent) assert.deepEqual(shown(other), [other]);
        const through = plan.flatMap((operation) =>
          'attributes' in operation && operation.attributes.includes('exchanged owners') ? [mountedAt(operation)] : [],
        );
        assert.deepEqual(through.sort(), ['/root', '/srv/project']);
      }),
      seeded(200),
    );
  });

  it('gives other numbers inside by a map that is one to one, and mounts nothing otherwise for it', () => {
    const ids = fc.nat({ max: 0x0ffe0000 - 1 });
    const numbered = { ...shifted.identity, uid: 1000, gid: 1000, outside: { uid: 0, gid: 0 } } as const;
    fc.assert(
      fc.property(ids, ids, ids, (owner, inside, other) => {
        const identity = { ...numbered, uid: inside, gid: inside, outside: { uid: owner, gid: owner } };
        const plan = jailPlan({ ...shifted, identity });
        const [maps] = plan.filter((operation) => operation.do === 'numbers');
        const extents = (maps?.users ?? '').split('\n').map((line) => line.split(' ').map(Number));
        const outside = (id: number) =>
          extents.flatMap(([from = 0, to = 0, count = 0]) =>
            id >= from && id < from + count ? [id - from + to - identityShift] : [],
          );
        assert.deepEqual([maps?.uid, outside(inside), outside(owner)], [owner, [owner], [inside]]);
        if (other !== owner && other !== inside) assert.deepEqual(outside(other), [other]);
      }),
      seeded(200),
    );
    const own = new Set<Operation['do']>(['numbers', 'user']);
    const rest = (identity: JailView['identity']) =>
      jailPlan({ ...shifted, identity }).filter((operation) => !own.has(operation.do));
    assert.deepEqual(rest(numbered), rest(shifted.identity));
  });

  it('mounts what holds a place before what stands in it', () => {
    fc.assert(
      fc.property(view, (given) => {
        const places = jailPlan(given).flatMap((operation) => mountedAt(operation) ?? []);
        places.forEach((place, index) => {
          const late = places.slice(index + 1).find((other) => holds(other, place));
          assert.equal(late, undefined, `${late} is mounted over ${place}`);
        });
      }),
      seeded(300),
    );
  });

  it('mounts an overlay after everything else that could stand at or above its place', () => {
    fc.assert(
      fc.property(view, (given) => {
        const plan = jailPlan(given);
        for (const overlay of given.overlays) {
          const at = plan.findLastIndex((operation) => mountedAt(operation) === overlay.target);
          assert.equal(plan[at]?.do, 'overlay');
        }
      }),
      seeded(300),
    );
  });

  it('masks what is hidden, after everything that could show it and before the new root is entered', () => {
    fc.assert(
      fc.property(view, (given) => {
        const plan = jailPlan(given);
        for (const hidden of given.hidden) {
          const showing = given.shared.filter(
            ({ source, target }) =>
              source === target && (target === hidden || holds(target, hidden) || holds(hidden, target)),
          );
          if (showing.length === 0) continue;
          const masked = plan.findLastIndex((operation) => operation.do === 'mask' && operation.path === hidden);
          const lastMount = plan.findLastIndex((operation) => mountedAt(operation) !== undefined);
          assert.ok(masked > lastMount, `${hidden} is not masked last`);
          assert.ok(masked < indexOf(plan, 'pivot'));
        }
      }),
      seeded(300),
    );
  });

  it('does everything that needs a capability before it takes the identity, and nothing of the command before the pivot', () => {
    const harmless = new Set<Operation['do']>(['limit', 'command directory', 'environment', 'command']);
    const ofCommand = new Set<Operation['do']>([...harmless, 'shift', 'groups', 'user']);
    fc.assert(
      fc.property(view, (given) => {
        const plan = jailPlan(given);
        const afterUser = plan.slice(indexOf(plan, 'user') + 1);
        assert.deepEqual(
          afterUser.filter((operation) => !harmless.has(operation.do)),
          [],
        );
        const beforePivot = plan.slice(0, indexOf(plan, 'pivot'));
        assert.deepEqual(
          beforePivot.filter((operation) => ofCommand.has(operation.do)),
          [],
        );
        for (const once of ['namespaces', 'root', 'pivot', 'user', 'command'] as const) {
          assert.equal(plan.filter((operation) => operation.do === once).length, 1, once);
        }
        assert.equal(plan.at(-1)?.do, 'command');
      }),
      seeded(300),
    );
  });

  it('lets nothing be set-uid, no share hold devices, and only what was granted be written', () => {
    fc.assert(
      fc.property(view, (given) => {
        for (const operation of jailPlan(given)) {
          if (!('attributes' in operation)) continue;
          assert.ok(operation.attributes.includes('no setuid'));
          if (operation.do === 'fuse') {
            assert.ok(operation.attributes.includes('no devices'));
            const writable = given.served?.[operation.channel]?.writable;
            assert.equal(operation.attributes.includes('read only'), writable === false);
          }
          if (operation.do !== 'bind' || operation.target.startsWith('/dev/')) continue;
          assert.ok(operation.attributes.includes('no devices'));
          const grant = given.shared.find(({ target }) => target === operation.target);
          assert.equal(operation.attributes.includes('read only'), grant?.access === 'read only');
        }
      }),
      seeded(300),
    );
  });

  it('lets a served tree be written only where it was asked for', () => {
    const served = [
      { target: '/mnt/b', writable: false },
      { target: '/mnt/a', writable: true },
    ];
    const plan = jailPlan({ ...self, weakened: ['seccomp'], served });
    const places = plan.flatMap((operation) => (operation.do === 'fuse' ? [[operation.path, operation.channel]] : []));
    assert.deepEqual(places, [
      ['/mnt/a', 1],
      ['/mnt/b', 0],
    ]);
    const ruled = plan.flatMap((operation) => (operation.do === 'landlock rule' ? [operation.path] : []));
    assert.ok(ruled.includes('/mnt/a') && !ruled.includes('/mnt/b'));
  });

  it('is shifted for root and mapped onto itself for others, never both and never neither', () => {
    fc.assert(
      fc.property(view, (given) => {
        const plan = jailPlan(given);
        const own = given.identity.kind === 'self';
        const [namespaces] = plan.filter((operation) => operation.do === 'namespaces');
        assert.equal(namespaces?.of.includes('user'), own);
        assert.equal(indexOf(plan, 'map self') >= 0, own);
        assert.equal(indexOf(plan, 'shift') >= 0, !own);
      }),
      seeded(50),
    );
  });

  it('is the same for the same view, in whatever order its shares are listed', () => {
    fc.assert(
      fc.property(view, fc.func(fc.nat()), (given, rank) => {
        const shuffled = [...given.shared].sort((a, b) => rank(a.target) - rank(b.target));
        assert.deepEqual(jailPlan({ ...given, shared: shuffled }), jailPlan(given));
      }),
      seeded(200),
    );
  });
});
