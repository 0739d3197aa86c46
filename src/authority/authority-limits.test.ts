/** Both sides of each limit and every member alone, of what an Authority is made of. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { preamblePaths, viewMounts } from '../base/limits/objects.js';
import { attenuate } from './attenuate.js';
import { type AuthorityParts, makeAuthority } from './authority.js';
import { deepFrozen } from './frozen.js';
import { parseLabel } from './label.js';
import type { Mount } from './mount.js';
import { hostNetwork } from './network.js';
import { parsePolicy } from './policy.js';
import { preamble } from './preamble.js';
import { decidingEntry, makeSurface, surfaceEntries } from './surface.js';

const label = parseLabel('u:r:a_t:s1');
const parts: AuthorityParts = {
  identity: { uid: 1, gid: 2, groups: [3], label },
  surface: makeSurface({ cwd: '/work' }),
  policy: parsePolicy('allow a_t network:default connect\n', 'file'),
};
const mountsOf = (count: number): Mount[] =>
  Array.from({ length: count }, (_, index) => ({ source: '/a', target: `/t${index}`, mode: 'ro', options: [] }));
const refused = (act: () => unknown) => assert.throws(act, { code: 'EINVAL' });

describe('an authority', () => {
  it('has as many mounts as a view takes, each at a place of its own, in order', () => {
    assert.equal(makeAuthority({ ...parts, mounts: mountsOf(viewMounts) }).mounts.length, viewMounts);
    refused(() => makeAuthority({ ...parts, mounts: mountsOf(viewMounts + 1) }));
    const [one, two] = mountsOf(2) as [Mount, Mount];
    for (const mounts of [
      [one, two],
      [two, one],
    ]) {
      assert.deepEqual(
        makeAuthority({ ...parts, mounts }).mounts.map(({ target }) => target),
        ['/t0', '/t1'],
      );
    }
    for (const mounts of [
      [one, one],
      [one, two, one],
      [two, { ...two, source: '/b' }],
    ])
      refused(() => makeAuthority({ ...parts, mounts }));
  });

  it('has an identity of numbers and words that there are', () => {
    const identity = (more: object) =>
      makeAuthority({ ...parts, identity: { ...parts.identity, ...more } as never }).identity;
    for (const name of ['uid', 'gid', 'owner'] as const) {
      for (const id of [0, 4_294_967_294]) assert.equal(identity({ [name]: id })[name], id);
      for (const id of [-1, 1.5, 4_294_967_295, Number.NaN, '1']) refused(() => identity({ [name]: id }));
    }
    assert.equal(identity({}).owner, 1, 'its own user, where nobody else is named');
    assert.deepEqual(identity({ groups: [9, 3, 9] }).groups, [3, 9]);
    refused(() => identity({ groups: [3, -1] }));
    refused(() => identity({ isolation: 'none at all' }));
    refused(() => identity({ life: 'long' }));
    refused(() => makeAuthority({ ...parts, ancestors: ['a_t', 'not a type'] }));
  });

  it('is frozen, with everything in it, and keeps no hold of what it was made of', () => {
    const given = { identity: { uid: 1, groups: [1] }, list: [{ deep: [1] }], none: Object.create(null) };
    const frozen = deepFrozen(given);
    assert.equal(frozen, given);
    for (const each of [
      given,
      given.identity,
      given.identity.groups,
      given.list,
      given.list[0],
      given.list[0]?.deep,
      given.none,
    ])
      assert.ok(Object.isFrozen(each));
    const map = new Map([[{ a: 1 }, 1]]);
    assert.ok(!Object.isFrozen(deepFrozen({ map }).map), 'what has methods freezes itself');
    for (const plain of [null, undefined, 7, 'x', true]) assert.equal(deepFrozen(plain), plain);
  });
});

describe('a child', () => {
  const parent = makeAuthority({
    ...parts,
    network: hostNetwork(['a.org:443']),
    quota: { memory: 10, pids: 5 },
    lifetime: { uses: 5 },
  });
  const child = (request: object, context: object = {}) =>
    attenuate(
      parent,
      { identity: { label }, surface: makeSurface({ cwd: '/work' }), policy: parsePolicy('', 'child'), ...request },
      { now: 0, ...context },
    );
  const kinds = (request: object) => {
    const result = child(request);
    return result.kind === 'granted' ? [] : result.excesses.map(({ excess }) => excess.kind);
  };

  it('is of its parent’s level or below, in a group of its parent’s', () => {
    const of = (level: number) => kinds({ identity: { label: parseLabel(`u:r:a_t:s${level}`) } });
    assert.deepEqual([of(0), of(1), of(2)], [[], [], ['label']]);
    const inGroups = (...groups: readonly number[]) => kinds({ identity: { label, groups } });
    assert.deepEqual([inGroups(2, 3), inGroups(3, 3), inGroups(4), inGroups()], [[], [], ['group'], []]);
    for (const [name, own] of Object.entries({ owner: 1, uid: 1, gid: 2 })) {
      const as = (id: number) => kinds({ identity: { label, [name]: id } });
      assert.deepEqual([as(own), as(own + 1), as(0)], [[], ['identity'], ['identity']], name);
    }
  });

  it('has as much of each limit as its parent, or less', () => {
    for (const [name, held] of [
      ['memory', 10],
      ['pids', 5],
    ] as const) {
      const asked = (value: number | undefined) => kinds({ quota: { [name]: value } });
      assert.deepEqual(
        [asked(held - 1), asked(held), asked(held + 1), asked(undefined)],
        [[], [], ['quota'], []],
        name,
      );
    }
    assert.deepEqual(kinds({ quota: { disk: 1 } }), [], 'of which its parent has no limit');
    const uses = (value: number | undefined) => kinds({ lifetime: { uses: value } });
    assert.deepEqual([uses(4), uses(5), uses(6), uses(undefined)], [[], [], ['lifetime'], []]);
  });

  it('has as many mounts as a view takes, those of its parent that are in them with them', () => {
    const holder = makeAuthority({ ...parts, mounts: mountsOf(3) });
    const kindsOf = (count: number) => {
      const mounts = Array.from(
        { length: count },
        (_, index) => ({ source: '/t0', target: `/c${index}`, mode: 'ro', options: [] }) as const,
      );
      const request = {
        identity: { label },
        surface: makeSurface({ cwd: '/work' }),
        policy: parsePolicy('', 'child'),
        mounts,
      };
      const result = attenuate(holder, request, { now: 0 });
      return result.kind === 'granted' ? [] : result.excesses.map(({ excess }) => excess.kind);
    };
    assert.deepEqual([kindsOf(viewMounts), kindsOf(viewMounts + 1)], [[], ['too many mounts']]);
  });

  it('counts its parent among its ancestors, unless it is of the same type', () => {
    const ancestors = (type: string) => {
      const result = child({ identity: { label: parseLabel(`u:r:${type}:s0`) } });
      assert.ok(result.kind === 'granted');
      return result.authority.ancestors;
    };
    assert.deepEqual([ancestors('b_t'), ancestors('a_t')], [['a_t'], []]);
  });
});

describe('a surface', () => {
  it('has one entry a path, by the first of its fields, in the order of paths', () => {
    const surface = makeSurface({
      cwd: '/b',
      additionalWrites: ['/d', '/a'],
      additionalReads: ['/b', '/a', '/c', '/b/x'],
      systemReads: ['/c', '/0'],
    });
    assert.deepEqual(
      surfaceEntries(surface).map(({ path, access, field }) => `${path} ${access} ${field}`),
      [
        '/0 read systemReads',
        '/a write additionalWrites',
        '/b write cwd',
        '/b/x read additionalReads',
        '/c read additionalReads',
        '/d write additionalWrites',
      ],
    );
    const deciding = ['/b/x/y', '/b/y', '/b', '/e', '/'].map((path) => decidingEntry(surface, path)?.path);
    assert.deepEqual(deciding, ['/b/x', '/b', '/b', undefined, undefined]);
    assert.equal(decidingEntry(makeSurface({ cwd: '/b', systemReads: ['/'] }), '/x')?.path, '/');
  });

  it('is told to an agent with so many paths and hosts, and how many more there are', () => {
    const paths = (count: number) => Array.from({ length: count }, (_, index) => `/r${String(index).padStart(4, '0')}`);
    for (const count of [0, 1, preamblePaths, preamblePaths + 1, preamblePaths + 7]) {
      const more = count > preamblePaths ? [`- and ${count - preamblePaths} more`] : [];
      const listed = paths(count)
        .slice(0, preamblePaths)
        .map((path) => `- ${path}`);
      const told = (surface: object) =>
        preamble(makeAuthority({ ...parts, surface: makeSurface({ cwd: '/work', ...surface }) }))
          .split('\n')
          .filter((line) => line.startsWith('- '));
      assert.deepEqual(told({ additionalReads: paths(count) }), [...listed, ...more], `${count} reads`);
      assert.deepEqual(told({ additionalWrites: paths(count) }), [...listed, ...more], `${count} writes`);
    }
    const network = (hosts: readonly string[]) =>
      preamble(makeAuthority({ ...parts, network: hostNetwork(hosts) }))
        .split('\n')
        .find((line) => line.startsWith('Network'));
    const hosts = Array.from({ length: preamblePaths + 2 }, (_, index) => `h${String(index).padStart(3, '0')}.org:443`);
    const all = hosts.slice(0, preamblePaths).join(', ');
    assert.match(network(hosts) ?? '', new RegExp(`only ${all} and 2 more, through`));
    assert.match(network(hosts.slice(0, preamblePaths)) ?? '', new RegExp(`only ${all}, through`));
    assert.match(network(['a.org:443', 'b.org:443']) ?? '', /only a\.org:443, b\.org:443, through/);
    const quotedPath = preamble(makeAuthority({ ...parts, surface: makeSurface({ cwd: '/a "b"\n- c' }) }));
    assert.match(quotedPath, /^You work in "\/a \\"b\\"[^"\n]*- c", where you may read and write\.\n/);
  });
});
