import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { policyRules } from '../base/limits/objects.js';
import { allows, makePolicy, parsePolicy, printPolicy } from './policy.js';

function refusal(text: string): ErrnoError {
  try {
    parsePolicy(text, 'agent/coder.d/policy');
  } catch (error) {
    assert.ok(error instanceof ErrnoError);
    assert.equal(error.code, 'EINVAL');
    return error;
  }
  throw new Error(`accepted: ${text}`);
}

const sample = `# the coder
allow coder_t tool:fs.read execute

allow coder_t model:openai/gpt-4o use
allow coder_t shared:project-a read
allow coder_t network:default connect
allow coder_t agent:reviewer create
`;

describe('a policy', () => {
  const policy = parsePolicy(sample, 'policy');

  it('allows what it says and nothing else', () => {
    assert.ok(allows(policy, 'coder_t', 'tool', 'fs.read', 'execute'));
    assert.ok(allows(policy, 'coder_t', 'model', 'openai/gpt-4o', 'use'));
    assert.ok(!allows(policy, 'coder_t', 'tool', 'fs.write', 'execute'));
    assert.ok(!allows(policy, 'coder_t', 'shared', 'project-a', 'write'));
    assert.ok(!allows(policy, 'reviewer_t', 'tool', 'fs.read', 'execute'));
    assert.ok(!allows(policy, 'coder_t', 'agent', 'reviewer', 'start'));
    assert.ok(!allows(policy, 'coder_t', 'tool', 'fs.read', 'read'));
  });

  it('that is empty denies everything', () => {
    assert.ok(!allows(parsePolicy('', 'policy'), 'coder_t', 'tool', 'fs.read', 'execute'));
  });

  it('knows the line of a rule', () => {
    const rule = policy.ruleFor('coder_t', { class: 'model', name: 'openai/gpt-4o', permission: 'use' });
    assert.equal(rule?.line, 4);
    assert.equal(policy.ruleFor('coder_t', { class: 'model', name: 'x/y', permission: 'use' }), undefined);
  });

  it('says a repeated rule once', () => {
    const twice = parsePolicy('allow a_t tool:x execute\nallow a_t  tool:x\texecute\n', 'policy');
    assert.equal(printPolicy(twice), 'allow a_t tool:x execute\n');
  });

  it('cannot be changed by whoever holds it', () => {
    assert.ok(Object.isFrozen(policy) && Object.isFrozen(policy.rules) && Object.isFrozen(policy.rules[0]));
  });

  it('does not take inherited names of objects for classes or permissions', () => {
    for (const word of ['constructor', '__proto__', 'toString']) {
      refusal(`allow a_t ${word}:x execute`);
      refusal(`allow a_t tool:x ${word}`);
      assert.ok(!allows(policy, word, 'tool', word, 'execute'));
    }
  });
});

describe('a policy line that is not Policy v0', () => {
  const cases: readonly (readonly [text: string, place: string, expected: RegExp])[] = [
    ['deny a_t tool:x execute', '1:1', /expected `allow`/],
    ['\n\n  permit a_t tool:x execute', '3:3', /expected `allow`/],
    ['allow', '1:6', /subject type/],
    ['allow $me tool:x execute', '1:7', /subject type/],
    ['allow a_t tool', '1:11', /<class>:<name>/],
    ['allow a_t file:/etc execute', '1:11', /class of tool, model/],
    ['allow a_t tool:* execute', '1:16', /a name of 1 to 64/],
    ['allow a_t tool:/usr/bin/x execute', '1:16', /a name of/],
    ['allow a_t tool:x.sock execute', '1:16', /neither `.sock` nor `.d`/],
    ['allow a_t model:gpt use', '1:17', /provider\/model/],
    ['allow a_t network:lan connect', '1:19', /only network object/],
    ['allow a_t tool:x read', '1:18', /permission of tool: execute/],
    ['allow a_t tool:x', '1:17', /permission of tool/],
    ['allow a_t tool:x execute # why', '1:26', /end of the line/],
    ['allow a_t tool:x execute\r\n', '1:18', /permission of tool/],
  ];
  for (const [text, place, expected] of cases) {
    it(`is refused with its place: ${JSON.stringify(text)}`, () => {
      const error = refusal(text);
      assert.ok(error.reason.startsWith(`agent/coder.d/policy:${place}: `), error.reason);
      assert.match(error.reason, expected);
    });
  }

  it('is answered with what Policy v0 has instead', () => {
    assert.match(refusal('deny a_t tool:x execute').remedy ?? '', /no deny/);
    assert.match(refusal('allow a_t agent:* create').remedy ?? '', /no globs/);
    assert.match(refusal('allow a_t agent:$X create').remedy ?? '', /no variables/);
    assert.match(refusal('allow a_t mount:/etc read').remedy ?? '', /does not match paths/);
  });

  it('cannot smuggle control characters into the message', () => {
    assert.doesNotMatch(refusal('allow a_t tool:\u001b[2J execute').message, /\u001b/);
  });
});

describe('a policy made by a program', () => {
  it('is held to the same grammar', () => {
    const rule = { subject: 'a_t', class: 'tool', name: 'x', permission: 'execute' } as const;
    assert.equal(printPolicy(makePolicy('made', [rule, rule])), 'allow a_t tool:x execute\n');
    assert.throws(() => makePolicy('made', [{ ...rule, name: 'x\nallow a_t tool:y execute' }]), { code: 'EINVAL' });
    assert.throws(() => makePolicy('made', [{ ...rule, subject: 'a b' }]), { code: 'EINVAL' });
    assert.throws(() => makePolicy('made', [{ ...rule, permission: 'read' }]), { code: 'EINVAL' });
  });
});

describe('a policy that a program makes', () => {
  it('has as many rules as a file, and no more', () => {
    const rules = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        subject: 'a_t',
        class: 'tool' as const,
        name: `t${index}`,
        permission: 'execute' as const,
      }));
    assert.equal(makePolicy('made', rules(policyRules)).rules.length, policyRules);
    assert.throws(() => makePolicy('made', rules(policyRules + 1)), { code: 'EINVAL' });
    const text = (count: number) => printPolicy(makePolicy('made', rules(count)));
    assert.equal(parsePolicy(text(policyRules), 'file').rules.length, policyRules);
    assert.throws(() => parsePolicy(`${text(policyRules)}allow b_t tool:x execute\n`, 'file'), { code: 'EINVAL' });
  });
});
