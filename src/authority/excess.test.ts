import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { coachExcess, type Excess, isGrantable, sameExcess } from './excess.js';

/** One of each kind, and whether a supervisor may grant it: a kind that is new has to be decided here. */
const kinds: { readonly [Kind in Excess['kind']]: readonly [Extract<Excess, { kind: Kind }>, boolean] } = {
  permission: [{ kind: 'permission', rule: 'tool:deploy execute' }, true],
  group: [{ kind: 'group', gid: 44 }, true],
  'hidden path': [{ kind: 'hidden path', source: '/a', target: '/a', mode: 'ro', host: '/a' }, true],
  'read-only path': [{ kind: 'read-only path', source: '/a', target: '/a', host: '/a' }, true],
  'tool path': [{ kind: 'tool path', path: '/ctx/tool' }, true],
  network: [{ kind: 'network', host: 'a.example' }, true],
  quota: [{ kind: 'quota', field: 'disk', asked: 2, held: 1 }, true],
  lifetime: [{ kind: 'lifetime', field: 'uses', asked: 2, held: 1 }, true],
  isolation: [{ kind: 'isolation', asked: 'shared', held: 'userns' }, true],
  'detached life': [{ kind: 'detached life' }, true],
  'foreign subject': [{ kind: 'foreign subject', rule: 'tool:deploy execute' }, false],
  'network without permission': [{ kind: 'network without permission' }, false],
  identity: [{ kind: 'identity', field: 'uid', asked: 0, held: 1000 }, false],
  label: [{ kind: 'label', field: 'role', asked: 'admin', held: 'agent' }, false],
  'parent is over': [{ kind: 'parent is over', fault: 'expired' }, false],
  'part of a tree': [{ kind: 'part of a tree', source: '/a/b', tree: '/a' }, false],
  'too many mounts': [{ kind: 'too many mounts', asked: 300, held: 256 }, false],
};

describe('an excess', () => {
  for (const [kind, [excess, grantable]] of Object.entries(kinds)) {
    it(`of ${kind} is ${grantable ? '' : 'not '}for a supervisor to grant, and coaches`, () => {
      assert.equal(isGrantable(excess), grantable);
      assert.match(coachExcess(excess), /.{25}/);
    });
  }

  it('is the same as itself alone', () => {
    const all = Object.values(kinds).map(([excess]) => excess);
    for (const a of all) for (const b of all) assert.equal(sameExcess(a, { ...b }), a === b);
    assert.equal(sameExcess({ kind: 'group', gid: 44 }, { kind: 'group', gid: 45 }), false);
  });
});
