/** Decisions and file access, against models written apart from them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { contains } from '../../src/authority/absolute-path.js';
import { type Authority, makeAuthority } from '../../src/authority/authority.js';
import { type DecisionRequest, decide } from '../../src/authority/decide.js';
import { decidePath } from '../../src/authority/decide-path.js';
import { explainDecision, explainPath } from '../../src/authority/explain.js';
import { makeMount } from '../../src/authority/mount.js';
import { type Grant, objectClasses, permissionTable } from '../../src/authority/permission.js';
import { makePolicy, printPolicy } from '../../src/authority/policy.js';
import { accessTo, makeSurface } from '../../src/authority/surface.js';
import { naiveEntries, naiveLook, universe } from './authority-naive.js';
import { seeded } from './seeded.js';

const types = ['one_t', 'two_t'];
const allGrants: readonly Grant[] = objectClasses.flatMap((objectClass) =>
  permissionTable[objectClass].flatMap((permission) => {
    const names = objectClass === 'network' ? ['default'] : objectClass === 'model' ? ['p/m', 'p/n'] : ['x', 'y'];
    return names.map((name) => ({ class: objectClass, name, permission }));
  }),
);
const rules = fc
  .subarray(types.flatMap((subject) => allGrants.map((grant) => ({ subject, ...grant }))))
  .map((chosen) => makePolicy('policy', chosen));
const label = fc
  .record({ type: fc.constantFrom(...types), level: fc.nat({ max: 2 }) })
  .map((parts) => ({ user: 'u', role: 'r', ...parts }));
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 });
const id = fc.constantFrom(0, 1, 5);

const authority: fc.Arbitrary<Authority> = fc
  .record({
    uid: id,
    gid: id,
    groups: fc.subarray([5, 6]),
    label,
    policy: rules,
    expires: optional(fc.nat({ max: 3 })),
    ancestors: fc.subarray(types),
    offline: fc.boolean(),
  })
  .map(({ policy, expires, ancestors, offline, ...identity }) =>
    makeAuthority({
      identity,
      surface: makeSurface({ cwd: '/w' }),
      policy,
      ancestors,
      lifetime: expires === undefined ? {} : { expiresAt: expires },
      ...(offline ? { network: { kind: 'none' } as const } : {}),
    }),
  );

const request: fc.Arbitrary<DecisionRequest> = fc
  .record({
    authority,
    same: fc.nat({ max: 5 }),
    credential: fc.record({ uid: id, gid: id }),
    grant: fc.constantFrom(...allGrants),
    exists: fc.nat({ max: 5 }),
    visible: fc.nat({ max: 5 }),
    file: optional(fc.record({ uid: id, gid: fc.constantFrom(0, 1, 5, 6), mode: fc.nat({ max: 0o7777 }) })),
    label: optional(label),
    policy: optional(rules),
    now: fc.nat({ max: 3 }),
  })
  .map(({ same, credential, grant, exists, visible, file, label: of, policy, ...rest }) => ({
    ...rest,
    ...grant,
    credential: same > 0 ? rest.authority.identity : credential,
    object: {
      exists: exists > 0,
      visible: visible > 0,
      ...(file === undefined ? {} : { file }),
      ...(of === undefined ? {} : { label: of }),
      ...(policy === undefined ? {} : { policy }),
    },
    used: 0,
  }));

/** `step code` of the first refusal, or `allowed`; by text, lists and octal digits. */
function naiveDecision({ authority: subject, object, credential, now, ...grant }: DecisionRequest): string {
  const { uid, gid, groups, label: own } = subject.identity;
  const network = grant.class === 'network';
  const isThere = network || (object.visible && (object.exists || grant.permission === 'create'));
  const errno = isThere ? 'EACCES' : 'ENOENT';
  const expiry = subject.lifetime.expiresAt;
  if (credential.uid !== uid || credential.gid !== gid || (expiry !== undefined && now >= expiry))
    return 'credential EACCES';

  const letters = {
    execute: 'x',
    use: 'x',
    read: 'r',
    write: 'w',
    resume: 'rw',
    start: 'x',
    stop: 'x',
    create: '',
    connect: '',
  };
  const needs = letters[grant.permission];
  if (needs !== '' && object.exists) {
    if (object.file === undefined) return `mode bit ${errno}`;
    const digits = (object.file.mode & 0o777).toString(8).padStart(3, '0');
    const who = object.file.uid === uid ? 0 : [gid, ...groups].includes(object.file.gid) ? 1 : 2;
    const has = ['', 'x', 'w', 'wx', 'r', 'rx', 'rw', 'rwx'][Number(digits[who])] ?? '';
    if ([...needs].some((letter) => !has.includes(letter))) return `mode bit ${errno}`;
  }
  if (network ? subject.network.kind === 'none' : !isThere) return `visibility ${errno}`;
  if ((object.label?.level ?? 0) > own.level) return `label ${errno}`;
  const line = (type: string) => `allow ${type} ${grant.class}:${grant.name} ${grant.permission}`;
  const rules = printPolicy(subject.policy).split('\n');
  const isLeftToFile = grant.class === 'mount' && !rules.some((rule) => rule.startsWith(`allow ${own.type} mount:`));
  if (!rules.includes(line(own.type)) && !isLeftToFile) return `agent policy ${errno}`;
  if (grant.class === 'tool' || grant.class === 'model') {
    const lines = object.policy === undefined ? undefined : printPolicy(object.policy).split('\n');
    if (lines !== undefined && ![own.type, ...subject.ancestors].every((type) => lines.includes(line(type))))
      return `object policy ${errno}`;
  }
  return 'allowed';
}

describe('decide', () => {
  it('agrees with a naive model, in step and errno', () => {
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(request, (asked) => {
        const verdict = decide(asked);
        const got = verdict.allowed ? 'allowed' : `${verdict.step} ${verdict.code}`;
        assert.equal(got, naiveDecision(asked));
        outcomes.set(got, (outcomes.get(got) ?? 0) + 1);
      }),
      seeded(10_000),
    );
    // Every outcome was met, so that the agreement means something.
    const met = [...outcomes.keys()].map((outcome) => outcome.replace(/ E[A-Z]+$/, ''));
    assert.deepEqual([...new Set(met)].sort(), [
      'agent policy',
      'allowed',
      'credential',
      'label',
      'mode bit',
      'object policy',
      'visibility',
    ]);
  });

  it('is what explain says: the first step that refuses, or none', () => {
    fc.assert(
      fc.property(request, (asked) => {
        const { verdict, steps } = explainDecision(asked);
        assert.deepEqual(verdict, decide(asked));
        const first = steps.find((step) => step.verdict === 'refuse');
        assert.equal(first?.step, verdict.allowed ? undefined : verdict.step);
      }),
      seeded(2_000),
    );
  });
});

describe('file access', () => {
  const names = ['a', 'b', 'ab'];
  const place = fc.constantFrom(...universe(names, 3));
  const below = place.filter((path) => path !== '/');
  const some = fc.array(place, { maxLength: 4 });
  const surface = fc
    .record({
      cwd: below,
      additionalWrites: fc.array(below, { maxLength: 3 }),
      siblingReads: some,
      systemReads: some,
      hidden: fc.array(place, { maxLength: 1 }),
    })
    .map(makeSurface);
  const mounts = fc.uniqueArray(
    fc
      .record({ source: place, target: place, mode: fc.constantFrom('ro', 'rw'), options: fc.constant([]) })
      .map(makeMount),
    { maxLength: 4, selector: ({ target }) => target },
  );
  const make = (parts: { surface: ReturnType<typeof makeSurface>; mounts: ReturnType<typeof makeMount>[] }) =>
    makeAuthority({
      identity: { uid: 1, gid: 1, label: { user: 'u', role: 'r', type: 't', level: 0 } },
      policy: makePolicy('p', []),
      ...parts,
    });
  const paths = universe(names, 4);

  it('of a surface, of its view and of a naive look are one', () => {
    fc.assert(
      fc.property(surface, (granted) => {
        const { view } = make({ surface: granted, mounts: [] });
        for (const path of paths) {
          const seen = naiveLook(naiveEntries(granted, []), granted.hidden, path);
          const expected = seen === undefined ? 'none' : seen.writable ? 'write' : 'read';
          assert.equal(accessTo(granted, path), expected, path);
          assert.equal(view.accessTo(path), expected, path);
        }
      }),
      seeded(200),
    );
  });

  it('is said by the two flat lists and what is masked, the deepest of them', () => {
    fc.assert(
      fc.property(surface, mounts, (granted, mounted) => {
        const { view } = make({ surface: granted, mounts: mounted });
        const reads = view.allowedReads().map(({ target }) => target);
        const writes = view.allowedWrites().map(({ target }) => target);
        for (const path of writes) assert.ok(reads.includes(path));
        for (const path of paths) {
          const over = [...reads, ...view.maskedTargets()].filter((each) => contains(each, path));
          const deepest = over.sort((a, b) => b.length - a.length)[0];
          const isMasked = deepest === undefined || view.maskedTargets().includes(deepest);
          const expected = isMasked ? 'none' : writes.includes(deepest) ? 'write' : 'read';
          assert.equal(view.accessTo(path), expected, path);
        }
      }),
      seeded(100),
    );
  });

  it('through mounts is what a naive look sees, and nothing hidden is left without a mask', () => {
    fc.assert(
      fc.property(surface, mounts, (granted, mounted) => {
        const subject = make({ surface: granted, mounts: mounted });
        const masks = subject.view.maskedTargets();
        for (const path of paths) {
          const seen = naiveLook(naiveEntries(granted, mounted), granted.hidden, path);
          const unmasked = naiveLook(naiveEntries(granted, mounted), [], path);
          assert.equal(subject.view.locate(path)?.host, seen?.host, path);
          const underMask = masks.some((mask) => path === mask || path.startsWith(mask === '/' ? '/' : `${mask}/`));
          if (seen === undefined && unmasked !== undefined) assert.ok(underMask, `${path} shows ${unmasked.host}`);
          for (const access of ['read', 'write'] as const) {
            const verdict = decidePath({ authority: subject, path, access, now: 0, used: 0 });
            assert.equal(verdict.allowed, seen !== undefined && (access === 'read' || seen.writable), path);
            if (path.length >= 4) continue;
            const hook = { allowed: true, text: '' };
            const jail = explainPath({ authority: subject, path, access, verdict, hook }).layers.at(-1);
            assert.equal(jail?.verdict, verdict.allowed ? 'allow' : 'refuse');
          }
        }
      }),
      seeded(200),
    );
  });
});
