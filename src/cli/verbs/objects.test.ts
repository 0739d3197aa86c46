/** Agents, tools, their files and what may be done to them: each verb, and every way in which one is refused. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

const json = ({ stdout }: Answer) => JSON.parse(stdout);
const agents = '~/store/ctx/agent';
const uid = process.getuid?.() ?? 0;

/** A control file of an object of the system's tier, as it is on the disk. */
const held = (kind: string, name: string, file: string) =>
  readFileSync(join(calls.store, 'ctx', kind, `${name}.d`, file), 'utf8');

before(() => {
  calls.write('t.sh', '#!/bin/sh\ncat\n');
  chmodSync(join(calls.project, 't.sh'), 0o755);
  calls.write('schema', '{"type":"object","examples":[{"a":1},{}],"required":["a"]}');
  calls.write('both', '{"input":{"type":"object"},"output":{"type":"object"}}');
  calls.write('spec', '{"env":"A=1\\n","groups":"10\\n"}');
  calls.write('bad', 'nonsense\n');
  writeFileSync(join(calls.project, 'latin'), Buffer.from('A=\xe4\n', 'latin1'));
  calls.write('good', 'allow coder_t tool:t execute\nallow other_t tool:u execute\n');
  calls.write('mounts', '/usr\t/usr\tro\trbind\n');
});

test('an agent is made, shown, listed, changed and removed, and what is wrong changes nothing', async () => {
  const row = { name: 'coder', tier: 'system', directory: `${agents}/coder.d` };
  const about = 'user_u:agent_r:coder_t:s0';
  await calls.all([
    ['agent ls', 0],
    ['agent ls', 0, { kind: 'agent', objects: [] }],
    ['agent new coder', 0, 'made agent coder\n'],
    ['agent new coder', 'EEXIST'],
    [
      'agent new three --tier user --spec spec',
      0,
      { kind: 'agent', ...row, name: 'three', tier: 'user', directory: `~/store/ctx/home/${uid}/agent/three.d` },
    ],
    ['agent new x --spec nosuch', 'ENOENT'],
    ['agent new x --spec bad', 'EINVAL'],
    ['agent new x --parent nosuch', 'ENOENT'],
    ['agent new x --parent coder', 'EACCES'],
    ['agent new x --tier other', 'EINVAL'],
    ['agent new', 'EINVAL'],
    ['agent new a/b', 'EINVAL'],
    ['agent ls', 0, `coder  system    dead      ${about}\nthree  user      dead      user_u:agent_r:three_t:s0\n`],
    ['agent show nosuch', 'ENOENT'],
    ['agent set coder nosuch x', 'EINVAL'],
    ['agent set coder env', 'EINVAL'],
    ['agent set coder env A=1 --from spec', 'EINVAL'],
    ['agent set nosuch env A=1', 'ENOENT'],
    ['agent set coder env A=1', 0, 'set env of agent coder\n'],
    ['agent set coder policy nonsense', 'EINVAL'],
    [['agent', 'set', 'coder', 'policy', '--from', 'bad'], 'EINVAL'],
    ['agent set coder env --from latin', 'EINVAL'],
    ['agent set coder policy --from good', 0, 'set policy of agent coder\n'],
    [
      ['agent', 'set', 'coder', 'policy', '--from', '-'],
      0,
      'set policy of agent coder\n',
      '',
      { input: 'allow coder_t tool:t execute\nallow coder_t agent:child create\n' },
    ],
  ]);
  assert.deepEqual(
    ['env', 'policy', 'groups'].map((file) => held('agent', 'coder', file)),
    ['A=1\n', 'allow coder_t tool:t execute\nallow coder_t agent:child create\n', ''],
  );
  const { objects } = json(await calls.run(['agent', 'ls', '--json']));
  assert.deepEqual(
    objects.map(({ name, tier, status, about: text }: Record<string, string>) => [name, tier, status, text]),
    [
      ['coder', 'system', 'dead', about],
      ['three', 'user', 'dead', 'user_u:agent_r:three_t:s0'],
    ],
  );
  const shown = json(await calls.run(['agent', 'show', 'three', '--json']));
  assert.deepEqual([shown.kind, shown.name, shown.tier, shown.problems], ['agent', 'three', 'user', []]);
  assert.deepEqual([shown.files.env, shown.files.groups, shown.files.policy], ['A=1\n', '10\n', '']);
  const text = await calls.run(['agent', 'show', 'coder']);
  assert.equal(text.code, 0);
  const lines = calls.plain(text.stdout).split('\n');
  assert.equal(lines[0], `${agents}/coder.d`);
  assert.ok(
    lines.includes('  env         A=1') && lines.includes('              allow coder_t agent:child create'),
    text.stdout,
  );
  await calls.all([
    [['agent', 'set', 'coder', 'env', ''], 0, { kind: 'agent', name: 'coder', file: 'env' }],
    ['agent rm three', 0, { kind: 'agent', name: 'three' }],
    ['agent rm three', 'ENOENT'],
  ]);
  assert.equal(held('agent', 'coder', 'env'), '');
});

test('an agent that is damaged is shown with what is wrong', async () => {
  await calls.check(['agent new broken', 0, 'made agent broken\n']);
  writeFileSync(join(calls.store, 'ctx', 'agent', 'broken.d', 'policy'), 'nonsense\n');
  const shown = await calls.run(['agent', 'show', 'broken', '--json']);
  assert.deepEqual([shown.code, json(shown).problems.length], [1, 1], shown.stdout);
  await calls.all([
    ['agent show broken', 1, /\n {2}policy {6}nonsense\n(?:.*\n)*.*policy:1:1: .*\n$/],
    ['agent rm broken', 0, 'removed agent broken\n'],
  ]);
});

test('a supervisor grants one more thing and takes it back, and hears what goes beyond the parent', async () => {
  const told = { kind: 'agent', name: 'child' };
  const grants: readonly (readonly [what: string, as: string, files: readonly string[], beyond: number])[] = [
    ['read /etc/hosts', 'read /etc/hosts', ['mount'], 1],
    ['write .', 'write HERE', ['mount'], 0],
    ['connect example.com', 'connect example.com:443', ['network', 'policy'], 2],
    ['connect example.com:80', 'connect example.com:80', ['network'], 1],
    ['group 10', 'group 10', ['groups'], 1],
    ['tool:u execute', 'tool:u execute', ['policy'], 1],
  ];
  await calls.check(['agent new child --parent coder', 0, 'made agent child\n']);
  for (const [what, as, files, beyond] of grants) {
    const answer = await calls.run(['agent', 'grant', 'child', ...what.split(' '), '--json']);
    const { beyond: found, ...rest } = JSON.parse(calls.plain(answer.stdout));
    assert.deepEqual(rest, { version: 1, ...told, what: as, files }, answer.stdout);
    assert.equal(found.length, beyond, answer.stdout);
    await calls.all([
      [`agent grant child ${what}`, 0, { ...told, what: as, files: [], beyond: [] }],
      [`agent grant child ${what}`, 0, `nothing to do: agent child has ${as}\n`],
    ]);
  }
  await calls.check(['agent grant coder tool:t execute', 0, 'nothing to do: agent coder has tool:t execute\n']);
  const wrong = [
    'group 010',
    'group -1',
    'group 12345678901',
    'nosuch:t execute',
    'fly away',
    'read nosuch',
    'connect a:b',
  ];
  await calls.all(wrong.map((what) => [`agent grant child ${what}`, 'EINVAL']));
  await calls.all([
    ['agent grant child read', 'EINVAL'],
    ['agent grant nosuch group 10', 'ENOENT'],
    ['agent revoke nosuch group 10', 'ENOENT'],
    [
      'agent grant child read /etc/hostname',
      0,
      /^granted agent child: read \/etc\/hostname \(mount\)\n {2}beyond its parent: .*\n$/,
    ],
    ['agent revoke child read /etc/hostname', 0, 'revoked from agent child: read /etc/hostname (mount, supervised)\n'],
  ]);
  for (const [what, as] of [...grants].reverse()) {
    const answer = await calls.run(['agent', 'revoke', 'child', ...what.split(' '), '--json']);
    const { files, beyond, ...rest } = JSON.parse(calls.plain(answer.stdout));
    assert.deepEqual([rest, beyond], [{ version: 1, ...told, what: as }, []], answer.stdout);
    assert.ok(files.length > 0);
    await calls.check(
      what.startsWith('connect')
        ? [`agent revoke child ${what}`, 'EINVAL']
        : [`agent revoke child ${what}`, 0, `nothing to do: agent child does not have ${as}\n`],
    );
  }
  calls.write('short/lived', 'x');
  await calls.check(['agent grant child read short/lived', 0, /^granted/]);
  rmSync(join(calls.project, 'short'), { recursive: true });
  await calls.all([
    ['agent revoke child read short/lived', 0, 'revoked from agent child: read HERE/short/lived (mount)\n'],
    ['agent grant child read short/lived', 'EINVAL'],
  ]);
  const files = ['mount', 'network', 'groups', 'supervised', 'policy'];
  assert.deepEqual(
    files.map((file) => held('agent', 'child', file)),
    files.map(() => ''),
  );
});

test('a tool is made of what the call says, is called as oneself and as an agent, and is tried with its examples', async () => {
  const grants = '--net example.com --net-private 10.0.0.1:80 --read /usr --write . --fork ro';
  await calls.all([
    ['tool new t --exec t.sh --description hello --schema schema', 0, 'made tool t\n'],
    [
      `tool new granted --exec t.sh --schema both ${grants}`,
      0,
      { kind: 'tool', name: 'granted', tier: 'system', directory: '~/store/ctx/tool/granted.d' },
    ],
    ['tool new t --exec t.sh', 'EEXIST'],
    ['tool new x --exec nosuch', 'ENOENT'],
    ['tool new x --exec t.sh --schema nosuch', 'ENOENT'],
    ['tool new x --exec t.sh --schema bad', 'EINVAL'],
    ['tool new x --exec t.sh --fork wx', 'EINVAL'],
    ['tool new x --exec t.sh --net a:b', 'EINVAL'],
    ['tool show x', 'ENOENT'],
    [['tool', 'call', 't', '{"a":1}'], 0, '{"a":1}'],
    [['tool', 'call', 't', '{"a":1}', '--agent', 'coder'], 0, '{"a":1}'],
    [['tool', 'call', 't', '{"a":1}', '--agent', 'child'], 13, '', /./],
    [['tool', 'call', 't', '{"a":1}', '--agent', 'nosuch'], 'ENOENT'],
    [['tool', 'call', 't', '{"a":1}', '--fork', 'nosuch'], 'ENOENT'],
    [['tool', 'call', 't', '{}'], 2, '', /EINVAL/],
    [['tool', 'call', 't', 'x'], 2, '', /EINVAL/],
    ['tool call nosuch {}', 'ENOENT'],
    ['tool call t a b', 'EINVAL'],
    ['tool test nosuch', 'ENOENT'],
    ['tool test granted', 'EINVAL'],
    ['tool test t --agent nosuch', 'ENOENT'],
    ['tool test t', 1, /^ok {6}\{"a":1\}\nfailed {2}\{\}\n {8}.*\n(?: {8}.*\n)*1 of 2 examples passed\n$/],
  ]);
  const tested = await calls.run(['tool', 'test', 't', '--agent', 'coder', '--json']);
  const { tool, passed, tried } = json(tested);
  assert.deepEqual([tested.code, tool, passed, tried.length], [1, 't', 1, 2]);
  assert.deepEqual(
    [tried[0], tried[1].input, tried[1].exitCode],
    [{ input: '{"a":1}', exitCode: 0, error: '' }, '{}', 2],
  );
  const called = await calls.run(['tool', 'call', 't', '{"a":2}', '--json']);
  assert.deepEqual([json(called).stdout.text, json(called).agent], ['{"a":2}', null]);
  assert.deepEqual(held('tool', 'granted', 'cap').replaceAll(calls.project, 'HERE').split('\n').sort(), [
    ...[
      '',
      'fork ro',
      'fs.read /usr',
      'fs.write HERE',
      'net.connect 10.0.0.1:80 private',
      'net.connect example.com:443',
    ],
  ]);
  await calls.all([
    ['tool set t description other', 0, 'set description of tool t\n'],
    ['tool ls', 0, /^granted +system .*\nt +system +idle +other\nfs\.read +built in +ready +\S/],
    ['tool show fs.read', 0, /^fs\.read \(built in\)\n/],
    ['tool rm t', 0, 'removed tool t\n'],
    ['tool rm t', 'ENOENT'],
    ['tool rm fs.read', 'ENOENT'],
  ]);
  assert.ok(!existsSync(join(calls.store, 'ctx', 'tool', 't.d')));
});

test('files of policies and mounts are checked, by name and from stdin', async () => {
  const input = readFileSync(join(calls.project, 'good'), 'utf8');
  const rule = { subject: 'coder_t', class: 'tool', name: 't', permission: 'execute', line: 1 };
  const rules = [rule, { ...rule, subject: 'other_t', name: 'u', line: 2 }];
  await calls.all([
    ['policy check good', 0, 'ok  2 rules for coder_t, other_t\n'],
    ['policy check -', 0, { file: '-', rules, subjects: ['coder_t', 'other_t'] }, '', { input }],
    ['policy check -', 0, 'ok  0 rules\n'],
    ['policy check bad', 'EINVAL'],
    ['policy check nosuch', 'ENOENT'],
    ['mount check mounts', 0, 'ok  1 mount\n'],
    ['mount check bad', 'EINVAL'],
    ['mount check nosuch', 'ENOENT'],
  ]);
  const { file, mounts } = json(await calls.run(['mount', 'check', 'mounts', '--json']));
  assert.deepEqual([file, mounts.length, mounts[0].source, mounts[0].target], ['mounts', 1, '/usr', '/usr']);
});
