import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../authority/agent.js';
import { agentFrom } from './agent.js';
import { agentFiles } from './control-file.js';
import { type AgentGrant, grantedTexts, revokedTexts } from './granted-texts.js';
import { readValues, wholeValues } from './read-values.js';
import { agentTexts } from './spec.js';

function made(files: Readonly<Record<string, string>>): { agent: Agent; textOf: (file: string) => string } {
  const texts = new Map([...agentTexts('coder', {}, { uid: 1, gid: 1 }), ...Object.entries(files)]);
  const read = readValues(
    agentFiles,
    (file) => texts.get(file),
    (file) => file,
  );
  return { agent: agentFrom('coder', '', wholeValues(read, 'coder')), textOf: (file) => texts.get(file) ?? '' };
}

const given = (files: Readonly<Record<string, string>>, grant: AgentGrant) => {
  const { agent, textOf } = made(files);
  return [...grantedTexts(agent, textOf, grant)];
};
const taken = (files: Readonly<Record<string, string>>, grant: AgentGrant) => {
  const { agent, textOf } = made(files);
  return [...revokedTexts(agent, textOf, grant)];
};
const deploy = { kind: 'permission', class: 'tool', name: 'deploy', permission: 'execute' } as const;
const rule = 'allow coder_t tool:deploy execute\n';
const mounted = (mode: string) => `/srv/x\t/srv/x\t${mode}\trbind,nosuid,nodev\n`;

describe('a grant to an agent', () => {
  it('is a line of its policy, mount or groups file, once, and comments stay', () => {
    assert.deepEqual(given({ policy: '# mine' }, deploy), [['policy', `# mine\n${rule}`]]);
    assert.deepEqual(given({ policy: rule }, deploy), []);
    assert.deepEqual(given({}, { kind: 'group', gid: 27 }), [['groups', '27\n']]);
    assert.deepEqual(given({ groups: '27\n' }, { kind: 'group', gid: 27 }), []);
    assert.deepEqual(given({}, { kind: 'read', path: '/srv/x' }), [['mount', mounted('ro')]]);
    assert.deepEqual(given({ mount: mounted('rw') }, { kind: 'read', path: '/srv/x' }), []);
    assert.deepEqual(given({ mount: `# x\n${mounted('ro')}` }, { kind: 'write', path: '/srv/x' }), [
      ['mount', `# x\n${mounted('rw')}`],
    ]);
  });

  it('of a path is a rule, too, where the policy names mounts', () => {
    const policy = 'allow coder_t mount:data read\n';
    assert.deepEqual(given({ policy }, { kind: 'write', path: '/srv/x' }), [
      ['mount', mounted('rw')],
      ['policy', `${policy}allow coder_t mount:srv.x write\n`],
    ]);
    assert.throws(
      () => given({ policy }, { kind: 'read', path: '/srv/a b' }),
      /has rules for mounts, and no rule can name/,
    );
  });

  it('of a host lists it before the rule that allows connecting, and ends the other way round', () => {
    const connect = 'allow coder_t network:default connect\n';
    const host = { kind: 'connect', host: 'a.org:443' } as const;
    assert.deepEqual(given({}, host), [
      ['network', 'a.org:443\n'],
      ['policy', connect],
    ]);
    assert.deepEqual(given({ policy: connect }, host), []);
    assert.deepEqual(given({ policy: connect, network: 'b.org:443\n' }, host), [['network', 'b.org:443\na.org:443\n']]);
    assert.deepEqual(taken({ policy: connect, network: 'a.org:443\n' }, host), [
      ['policy', ''],
      ['network', ''],
    ]);
    assert.deepEqual(taken({ policy: connect, network: 'a.org:443\nb.org:443\n' }, host), [['network', 'b.org:443\n']]);
    assert.throws(() => taken({ policy: connect }, host), /does not list/);
  });

  it('is taken away by its line', () => {
    assert.deepEqual(taken({ policy: `# mine\nallow  coder_t\ttool:deploy execute\n` }, deploy), [
      ['policy', '# mine\n'],
    ]);
    assert.deepEqual(taken({}, deploy), []);
    assert.deepEqual(taken({ mount: mounted('rw') }, { kind: 'write', path: '/srv/x' }), [['mount', '']]);
    assert.deepEqual(taken({ groups: '4\n27\n' }, { kind: 'group', gid: 27 }), [['groups', '4\n']]);
  });
});
