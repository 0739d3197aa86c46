/** What an explanation says beside the verdict: which steps were asked at all, and where each answer came from. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeAuthority } from './authority.js';
import { type DecisionRequest, decide } from './decide.js';
import { decidePath } from './decide-path.js';
import { explainDecision, explainPath, layers } from './explain.js';
import { parseLabel } from './label.js';
import { parseMounts } from './mount.js';
import { hostNetwork } from './network.js';
import { objectClasses, type Permission, permissionTable } from './permission.js';
import { parsePolicy } from './policy.js';
import { coach } from './refusal.js';
import { makeSurface } from './surface.js';

const rules = objectClasses.flatMap((each) =>
  permissionTable[each].map((permission) => `allow a_t ${each}:${nameOf(each)} ${permission}`),
);
const authority = makeAuthority({
  identity: { uid: 7, gid: 8, label: parseLabel('u:r:a_t:s0') },
  surface: makeSurface({ cwd: '/work', additionalReads: ['/data'], hidden: ['/work/store'] }),
  mounts: parseMounts('/data\t/mnt\trw\t-\n', 'mount'),
  policy: parsePolicy(`${rules.join('\n')}\n`, 'agent/a.d/policy'),
  network: hostNetwork(['a.org:443']),
});

function nameOf(objectClass: string): string {
  return objectClass === 'network' ? 'default' : objectClass === 'model' ? 'a/b' : 'x';
}

const file = { uid: 7, gid: 8, mode: 0o100_754 };
const asked = (more: Partial<DecisionRequest>): DecisionRequest => ({
  authority,
  credential: { uid: 7, gid: 8 },
  class: 'tool',
  name: 'x',
  permission: 'execute',
  object: { exists: true, visible: true, file, policy: parsePolicy('allow a_t tool:x execute\n', 'tool/x.d/policy') },
  now: 0,
  used: 0,
  ...more,
});

const steps = (more: Partial<DecisionRequest>) =>
  Object.fromEntries(
    explainDecision(asked(more)).steps.map(({ step, verdict, source, text }) => [step, { verdict, source, text }]),
  );

describe('an explained decision', () => {
  it('asks the mode of what is a file, and the policy of an object that has one', () => {
    for (const each of objectClasses) {
      for (const permission of permissionTable[each] as readonly Permission[]) {
        for (const exists of [true, false]) {
          const name = nameOf(each);
          const object = { exists, visible: true, ...(exists ? { file } : {}) };
          const found = steps({ class: each, name, permission, object } as Partial<DecisionRequest>);
          const what = `${each} ${permission} ${exists}`;
          const ofMode = found['mode bit']?.verdict;
          const isOfFile = each !== 'network' && permission !== 'create' && exists;
          if (ofMode !== 'refuse') assert.equal(ofMode, isOfFile ? 'allow' : 'not asked', what);
          const ofPolicy = found['object policy']?.verdict;
          if (ofPolicy !== 'refuse')
            assert.equal(ofPolicy, each === 'tool' || each === 'model' ? 'allow' : 'not asked', what);
          for (const { verdict, text } of Object.values(found)) {
            if (verdict === 'not asked') assert.match(text, new RegExp(`does not apply to .*${permission}`));
            if (verdict === 'allow') assert.match(text, new RegExp(`allows .*${permission}`));
          }
        }
      }
    }
  });

  it('says where each answer is from: a number, a mode, a file and its line', () => {
    const found = steps({});
    const sources = Object.fromEntries(Object.entries(found).map(([step, { source }]) => [step, source]));
    const line = rules.indexOf('allow a_t tool:x execute') + 1;
    assert.deepEqual(sources, {
      credential: 'uid 7, gid 8',
      'mode bit': 'mode 0754, uid 7, gid 8',
      visibility: 'view',
      label: 'u:r:a_t:s0',
      'agent policy': `agent/a.d/policy:${line}`,
      'object policy': 'tool/x.d/policy:1',
    });
    const less = steps({ name: 'y', object: { exists: false, visible: true } });
    assert.equal(less['mode bit']?.source, 'no file');
    assert.equal(less['agent policy']?.source, 'agent/a.d/policy', 'no line of it');
    assert.match(less['object policy']?.source ?? '', /^tool\/y\.d\/policy$/);
    const network = steps({ class: 'network', name: 'default', permission: 'connect' } as Partial<DecisionRequest>);
    assert.equal(network['visibility']?.source, 'network hosts');
  });

  it('has the reason of each step that refuses, and the verdict of the decision', () => {
    const request = asked({
      name: 'y',
      credential: { uid: 99, gid: 8 },
      object: { exists: true, visible: false, file },
    });
    const { verdict, steps: told } = explainDecision(request);
    assert.deepEqual(verdict, decide(request));
    assert.ok(!verdict.allowed);
    const refused = told.filter((each) => each.verdict === 'refuse');
    assert.equal(refused[0]?.text, coach(verdict.reason));
    assert.ok(refused.length > 2, 'what comes later is shown, too');
    assert.equal(new Set(refused.map(({ text }) => text)).size, refused.length);
  });
});

describe('an explained path', () => {
  const explained = (path: string, access: 'read' | 'write', hook: { allowed: boolean; text: string }) =>
    explainPath({ authority, path, access, hook, verdict: decidePath({ authority, path, access, now: 0, used: 0 }) });
  const hook = { allowed: false, text: 'the hook says no' };

  it('has a line for each layer, the hook’s its own', () => {
    for (const allowed of [true, false]) {
      const { layers: told } = explained('/work/a', 'read', { allowed, text: 'as the hook says' });
      assert.deepEqual(
        told.map(({ layer, verdict, text }) => [layer, verdict, text]),
        [
          ['preamble', 'advises', 'tells the agent so, but does not enforce it'],
          ['hook', allowed ? 'allow' : 'refuse', 'as the hook says'],
          ['guard', 'allow', 'may read'],
          ['jail', 'allow', 'may read'],
        ],
      );
      assert.deepEqual(
        told.map(({ layer }) => layer),
        layers,
      );
    }
  });

  it('says which entry decided, where it leads, and with which error it is refused', () => {
    const told = (path: string, access: 'read' | 'write') => {
      const { source, host, layers: each } = explained(path, access, hook);
      return [source, host, each[2]?.verdict, each[2]?.text.split(':')[0], each[3]?.text.split(':')[0]];
    };
    assert.deepEqual(told('/work/a', 'write'), ['cwd /work (rw)', '/work/a', 'allow', 'may write', 'may write']);
    assert.deepEqual(told('/data/a', 'read'), [
      'additionalReads /data (ro)',
      '/data/a',
      'allow',
      'may read',
      'may read',
    ]);
    assert.deepEqual(told('/mnt/a', 'write'), ['mounts /mnt (rw)', '/data/a', 'allow', 'may write', 'may write']);
    assert.deepEqual(told('/data/a', 'write'), ['additionalReads /data (ro)', '/data/a', 'refuse', 'EROFS', 'EROFS']);
    const hidden = 'hidden, below cwd /work (rw)';
    assert.deepEqual(told('/work/store/x', 'read').slice(0, 3), [hidden, undefined, 'refuse']);
    const none = 'no entry of the surface or the mounts contains this path';
    assert.deepEqual(told('/etc/passwd', 'read').slice(0, 3), [none, undefined, 'refuse']);
    assert.equal(told('/etc/passwd', 'read')[4], 'ENOENT');
    assert.match(explained('/etc/passwd', 'read', hook).layers[3]?.text ?? '', /does not exist in the jail/);
  });
});
