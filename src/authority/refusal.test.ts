/** Tables of decisions: which step each reason belongs to, and a bit for each permission of each class. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isObjectClass, nameFault, objectClasses, permissionBit, permissionTable, printGrant } from './permission.js';
import { coach, controlDirectory, type Reason, refusedFor, stepOf, steps, tell } from './refusal.js';

const grant = { class: 'tool', name: 'made-up', permission: 'execute' } as const;
const path = '/made/up';
const hostPort = 'made.up:443';

/** Each with what its text has to name. */
const reasons: readonly (readonly [step: string, reason: Reason, names: readonly string[]])[] = [
  ['credential', { kind: 'wrong credential', field: 'uid', got: 17, expected: 23 }, ['uid', '17', '23']],
  ['credential', { kind: 'expired' }, ['expired']],
  ['credential', { kind: 'used up' }, ['used']],
  ['mode bit', { kind: 'mode unknown', grant }, ['tool:made-up execute']],
  ['mode bit', { kind: 'mode bit', grant, needed: 'r-x', mode: 0o40 }, ['tool:made-up execute', 'r-x', '0040']],
  ['visibility', { kind: 'not visible', grant }, ['tool:made-up']],
  ['visibility', { kind: 'missing', grant }, ['tool:made-up']],
  ['visibility', { kind: 'no network' }, ['hosts']],
  ['visibility', { kind: 'no network', hostPort }, [hostPort]],
  ['label', { kind: 'level', grant, subject: 3, object: 5 }, ['tool:made-up', 's3', 's5']],
  [
    'agent policy',
    { kind: 'no agent rule', grant, subject: 'a_t', file: 'f.p' },
    ['f.p', 'allow a_t tool:made-up execute'],
  ],
  [
    'object policy',
    { kind: 'no object rule', grant, subject: 'a_t', file: 'f.p' },
    ['f.p', 'allow a_t tool:made-up execute'],
  ],
  ['visibility', { kind: 'outside the view', path, access: 'write' }, [`--write ${path}`]],
  ['visibility', { kind: 'read-only', path, entry: '/made' }, [path, '/made', `--write ${path}`]],
  ['visibility', { kind: 'run read-only', path }, [path, '--readonly']],
  ['visibility', { kind: 'no such path', path }, [path]],
  ['mode bit', { kind: 'path mode', path, needed: 'w', mode: 0o444 }, [path, 'w', '0444']],
  ['mode bit', { kind: 'no program', path, is: 'a directory' }, [path, 'a directory']],
  ['visibility', { kind: 'no execution', path, entry: '/made' }, [path, '/made', 'noexec']],
  ['visibility', { kind: 'host not granted', hostPort }, [hostPort]],
  ['visibility', { kind: 'host not public', hostPort }, [hostPort]],
  ['visibility', { kind: 'address refused', text: 'text of it' }, ['text of it']],
  ['agent policy', { kind: 'command refused', text: 'text of it' }, ['text of it']],
];

describe('a refusal', () => {
  it('belongs to its step and names what decided', () => {
    for (const [step, reason, named] of reasons) {
      assert.equal(stepOf(reason), step, reason.kind);
      for (const text of named) assert.ok(coach(reason).includes(text), `${reason.kind}: ${coach(reason)}`);
      const refusal = refusedFor('EACCES', reason);
      assert.deepEqual(refusal, { allowed: false, step, code: 'EACCES', reason });
      assert.ok(Object.isFrozen(refusal));
    }
    assert.deepEqual([...new Set(reasons.map(([step]) => step))].sort(), [...steps].sort());
  });

  it('says of what cannot be seen no more than that', () => {
    const said = new Set(reasons.map(([, reason]) => tell(refusedFor('ENOENT', reason))));
    assert.equal(said.size, 1);
    for (const [, reason] of reasons) assert.equal(tell(refusedFor('EACCES', reason)), coach(reason));
  });

  it('is kept where the object has its control files', () => {
    assert.equal(controlDirectory('tool', 'a'), 'tool/a.d');
  });
});

describe('a permission', () => {
  const expected: Readonly<Record<string, string>> = {
    tool: 'execute',
    model: 'use',
    shared: 'read write',
    session: 'read write resume',
    mount: 'read write',
    agent: 'create start stop read write',
    network: 'connect',
  };

  it('is of its class alone, and has a bit of its own', () => {
    assert.deepEqual(
      Object.fromEntries(objectClasses.map((name) => [name, permissionTable[name].join(' ')])),
      expected,
    );
    const every = [...new Set(Object.values(expected).flatMap((list) => list.split(' '))), 'constructor', '__proto__'];
    const bits: number[] = [];
    for (const objectClass of [...objectClasses, 'constructor', '__proto__', 'file']) {
      assert.equal(
        isObjectClass(objectClass),
        objectClass in expected && objectClass !== '__proto__' && objectClass !== 'constructor',
      );
      for (const permission of every) {
        const held =
          objectClasses.some((name) => name === objectClass) && expected[objectClass]?.split(' ').includes(permission);
        const bit = permissionBit(objectClass, permission);
        assert.equal(bit !== 0, held === true, `${objectClass} ${permission}`);
        if (bit !== 0) bits.push(bit);
      }
    }
    assert.deepEqual(
      bits.sort((a, b) => a - b),
      bits.map((_, place) => 2 ** place),
    );
  });

  it('is of objects with names of their class', () => {
    for (const objectClass of objectClasses) {
      const isFit = (name: string) => nameFault(objectClass, name) === undefined;
      assert.equal(isFit('default'), objectClass !== 'model', objectClass);
      assert.equal(isFit('other'), objectClass !== 'model' && objectClass !== 'network', objectClass);
      assert.equal(isFit('a/b'), objectClass === 'model', objectClass);
      for (const name of ['', '/', 'a/', '/b', 'a/b/c', '..', 'a b', 'a.d', 'a.sock', 'a/b.d'])
        assert.equal(isFit(name), false, `${objectClass} ${name}`);
    }
    assert.equal(printGrant(grant), 'tool:made-up execute');
  });
});
