import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Authority, type AuthorityParts, makeAuthority } from './authority.js';
import { type DecisionRequest, decide } from './decide.js';
import { decidePath } from './decide-path.js';
import { explainDecision, explainPath } from './explain.js';
import { parseLabel } from './label.js';
import { parseMounts } from './mount.js';
import { hostNetwork } from './network.js';
import type { Permission } from './permission.js';
import { parsePolicy } from './policy.js';
import { coach, tell } from './refusal.js';
import { makeSurface } from './surface.js';

const label = parseLabel('user_u:agent_r:coder_t:s1');
const policyText = `allow coder_t tool:fs.read execute
allow coder_t tool:sh execute
allow coder_t agent:reviewer create
allow coder_t shared:docs read
allow coder_t network:default connect
`;

function authority(parts: Partial<AuthorityParts> = {}): Authority {
  return makeAuthority({
    identity: { uid: 1000, gid: 1000, groups: [44], label },
    surface: makeSurface({ cwd: '/work', additionalReads: ['/data'], hidden: ['/work/store'] }),
    policy: parsePolicy(policyText, 'agent/coder.d/policy'),
    ...parts,
  });
}

const toolPolicy = parsePolicy('allow coder_t tool:fs.read execute\n', 'tool/fs.read.d/policy');

const good: DecisionRequest = {
  authority: authority(),
  credential: { uid: 1000, gid: 1000 },
  class: 'tool',
  name: 'fs.read',
  permission: 'execute',
  object: { exists: true, visible: true, file: { uid: 0, gid: 0, mode: 0o755 }, policy: toolPolicy },
  now: 0,
  used: 0,
};

function refusal(change: Partial<DecisionRequest>) {
  const verdict = decide({ ...good, ...change });
  assert.ok(!verdict.allowed);
  return verdict;
}

describe('a view', () => {
  it('has its entries by their target, whichever way they came', () => {
    const mounts = parseMounts('/host/z\t/b\tro\t-\n/host/a\t/z\tro\t-\n/host/m\t/a\trw\t-\n', 'mount');
    const targets = authority({ mounts }).view.entries.map(({ target }) => target);
    assert.deepEqual(targets, ['/a', '/b', '/data', '/work', '/z']);
  });
});

describe('a credential of somebody else', () => {
  it('is refused by the id that is another', () => {
    for (const [field, credential] of [
      ['uid', { uid: 1, gid: 1 }],
      ['gid', { uid: 1000, gid: 1 }],
    ] as const) {
      const { reason } = refusal({ credential });
      assert.deepEqual(reason, { kind: 'wrong credential', field, got: 1, expected: 1000 });
    }
  });
});

describe('what a permission needs of the mode', () => {
  const permissions = parsePolicy(
    'allow coder_t session:x read\nallow coder_t session:x write\nallow coder_t session:x resume\n',
    'policy',
  );
  it('is said in the refusal', () => {
    for (const [permission, mode, needed] of [
      ['read', 0o300, 'read'],
      ['write', 0o500, 'write'],
      ['resume', 0o500, 'read and write'],
      ['resume', 0o600, undefined],
    ] as const) {
      const verdict = decide({
        ...good,
        authority: authority({ policy: permissions }),
        class: 'session',
        name: 'x',
        permission,
        object: { exists: true, visible: true, file: { uid: 1000, gid: 0, mode } },
      });
      const reason = verdict.allowed ? undefined : verdict.reason;
      assert.equal(
        reason?.kind === 'mode bit' ? reason.needed : undefined,
        needed,
        `${permission} ${mode.toString(8)}`,
      );
      if (!verdict.allowed) assert.deepEqual([verdict.step, verdict.code], ['mode bit', 'EACCES']);
    }
  });
});

describe('a decision', () => {
  it('allows what every step allows', () => {
    assert.deepEqual(decide(good), { allowed: true });
  });

  it('refuses another caller before it looks at the object', () => {
    const missing = { exists: false, visible: false };
    for (const credential of [
      { uid: 0, gid: 1000 },
      { uid: 1000, gid: 0 },
    ]) {
      const { step, code } = refusal({ credential, object: missing });
      assert.deepEqual([step, code], ['credential', 'EACCES']);
    }
  });

  it('refuses at the expiry and after the last use, and when the clock is no number', () => {
    const limited = authority({ lifetime: { expiresAt: 100, uses: 2 } });
    assert.ok(decide({ ...good, authority: limited, now: 99, used: 1 }).allowed);
    assert.equal(refusal({ authority: limited, now: 100 }).reason.kind, 'expired');
    assert.equal(refusal({ authority: limited, now: Number.NaN }).reason.kind, 'expired');
    assert.equal(refusal({ authority: limited, now: 0, used: 2 }).reason.kind, 'used up');
  });

  it('takes the bits of the first of owner, group and others that fits, also for uid 0', () => {
    const withFile = (uid: number, gid: number, mode: number) => ({ ...good.object, file: { uid, gid, mode } });
    assert.ok(decide({ ...good, object: withFile(1000, 0, 0o100) }).allowed);
    assert.ok(decide({ ...good, object: withFile(0, 44, 0o010) }).allowed);
    assert.equal(refusal({ object: withFile(1000, 1000, 0o011) }).step, 'mode bit');
    assert.equal(refusal({ object: withFile(0, 1000, 0o101) }).step, 'mode bit');
    assert.equal(refusal({ object: withFile(0, 0, 0o110) }).step, 'mode bit');
    const root = authority({ identity: { uid: 0, gid: 0, label } });
    const asRoot = { authority: root, credential: { uid: 0, gid: 0 }, object: withFile(1, 1, 0o110) };
    assert.equal(refusal(asRoot).step, 'mode bit');
  });

  it('refuses an object whose mode nobody knows', () => {
    assert.equal(refusal({ object: { exists: true, visible: true, policy: toolPolicy } }).reason.kind, 'mode unknown');
  });

  it('says ENOENT of what is missing or not visible, whichever step refused', () => {
    const closed = { uid: 0, gid: 0, mode: 0 };
    assert.equal(refusal({ object: { exists: false, visible: true } }).code, 'ENOENT');
    assert.equal(refusal({ object: { exists: true, visible: false, file: closed } }).code, 'ENOENT');
    assert.equal(refusal({ object: { exists: true, visible: true, file: closed } }).code, 'EACCES');
    const hidden = refusal({ object: { exists: true, visible: false, file: closed } });
    const missing = refusal({ object: { exists: false, visible: false } });
    assert.equal(tell(hidden), tell(missing));
  });

  it('refuses an object of a higher level', () => {
    const secret = { ...good.object, label: parseLabel('user_u:object_r:tool_t:s2') };
    assert.equal(refusal({ object: secret }).step, 'label');
    assert.ok(decide({ ...good, object: { ...secret, label } }).allowed);
  });

  it('needs the rule of the agent, and names the line an operator can add', () => {
    const { step, code, reason } = refusal({ name: 'fs.write' });
    assert.deepEqual([step, code], ['agent policy', 'EACCES']);
    assert.equal(
      coach(reason),
      "the agent's policy (agent/coder.d/policy) does not allow it; an operator would add: allow coder_t tool:fs.write execute",
    );
  });

  it('needs the policy of the tool as well, where it has one', () => {
    const { reason, step } = refusal({ name: 'sh' });
    assert.equal(step, 'object policy');
    assert.match(coach(reason), /an operator would add: allow coder_t tool:sh execute$/);
    const { policy: _policy, ...bare } = good.object;
    assert.equal(decide({ ...good, object: bare }).allowed, true);
    const empty = { ...bare, policy: parsePolicy('', 'tool/fs.read.d/policy') };
    assert.match(coach(refusal({ object: empty }).reason), /tool\/fs\.read\.d\/policy/);
  });

  it('holds a child to what the policy of a tool allows its ancestors', () => {
    const child = authority({ ancestors: ['parent_t'] });
    const { reason } = refusal({ authority: child });
    assert.match(coach(reason), /allow parent_t tool:fs.read execute/);
    const excess = { kind: 'permission', rule: 'tool:fs.read execute' } as const;
    const supervised = authority({ ancestors: ['parent_t'], supervised: [{ by: 'operator', excess }] });
    assert.ok(decide({ ...good, authority: supervised }).allowed);
  });

  it('lets an agent create what is not there yet', () => {
    const create = { class: 'agent', name: 'reviewer', permission: 'create' } as const;
    assert.ok(decide({ ...good, ...create, object: { exists: false, visible: true } }).allowed);
    assert.equal(refusal({ ...create, name: 'other', object: { exists: false, visible: true } }).code, 'EACCES');
    assert.equal(refusal({ ...create, object: { exists: false, visible: false } }).code, 'ENOENT');
  });

  it('connects only where rule and network are both there', () => {
    const connect = {
      class: 'network',
      name: 'default',
      permission: 'connect',
      object: { exists: true, visible: true },
    } as const;
    assert.ok(decide({ ...good, ...connect }).allowed);
    assert.equal(
      refusal({ ...connect, authority: authority({ network: { kind: 'none' } }) }).reason.kind,
      'no network',
    );
    const bare = authority({ policy: parsePolicy('', 'p') });
    assert.equal(bare.network.kind, 'none');
    assert.throws(() => authority({ policy: parsePolicy('', 'p'), network: hostNetwork(['a.example.org:443']) }), {
      code: 'EINVAL',
    });
  });

  it('is no decision for a permission that the class does not have', () => {
    assert.throws(() => decide({ ...good, permission: 'read' }), { code: 'EINVAL' });
    assert.throws(() => decide({ ...good, permission: 'constructor' as Permission }), { code: 'EINVAL' });
  });
});

describe('an explanation', () => {
  it('gives the verdict and the source of each step, after a refusal too', () => {
    const { verdict, steps } = explainDecision({
      ...good,
      object: { ...good.object, file: { uid: 0, gid: 0, mode: 0o700 } },
    });
    assert.ok(!verdict.allowed && verdict.step === 'mode bit');
    assert.deepEqual(
      steps.map((step) => [step.step, step.verdict, step.source]),
      [
        ['credential', 'allow', 'uid 1000, gid 1000'],
        ['mode bit', 'refuse', 'mode 0700, uid 0, gid 0'],
        ['visibility', 'allow', 'view'],
        ['label', 'allow', 'user_u:agent_r:coder_t:s1'],
        ['agent policy', 'allow', 'agent/coder.d/policy:1'],
        ['object policy', 'allow', 'tool/fs.read.d/policy:1'],
      ],
    );
  });

  it('of a path names the entry that decided and how each layer says it', () => {
    const hook = { allowed: false, text: 'denies the call' };
    const ask = (path: string, access: 'read' | 'write') =>
      explainPath({ ...good, path, access, verdict: decidePath({ ...good, path, access }), hook });
    assert.equal(ask('/work/x', 'write').source, 'cwd /work (rw)');
    assert.equal(ask('/work/store/x', 'read').source, 'hidden, below cwd /work (rw)');
    assert.equal(ask('/data/x', 'write').layers.at(-1)?.text.slice(0, 6), 'EROFS:');
    assert.equal(ask('/etc/shadow', 'read').layers.at(-1)?.text, 'ENOENT: the path does not exist in the jail');
    assert.deepEqual(
      ask('/data/x', 'write').layers.map((layer) => layer.verdict),
      ['advises', 'refuse', 'refuse', 'refuse'],
    );
  });
});

describe('a decision about a path', () => {
  const ask = (path: string, access: 'read' | 'write') => {
    const verdict = decidePath({ ...good, path, access });
    return verdict.allowed ? 'allowed' : verdict.code;
  };
  it('answers as the kernel will in the jail', () => {
    assert.equal(ask('/work/x', 'write'), 'allowed');
    assert.equal(ask('/data/x', 'read'), 'allowed');
    assert.equal(ask('/data/x', 'write'), 'EROFS');
    assert.equal(ask('/etc/passwd', 'read'), 'ENOENT');
    assert.equal(ask('/work/store/key', 'read'), 'ENOENT');
    assert.equal(ask('/work/../etc', 'read'), 'ENOENT');
  });

  it('is refused once the authority has expired', () => {
    const verdict = decidePath({
      authority: authority({ lifetime: { expiresAt: 5 } }),
      path: '/work',
      access: 'read',
      now: 5,
      used: 0,
    });
    assert.ok(!verdict.allowed && verdict.code === 'EACCES');
  });
});
