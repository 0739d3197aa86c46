/** What an Authority grants a harness, which is outside of the jail: a path of the host, and nothing that only the jail has there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeAuthority } from '../authority/authority.js';
import { parseLabel } from '../authority/label.js';
import { makeMount } from '../authority/mount.js';
import { parsePolicy } from '../authority/policy.js';
import type { Access } from '../authority/surface.js';
import { makeSurface } from '../authority/surface.js';
import { authorityGrants } from './authority-grants.js';
import { pathRefusal, treeRefusal } from './grants.js';

const mounts = [
  ['/srv/same', '/srv/same', 'ro'],
  ['/srv/written', '/srv/written', 'rw'],
  ['/srv/real', '/srv/name', 'ro'],
  ['/srv/real', '/work/moved', 'rw'],
  ['/srv/real/part', '/work/below', 'ro'],
  ['/work/own', '/work/own', 'ro'],
  ['/work', '/elsewhere', 'rw'],
  ['memory:', '/work/tree', 'rw'],
  ['memory:', '/tree', 'rw'],
  ['/ctx/tool', '/ctx/tool', 'ro'],
] as const;

const grants = authorityGrants(
  {
    authority: makeAuthority({
      identity: { uid: 1, gid: 1, label: parseLabel('u:r:coder_t:s0') },
      surface: makeSurface({ cwd: '/work', additionalReads: ['/docs'], hidden: ['/work/store', '/srv/same/keys'] }),
      mounts: mounts.map(([source, target, mode]) => makeMount({ source, target, mode, options: ['rbind'] })),
      policy: parsePolicy('', 'policy'),
    }),
    used: 0,
    toolFacts: () => ({ exists: false, visible: false }),
  },
  new Set(),
  0,
);

/** Of a path itself, and of what is below it: the access, and the granted path that decides. */
const expected: Readonly<Record<string, readonly [Access, string | undefined]>> = {
  '/work': ['write', '/work'],
  '/docs': ['read', '/docs'],
  '/srv/same': ['read', '/srv/same'],
  '/srv/written': ['write', '/srv/written'],
  '/work/own': ['read', '/work/own'],
  // The jail has something else there than the host.
  '/srv/name': ['none', undefined],
  '/work/moved': ['none', undefined],
  '/work/below': ['none', undefined],
  '/elsewhere': ['none', undefined],
  '/work/tree': ['none', undefined],
  '/tree': ['none', undefined],
  '/ctx/tool': ['none', undefined],
  // The jail shows it, and not at this place.
  '/srv/real': ['none', undefined],
  '/srv/real/part': ['none', undefined],
  // Hidden, whatever is granted around it; and what nobody granted.
  '/work/store': ['none', undefined],
  '/srv/same/keys': ['none', undefined],
  '/': ['none', undefined],
  '/srv': ['none', undefined],
  '/worker': ['none', undefined],
};

describe('a path, to a harness', () => {
  it('is granted where the jail shows the host’s own at its place, and by that grant', () => {
    for (const [path, [access, deciding]] of Object.entries(expected)) {
      for (const each of [path, `${path === '/' ? '' : path}/file`]) {
        assert.deepEqual([grants.accessTo(each), grants.deciding(each)], [access, deciding], each);
        for (const asked of ['read', 'write'] as const) {
          const isGranted = access === 'write' || access === asked;
          assert.equal(pathRefusal(grants, each, asked) === undefined, isGranted, `${asked} ${each}`);
        }
      }
    }
  });
});

it('knows where in a directory the jail has something else', () => {
  assert.deepEqual([...grants.elsewhere('/work')].sort(), ['/work/below', '/work/moved', '/work/tree']);
  assert.deepEqual(grants.elsewhere('/work/own'), []);
});

describe('a directory that is written with all it holds', () => {
  it('is refused where something in it is read-only or hidden, and nowhere else', () => {
    const refusal = (path: string, access: 'read' | 'write') => treeRefusal(grants, path, access);
    assert.match(refusal('/work', 'read') ?? '', /holds \/work\/store, which belongs to ctx itself/);
    assert.deepEqual(
      ['/', '/srv', '/work', '/srv/written', '/work/sub'].map((path) => grants.readOnlyIn(path)),
      ['/work/own', '/srv/same', '/work/own', undefined, undefined],
    );
    assert.match(refusal('/srv', 'write') ?? '', /holds \/srv\/same\/keys, which belongs to ctx itself/);
    assert.equal(refusal('/srv/written', 'write'), undefined);
  });
});
