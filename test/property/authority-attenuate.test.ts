/** No child ever exceeds its parent: random parents, requests and generations, against a naive view of a small world. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Attenuation, attenuate, type ChildRequest } from '../../src/authority/attenuate.js';
import { type Authority, makeAuthority } from '../../src/authority/authority.js';
import { type DecisionRequest, decide } from '../../src/authority/decide.js';
import type { Excess } from '../../src/authority/excess.js';
import { isolations } from '../../src/authority/lineage.js';
import { type Mount, makeMount } from '../../src/authority/mount.js';
import { hostNetwork, type Network } from '../../src/authority/network.js';
import type { Grant } from '../../src/authority/permission.js';
import { makePolicy } from '../../src/authority/policy.js';
import { makeSurface, type Surface } from '../../src/authority/surface.js';
import { naiveEntries, naiveLook, type Seen, universe } from './authority-naive.js';
import { seeded } from './seeded.js';

const names = ['a', 'b', 'ab'];
const places = universe(names, 2);
const childPaths = universe(names, 3);
// A child's path of depth 3 may stand for a parent's path two deeper.
const parentPaths = universe(names, 5);

const grants: readonly Grant[] = [
  { class: 'tool', name: 'x', permission: 'execute' },
  { class: 'tool', name: 'y', permission: 'execute' },
  { class: 'model', name: 'p/m', permission: 'use' },
  { class: 'agent', name: 'r', permission: 'create' },
  { class: 'agent', name: 'r', permission: 'start' },
  { class: 'shared', name: 's', permission: 'write' },
  { class: 'network', name: 'default', permission: 'connect' },
];
const types = ['one_t', 'two_t', 'three_t'];
const hosts = ['a.org:443', 'b.org:443', '10.0.0.1:80'];

const place = fc.constantFrom(...places);
const somePlaces = fc.array(place, { maxLength: 3 });
const below = fc.constantFrom(...places.filter((path) => path !== '/'));
const mount = fc
  .record({
    source: place,
    target: place,
    mode: fc.constantFrom('ro', 'rw'),
    options: fc.subarray(['nosuid', 'noexec']),
  })
  .map(makeMount);
const mounts: fc.Arbitrary<Mount[]> = fc.uniqueArray(mount, { maxLength: 5, selector: ({ target }) => target });
const surface: fc.Arbitrary<Surface> = fc
  .record({
    cwd: below,
    additionalWrites: fc.array(below, { maxLength: 2 }),
    siblingReads: somePlaces,
    additionalReads: somePlaces,
    hidden: fc.array(fc.constantFrom(...places.slice(names.length + 1)), { maxLength: 2 }),
  })
  .map(makeSurface);
const network: fc.Arbitrary<Network> = fc.oneof(
  fc.constant({ kind: 'any public' } as const),
  fc.subarray(hosts).map(hostNetwork),
);
const limit = fc.integer({ min: 1, max: 4 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const request: fc.Arbitrary<ChildRequest> = fc
  .record({
    type: fc.constantFrom(...types),
    level: fc.nat({ max: 2 }),
    groups: optional(fc.subarray([5, 6, 7])),
    isolation: optional(fc.constantFrom(...isolations)),
    surface,
    mounts,
    permissions: fc.subarray([...grants]),
    toolPath: optional(fc.subarray(['/t', '/u'])),
    network: optional(network),
    memory: optional(limit),
    pids: optional(limit),
    expiresAt: optional(limit),
    uses: optional(limit),
  })
  .map(
    ({
      type,
      level,
      groups,
      isolation,
      permissions,
      toolPath,
      network: asked,
      memory,
      pids,
      expiresAt,
      uses,
      ...rest
    }) => ({
      ...rest,
      identity: {
        label: { user: 'u', role: 'r', type, level },
        ...(groups === undefined ? {} : { groups }),
        ...(isolation === undefined ? {} : { isolation }),
      },
      policy: makePolicy(
        'policy',
        permissions.map((grant) => ({ subject: type, ...grant })),
      ),
      ...(toolPath === undefined ? {} : { toolPath }),
      ...(asked === undefined || !permissions.some((grant) => grant.class === 'network') ? {} : { network: asked }),
      quota: { ...(memory === undefined ? {} : { memory }), ...(pids === undefined ? {} : { pids }) },
      lifetime: { ...(expiresAt === undefined ? {} : { expiresAt }), ...(uses === undefined ? {} : { uses }) },
    }),
  );

const parent: fc.Arbitrary<Authority> = request.map((parts) =>
  makeAuthority({ ...parts, identity: { uid: 1, gid: 1, ...parts.identity } }),
);

const context = { now: 0 };

/** The request without what was refused, so that most runs reach a child and not only a refusal. */
function repaired(asked: ChildRequest, from: Authority, excesses: readonly Excess[]): ChildRequest | undefined {
  const bad = new Set(
    excesses.flatMap((excess) =>
      excess.kind === 'hidden path' || excess.kind === 'read-only path' ? [excess.target] : [],
    ),
  );
  const good = (paths: readonly string[]) => paths.filter((path) => !bad.has(path));
  const refusedRules = new Set(excesses.flatMap((excess) => (excess.kind === 'permission' ? [excess.rule] : [])));
  const rules = asked.policy.rules.filter((rule) => !refusedRules.has(`${rule.class}:${rule.name} ${rule.permission}`));
  const cwd = parentPaths.find((path) => path !== '/' && from.view.accessTo(path) === 'write' && !bad.has(path));
  if (cwd === undefined) return undefined;
  const { network: _network, toolPath: _toolPath, ...rest } = asked;
  return {
    ...rest,
    identity: { label: { ...asked.identity.label, level: 0 } },
    surface: makeSurface({
      cwd: bad.has(asked.surface.cwd) ? cwd : asked.surface.cwd,
      additionalWrites: good(asked.surface.additionalWrites),
      siblingReads: good(asked.surface.siblingReads),
      additionalReads: good(asked.surface.additionalReads),
      hidden: asked.surface.hidden,
    }),
    mounts: (asked.mounts ?? []).filter((each) => !bad.has(each.target) && each.target !== cwd),
    policy: makePolicy('policy', rules),
    quota: {},
    lifetime: {},
  };
}

function childOf(from: Authority, asked: ChildRequest): Authority | undefined {
  let result: Attenuation = attenuate(from, asked, context);
  for (let attempt = 0; result.kind === 'refused' && attempt < 3; attempt += 1) {
    const next = repaired(
      asked,
      from,
      result.excesses.map(({ excess }) => excess),
    );
    if (next === undefined) return undefined;
    asked = next;
    result = attenuate(from, asked, context);
  }
  return result.kind === 'granted' ? result.authority : undefined;
}

function sees(authority: Authority, paths: readonly string[]): Seen[] {
  const entries = naiveEntries(authority.surface, authority.mounts);
  return paths.flatMap((path) => naiveLook(entries, authority.surface.hidden, path) ?? []);
}

function assertFilesWithin(child: Authority, from: Authority): void {
  const readable = new Set<string>();
  const writable = new Set<string>();
  for (const { host, writable: mayWrite } of sees(from, parentPaths)) {
    readable.add(host);
    if (mayWrite) writable.add(host);
  }
  for (const { host, writable: mayWrite } of sees(child, childPaths)) {
    assert.ok(readable.has(host), `the child reads ${host}`);
    if (mayWrite) assert.ok(writable.has(host), `the child writes ${host}`);
  }
}

function assertLimitsWithin(child: Authority, from: Authority): void {
  const within = (mine: number | undefined, theirs: number | undefined) =>
    theirs === undefined || (mine ?? 99) <= theirs;
  assert.ok(within(child.quota.memory, from.quota.memory) && within(child.quota.pids, from.quota.pids));
  assert.ok(
    within(child.lifetime.expiresAt, from.lifetime.expiresAt) && within(child.lifetime.uses, from.lifetime.uses),
  );
  assert.ok(child.identity.groups.every((group) => from.identity.groups.includes(group)));
  assert.ok(child.identity.label.level <= from.identity.label.level);
  assert.ok(child.toolPath.every((path) => from.toolPath.includes(path)));
  const reach = ({ network: { kind, ...rest } }: Authority) =>
    kind === 'none'
      ? []
      : kind === 'any public'
        ? ['a.org:443', 'b.org:443', 'other']
        : 'hosts' in rest
          ? rest.hosts
          : [];
  assert.ok(reach(child).every((host) => reach(from).includes(host)));
}

// Others never have more than the group: Linux gives a process that drops a group the bits of "others".
const object = fc.record({
  exists: fc.constant(true),
  visible: fc.constant(true),
  file: fc.record({
    uid: fc.constant(9),
    gid: fc.constantFrom(1, 5, 6),
    mode: fc.constantFrom(0o777, 0o770, 0o110, 0o111),
  }),
  label: fc.nat({ max: 2 }).map((level) => ({ user: 'u', role: 'o', type: 'o_t', level })),
  policy: fc
    .subarray(types.flatMap((subject) => grants.map((grant) => ({ subject, ...grant }))))
    .map((rules) => makePolicy('own', rules)),
});

function assertDecisionsWithin(child: Authority, from: Authority, facts: DecisionRequest['object']): void {
  for (const grant of grants) {
    for (const now of [0, 2, 5]) {
      const ask = (authority: Authority) =>
        decide({ ...grant, authority, credential: { uid: 1, gid: 1 }, object: facts, now, used: 0 }).allowed;
      if (ask(child)) assert.ok(ask(from), `${grant.class}:${grant.name}`);
    }
  }
}

/** Every type of the line above counts where an object has a policy of its own, however many generations there are. */
function assertLineKept(child: Authority, from: Authority): void {
  const line = ({ identity, ancestors }: Authority) => [identity.label.type, ...ancestors];
  assert.deepEqual(new Set(line(child)), new Set([child.identity.label.type, ...line(from)]));
}

describe('attenuation', () => {
  it('never gives a child, or its child, what the parent does not have', () => {
    let children = 0;
    let grandchildren = 0;
    fc.assert(
      fc.property(parent, request, request, object, (from, asked, askedNext, facts) => {
        const child = childOf(from, asked);
        if (child === undefined) return;
        children += 1;
        assertFilesWithin(child, from);
        assertLimitsWithin(child, from);
        assertDecisionsWithin(child, from, facts);
        assertLineKept(child, from);
        const grandchild = childOf(child, askedNext);
        if (grandchild === undefined) return;
        grandchildren += 1;
        // Within the child, which is within the parent: the small world is not deep enough for both steps at once.
        assertFilesWithin(grandchild, child);
        assertLimitsWithin(grandchild, from);
        assertDecisionsWithin(grandchild, child, facts);
        assertDecisionsWithin(grandchild, from, facts);
        assertLineKept(grandchild, child);
      }),
      seeded(400, 20_000),
    );
    assert.ok(children > 120 && grandchildren > 40, `only ${children} children, ${grandchildren} grandchildren`);
  });

  it('refuses exactly the paths that a naive look refuses', () => {
    fc.assert(
      fc.property(parent, request, (from, asked) => {
        const entries = naiveEntries(from.surface, from.mounts);
        const wanted = new Map(naiveEntries(asked.surface, asked.mounts ?? []).map((entry) => [entry.target, entry]));
        const expected = [...wanted.values()].flatMap(({ source, target, writable }) => {
          const seen = naiveLook(entries, from.surface.hidden, source);
          if (seen === undefined) return [`hidden path ${target}`];
          return writable && !seen.writable ? [`read-only path ${target}`] : [];
        });
        const result = attenuate(from, asked, context);
        const got = (result.kind === 'granted' ? [] : result.excesses).flatMap(({ excess }) =>
          excess.kind === 'hidden path' || excess.kind === 'read-only path' ? [`${excess.kind} ${excess.target}`] : [],
        );
        assert.deepEqual(got.sort(), expected.sort());
      }),
      seeded(400, 20_000),
    );
  });

  it('shows a granted child the same thing at a path as its parent at the source of it', () => {
    fc.assert(
      fc.property(parent, request, (from, asked) => {
        const result = attenuate(from, { ...asked, surface: makeSurface({ ...asked.surface, hidden: [] }) }, context);
        if (result.kind === 'refused') return;
        for (const path of childPaths) {
          const wanted = naiveLook(naiveEntries(asked.surface, asked.mounts ?? []), [], path);
          const held = wanted && naiveLook(naiveEntries(from.surface, from.mounts), from.surface.hidden, wanted.host);
          const got = result.authority.view.locate(path);
          assert.equal(got?.host, held?.host, path);
          if (got !== undefined) assert.equal(got.entry.access === 'write', wanted?.writable && held?.writable, path);
        }
      }),
      seeded(400, 20_000),
    );
  });
});
