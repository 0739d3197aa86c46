import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { hasCode } from '../base/errno.js';
import { agentNamed, childrenOf, inspectAgent, readAgent } from './agent.js';
import { listObjects, makeObject, removeObject, requireObject, writeControlText } from './object-store.js';
import { agentTexts, parseSpec, toolTexts } from './spec.js';
import { readTool } from './tool.js';

const root = mkdtempSync(join(tmpdir(), 'ctx-objects-'));
after(() => rmSync(root, { recursive: true }));
const roots = { root, uid: 1000 };
const maker = { uid: 1000, gid: 1000 };

function refused(code: 'EINVAL' | 'EEXIST' | 'ENOENT', pattern = /./) {
  return (error: unknown) => hasCode(error, code) && pattern.test(String(error));
}

describe('an agent on disk', () => {
  it('is least where nothing is asked for', () => {
    makeObject(roots, 'system', 'agent', 'coder', agentTexts('coder', {}, maker));
    assert.equal(readdirSync(join(root, 'agent/coder.d')).length, 26);
    const { identity, policy, mounts, network, parent, quota, environment } = agentNamed(roots, 'coder');
    assert.deepEqual(
      [policy.rules, mounts, network, parent, quota, environment],
      [[], [], undefined, undefined, {}, {}],
    );
    assert.deepEqual([identity.owner, identity.uid, identity.gid, identity.groups], [1000, 1000, 1000, []]);
    assert.deepEqual([identity.label.type, identity.isolation, identity.life], ['coder_t', 'shared', 'owned']);
  });

  it('is refused where its name makes no type and its spec has no label', () => {
    for (const name of ['0', 'a+b', 'a'.repeat(63)]) {
      assert.throws(() => agentTexts(name, {}, maker), refused('EINVAL', /expected a label, since the name/), name);
      assert.match(agentTexts(name, { label: 'worker_t' }, maker).get('label') ?? '', /:worker_t:/);
    }
    assert.match(agentTexts('a'.repeat(62), {}, maker).get('label') ?? '', /:a{62}_t:/);
  });

  it('is refused where a file of it is not UTF-8, which would be read as another path', () => {
    makeObject(roots, 'system', 'agent', 'bytes', agentTexts('bytes', {}, maker));
    const file = join(root, 'agent/bytes.d/root');
    writeFileSync(file, Buffer.from('/srv/\xe4\n', 'latin1'));
    const reason = /agent\/bytes\.d\/root:1:1: expected UTF-8/;
    assert.throws(() => agentNamed(roots, 'bytes'), refused('EINVAL', reason));
    assert.equal(inspectAgent(requireObject(roots, 'agent', 'bytes')).problems.length, 1);
    writeFileSync(file, '/srv/\ufffd\n');
    assert.equal(agentNamed(roots, 'bytes').root, '/srv/\ufffd');
    removeObject(requireObject(roots, 'agent', 'bytes'));
  });

  it('is refused where its spec is of no JSON, which a program can give', () => {
    const circle: Record<string, unknown> = {};
    circle['of'] = circle;
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    for (const value of [1n, circle, deep, () => 1, Symbol('x')])
      for (const spec of [{ meta: value }, { env: { A: value } }, { path: [value] }])
        assert.throws(() => agentTexts('odd', spec, maker), refused('EINVAL', /(?:env\.A|path|meta\.json): expected/));
  });

  it('is what its spec says, as text or as is natural in JSON', () => {
    const spec = parseSpec(
      JSON.stringify({
        name: 'worker',
        label: 'worker_t',
        groups: [10, 20],
        env: { LANG: 'C' },
        mount: [
          ['/srv/data', '/data', 'ro'],
          ['/srv/x', '/x', 'rw', 'rbind,noexec'],
        ],
        policy: ['allow worker_t network:default connect'],
        network: ['example.org:443'],
        tools: ['fs.read'],
        shared: { 'project-a': ['read', 'write'] },
        model: ['openai/gpt-4o'],
        quota: { wallTime: 1000 },
        meta: { purpose: 'tests' },
      }),
      'worker.json',
    );
    makeObject(roots, 'user', 'agent', 'worker', agentTexts('worker', spec, maker));
    const agent = agentNamed(roots, 'worker');
    assert.deepEqual(
      agent.policy.rules.map((rule) => `${rule.class}:${rule.name} ${rule.permission}`),
      [
        'network:default connect',
        'tool:fs.read execute',
        'model:openai/gpt-4o use',
        'shared:project-a read',
        'shared:project-a write',
      ],
    );
    assert.deepEqual(agent.mounts[1], { source: '/srv/x', target: '/x', mode: 'rw', options: ['rbind', 'noexec'] });
    assert.deepEqual(
      [agent.identity.groups, agent.environment, agent.quota],
      [[10, 20], { LANG: 'C' }, { wallTime: 1000 }],
    );
    assert.deepEqual(agent.network, { kind: 'hosts', hosts: ['example.org:443'] });
    assert.ok(
      readFileSync(join(root, 'home/1000/agent/worker.d/mount'), 'utf8').startsWith('/srv/data\t/data\tro\t-\n'),
    );
  });

  it('has no member that is no file of it, and no other name than its own', () => {
    for (const spec of [{ polcy: '' }, { status: 'ready' }, { parent: 'agent:x' }, { name: 'other' }, { shared: [] }]) {
      assert.throws(() => agentTexts('x', spec, maker), refused('EINVAL'), JSON.stringify(spec));
    }
  });

  it('is one of its name in both tiers, and leaves nothing where it is refused', () => {
    assert.throws(
      () => makeObject(roots, 'user', 'agent', 'coder', agentTexts('coder', {}, maker)),
      refused('EEXIST', /system tier/),
    );
    assert.throws(() => makeObject(roots, 'system', 'agent', '../x', new Map()), refused('EINVAL'));
    assert.deepEqual(readdirSync(join(root, 'home/1000/agent')), ['worker.d']);
  });

  it('tells every problem of its files at once, each with its place', () => {
    const object = makeObject(roots, 'system', 'agent', 'broken', agentTexts('broken', {}, maker));
    writeFileSync(join(object.directory, 'uid'), 'me\n');
    writeFileSync(join(object.directory, 'policy'), 'allow broken_t tool:x execute\ndeny all\n');
    rmSync(join(object.directory, 'label'));
    const { problems } = inspectAgent(object);
    assert.deepEqual(
      problems.map(({ reason }) => reason.split(': ')[0]),
      ['agent/broken.d/uid:1:1', 'agent/broken.d/label:1:1', 'agent/broken.d/policy:2:1'],
    );
    assert.throws(() => agentNamed(roots, 'broken'), refused('EINVAL', /uid:1:1.*label:1:1.*policy:2:1/));
    removeObject(object);
  });

  it('is tried with a change before it is written', () => {
    const object = requireObject(roots, 'agent', 'coder');
    const hosts = new Map([['network', 'example.org:443\n']]);
    assert.throws(() => readAgent(object, hosts), refused('EINVAL', /network:default connect/));
    writeControlText(object, 'policy', 'allow coder_t network:default connect\n');
    assert.equal(readAgent(object, hosts).network?.kind, 'hosts');
    assert.equal(readAgent(object).network, undefined);
  });

  it('takes from its parent who it is, and is known as its child', () => {
    const parent = agentNamed(roots, 'coder');
    const texts = agentTexts('reviewer', { label: 'reviewer_t' }, { ...maker, parent });
    makeObject(roots, 'system', 'agent', 'reviewer', texts);
    const child = agentNamed(roots, 'reviewer');
    assert.deepEqual([child.parent?.agent, child.identity.label.type], ['coder', 'reviewer_t']);
    assert.deepEqual(childrenOf(roots, 'coder'), ['reviewer']);
  });

  it('is listed by name, without what is no object', () => {
    mkdirSync(join(root, 'agent', '.coder.d.1.new'));
    mkdirSync(join(root, 'agent', 'not an object.d'));
    writeFileSync(join(root, 'agent', 'coder'), '');
    assert.deepEqual(
      listObjects(roots, 'agent').map(({ name, tier }) => [name, tier]),
      [
        ['coder', 'system'],
        ['reviewer', 'system'],
        ['worker', 'user'],
      ],
    );
  });

  it('is gone when it is removed', () => {
    removeObject(requireObject(roots, 'agent', 'worker'));
    assert.throws(() => agentNamed(roots, 'worker'), refused('ENOENT', /no such agent/));
    assert.deepEqual(readdirSync(join(root, 'home/1000/agent')), []);
  });
});

describe('a tool on disk', () => {
  it('leaves it to the policies of agents until it has one of its own', () => {
    makeObject(roots, 'system', 'tool', 'fs.read', toolTexts('fs.read', {}));
    const { policy, capabilities, schema } = readTool(requireObject(roots, 'tool', 'fs.read'));
    assert.deepEqual([policy, capabilities, schema], [undefined, [], {}]);
    const empty = readTool(requireObject(roots, 'tool', 'fs.read'), new Map([['policy', '']]));
    assert.deepEqual(empty.policy?.rules, []);
  });

  it('is what its spec says', () => {
    const spec = {
      description: 'runs a command',
      schema: { input: { type: 'object' } },
      cap: ['fork ro', 'net.connect api.example.com'],
      policy: 'allow coder_t tool:shell.exec execute',
    };
    makeObject(roots, 'system', 'tool', 'shell.exec', toolTexts('shell.exec', spec));
    const tool = readTool(requireObject(roots, 'tool', 'shell.exec'));
    assert.deepEqual(
      [tool.description, tool.capabilities],
      [
        'runs a command\n',
        [
          { kind: 'fork', access: 'ro' },
          { kind: 'net.connect', host: 'api.example.com:443', isPrivate: false },
        ],
      ],
    );
    assert.ok(tool.policy?.allows('coder_t', 'tool', 'shell.exec', 'execute'));
  });

  it('is refused where its name is another than its directory', () => {
    const object = requireObject(roots, 'tool', 'fs.read');
    writeControlText(object, 'name', 'fs.write\n');
    assert.throws(() => readTool(requireObject(roots, 'tool', 'fs.read')), refused('EINVAL', /name:1:1/));
  });
});
