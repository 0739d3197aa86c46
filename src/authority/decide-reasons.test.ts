/** Why something is refused, word for word of its values: what an operator reads is made of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AuthorityParts, makeAuthority } from './authority.js';
import { type DecisionRequest, decide } from './decide.js';
import { decideHost, hostRefusal } from './decide-host.js';
import { decidePath } from './decide-path.js';
import { parseLabel } from './label.js';
import { anyPublicNetwork, hostNetwork, noNetwork } from './network.js';
import { objectClasses, type Permission, permissionTable } from './permission.js';
import { parsePolicy } from './policy.js';
import { makeSurface } from './surface.js';

const names: Readonly<Record<string, string>> = { network: 'default', model: 'a/b' };
const rules = objectClasses.flatMap((each) =>
  permissionTable[each].map((permission) => `allow a_t ${each}:${names[each] ?? 'x'} ${permission}\n`),
);
const parts: AuthorityParts = {
  identity: { uid: 7, gid: 8, groups: [9], label: parseLabel('u:r:a_t:s0') },
  surface: makeSurface({ cwd: '/work', additionalReads: ['/data'] }),
  policy: parsePolicy(rules.join(''), 'agent/a.d/policy'),
  network: hostNetwork(['a.org:443']),
  lifetime: { expiresAt: 100, uses: 5 },
};
const authority = makeAuthority(parts);
const file = { uid: 1, gid: 1, mode: 0o100_777 };

function reason(more: Partial<DecisionRequest>) {
  const verdict = decide({
    authority,
    credential: { uid: 7, gid: 8 },
    class: 'tool',
    name: 'x',
    permission: 'execute',
    object: { exists: true, visible: true, file },
    now: 0,
    used: 0,
    ...more,
  });
  return verdict.allowed ? undefined : verdict.reason;
}
const grant = { class: 'tool', name: 'x', permission: 'execute' } as const;

describe('the reason of a refusal', () => {
  it('names who asked and who was expected, or what is over', () => {
    for (const [credential, field, got, expected] of [
      [{ uid: 1, gid: 8 }, 'uid', 1, 7],
      [{ uid: 7, gid: 9 }, 'gid', 9, 8],
      [{ uid: 1, gid: 1 }, 'uid', 1, 7],
    ] as const) {
      assert.deepEqual(reason({ credential }), { kind: 'wrong credential', field, got, expected });
    }
    assert.deepEqual(reason({ now: 100 }), { kind: 'expired' });
    assert.deepEqual(reason({ used: 5 }), { kind: 'used up' });
    assert.equal(reason({ now: 99, used: 4 }), undefined);
  });

  it('names the bits that a permission needs, of the owner, the group or everyone', () => {
    const needs: Readonly<Record<Permission, string>> = {
      read: 'read',
      write: 'write',
      resume: 'read and write',
      execute: 'execute',
      use: 'execute',
      start: 'execute',
      stop: 'execute',
      create: '',
      connect: '',
    };
    const bits: Readonly<Record<string, number>> = { read: 4, write: 2, 'read and write': 6, execute: 1, '': 0 };
    const owners = [
      [{ uid: 7, gid: 1 }, 6],
      [{ uid: 7, gid: 8 }, 6],
      [{ uid: 1, gid: 8 }, 3],
      [{ uid: 1, gid: 9 }, 3],
      [{ uid: 1, gid: 1 }, 0],
    ] as const;
    for (const each of objectClasses) {
      for (const permission of permissionTable[each] as readonly Permission[]) {
        const asked = { class: each, name: names[each] ?? 'x', permission } as const;
        for (const [owner, shift] of owners) {
          for (let triple = 0; triple < 8; triple += 1) {
            const mode = 0o4000 | (triple << shift);
            const found = reason({
              ...asked,
              object: { exists: true, visible: true, file: { ...owner, mode: 0o100_000 | mode } },
            });
            const need = bits[needs[permission]] ?? 0;
            const expected =
              (triple & need) === need
                ? undefined
                : { kind: 'mode bit', grant: asked, needed: needs[permission], mode };
            assert.deepEqual(found, expected, `${each} ${permission} ${mode.toString(8)}`);
          }
        }
      }
    }
    assert.deepEqual(reason({ object: { exists: true, visible: true } }), { kind: 'mode unknown', grant });
  });

  it('names what is not shown, or not there', () => {
    assert.deepEqual(reason({ object: { exists: true, visible: false, file } }), { kind: 'not visible', grant });
    assert.deepEqual(reason({ object: { exists: false, visible: false } }), { kind: 'not visible', grant });
    assert.deepEqual(reason({ object: { exists: false, visible: true } }), { kind: 'missing', grant });
    const network = { class: 'network', name: 'default', permission: 'connect' } as const;
    assert.equal(reason({ ...network, object: { exists: false, visible: false } }), undefined);
    const none = makeAuthority({ ...parts, network: noNetwork });
    assert.deepEqual(reason({ ...network, authority: none }), { kind: 'no network' });
  });

  it('names the rule that is missing, for whom, and in which file', () => {
    const subject = 'a_t';
    const other = { class: 'tool', name: 'y', permission: 'execute' } as const;
    assert.deepEqual(reason(other), { kind: 'no agent rule', grant: other, subject, file: 'agent/a.d/policy' });
    const own = (text: string, where: string) => ({
      object: { exists: true, visible: true, file, policy: parsePolicy(text, where) },
    });
    assert.deepEqual(reason(own('', 'tool/x.d/policy')), {
      kind: 'no object rule',
      grant,
      subject,
      file: 'tool/x.d/policy',
    });
    assert.deepEqual(reason(own('', '')), { kind: 'no object rule', grant, subject, file: 'tool/x.d/policy' });
    assert.equal(reason(own('allow a_t tool:x execute\n', 'p')), undefined);
    const child = makeAuthority({ ...parts, ancestors: ['b_t', 'c_t'] });
    const rulesOf = (...subjects: readonly string[]) =>
      own(subjects.map((each) => `allow ${each} tool:x execute\n`).join(''), 'p');
    assert.deepEqual(reason({ authority: child, ...rulesOf('a_t', 'b_t') }), {
      kind: 'no object rule',
      grant,
      subject: 'c_t',
      file: 'p',
    });
    assert.equal(reason({ authority: child, ...rulesOf('a_t', 'b_t', 'c_t') }), undefined);
    const mount = { class: 'mount', name: 'y', permission: 'read' } as const;
    assert.equal(reason(mount)?.kind, 'no agent rule', 'its policy names mounts');
    const plain = makeAuthority({ ...parts, network: noNetwork, policy: parsePolicy('allow b_t mount:x read\n', 'p') });
    assert.equal(reason({ ...mount, authority: plain }), undefined);
  });

  it('names the path, and the entry that lets it be read only', () => {
    const of = (path: string, access: 'read' | 'write', now = 0) => {
      const verdict = decidePath({ authority, path, access, now, used: 0 });
      return verdict.allowed ? undefined : [verdict.code, verdict.reason];
    };
    assert.equal(of('/work/a', 'write'), undefined);
    assert.deepEqual(of('/data/a', 'write'), ['EROFS', { kind: 'read-only', path: '/data/a', entry: '/data' }]);
    assert.deepEqual(of('/work/a', 'read', 100), ['EACCES', { kind: 'expired' }]);
    assert.equal(of('/etc/x', 'read')?.[0], 'ENOENT');
  });
});

describe('a host', () => {
  const target = (host: string, port = 443) => ({ host, port });

  it('is reached where the network of an authority has it, as long as that lasts', () => {
    const of = (parts_: Partial<AuthorityParts>, host: string, now = 0, used = 0) => {
      const verdict = decideHost(makeAuthority({ ...parts, ...parts_ }), target(host), now, used);
      return verdict.allowed ? undefined : [verdict.code, verdict.reason];
    };
    assert.equal(of({}, 'a.org'), undefined);
    assert.deepEqual(of({}, 'b.org'), ['EACCES', { kind: 'host not granted', hostPort: 'b.org:443' }]);
    assert.deepEqual(of({}, 'a.org', 100), ['EACCES', { kind: 'expired' }]);
    assert.deepEqual(of({}, 'a.org', 0, 5), ['EACCES', { kind: 'used up' }]);
    assert.deepEqual(of({ network: noNetwork }, 'a.org'), ['EACCES', { kind: 'no network', hostPort: 'a.org:443' }]);
    assert.equal(of({ network: anyPublicNetwork }, 'b.org'), undefined);
    assert.deepEqual(of({ network: anyPublicNetwork }, 'localhost'), [
      'EACCES',
      { kind: 'host not public', hostPort: 'localhost:443' },
    ]);
  });

  it('is another at another port', () => {
    assert.equal(hostRefusal(hostNetwork(['a.org:443']), target('a.org')), undefined);
    for (const port of [80, 4430, 44])
      assert.equal(hostRefusal(hostNetwork(['a.org:443']), target('a.org', port))?.kind, 'host not granted');
  });
});
