import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { agent, base, data, host, origin, place, refusal } from './authority-fixture.js';
import { resolveAuthority } from './authority-of.js';

describe('the authority of a child', () => {
  const parent = { agent: 'coder' };
  const rules = (type: string) => `allow ${type} tool:fs.read execute\nallow ${type} agent:reviewer create\n`;

  it('is derived from its parent, and carries where it comes from', async () => {
    agent('coder', { policyText: rules('coder_t'), mountText: `${data}\t/data\trw\trbind\n` });
    const reviewer = agent('reviewer', {
      parent,
      policyText: 'allow reviewer_t tool:fs.read execute\n',
      mountText: '/data/inner\t/inner\tro\trbind\n',
    });
    const { authority } = await resolveAuthority(host, { place, agent: reviewer });
    assert.deepEqual(authority.ancestors, ['coder_t']);
    assert.equal(authority.view.locate('/inner/x')?.host, join(data, 'inner/x'));
    assert.deepEqual([authority.view.accessTo('/inner/x'), authority.view.accessTo('/data/x')], ['read', 'none']);
  });

  it('is refused with everything that it asks for beyond its parent', async () => {
    agent('coder', { policyText: rules('coder_t'), mountText: `${data}\t/data\tro\trbind\n` });
    const reviewer = agent('reviewer', {
      parent,
      policyText: 'allow reviewer_t tool:fs.write execute\nallow reviewer_t network:default connect\n',
      mountText: '/data\t/data\trw\trbind\n/elsewhere\t/e\tro\t-\n',
      toolPath: ['/ctx/other'],
      quota: { memory: 1 },
    });
    const reason = await refusal('EACCES', () => resolveAuthority(host, { place, agent: reviewer }));
    for (const part of [
      'tool:fs.write execute',
      'network:default connect',
      'only reads /data',
      '/elsewhere',
      '/ctx/other',
    ]) {
      assert.ok(reason.includes(part), `${part}: ${reason}`);
    }
  });

  it('shrinks with its parent, and sees the workspace as the parent does', async () => {
    agent('coder', { policyText: rules('coder_t') });
    const reviewer = agent('reviewer', { parent, policyText: 'allow reviewer_t tool:fs.read execute\n' });
    await resolveAuthority(host, { place, agent: reviewer });
    agent('coder');
    await refusal('EACCES', () => resolveAuthority(host, { place, agent: reviewer }));
    agent('coder', { policyText: rules('coder_t'), mountText: `${origin}\t${origin}\tro\trbind\n` });
    const { authority } = await resolveAuthority(host, { place, agent: reviewer });
    assert.equal(authority.view.accessTo(join(origin, 'x')), 'read');
  });

  it('is refused where its line does not end', async () => {
    agent('coder', { parent: { agent: 'reviewer' } });
    const reviewer = agent('reviewer', { parent });
    assert.match(
      await refusal('EINVAL', () => resolveAuthority(host, { place, agent: reviewer })),
      /has a parent cycle/,
    );
  });

  it('names the agent of its line that exceeds its own parent, and only what that one asks for', async () => {
    agent('coder', { policyText: rules('coder_t') });
    const middle = 'allow middle_t tool:fs.write execute\n';
    agent('middle', { parent, policyText: middle });
    const last = agent('last', { parent: { agent: 'middle' }, policyText: 'allow last_t tool:other execute\n' });
    const reason = await refusal('EACCES', () => resolveAuthority(host, { place, agent: last }));
    assert.match(reason, /^agent middle, which it descends from, asks for more than its parent coder has: .*fs\.write/);
    assert.doesNotMatch(reason, /tool:other/);
    agent('middle', { parent });
    const own = await refusal('EACCES', () => resolveAuthority(host, { place, agent: last }));
    assert.match(own, /^it asks for more than its parent middle has: .*tool:other/);
  });

  it('shares the isolation of its parent, and has another one only where that has none', async () => {
    const { identity } = agent('x');
    agent('coder', { identity: { ...identity, label: agent('coder').identity.label, isolation: 'uid' } });
    const isolationOf = async (isolation: 'shared' | 'uid' | 'userns') => {
      const own = { ...agent('reviewer').identity, isolation };
      const reviewer = agent('reviewer', { parent, identity: own });
      return (await resolveAuthority(host, { place, agent: reviewer })).authority.identity.isolation;
    };
    assert.deepEqual([await isolationOf('shared'), await isolationOf('uid')], ['uid', 'uid']);
    await refusal('EACCES', () => isolationOf('userns'));
    agent('coder', { identity: { ...agent('coder').identity, isolation: 'userns' } });
    await refusal('EACCES', () => isolationOf('uid'));
    agent('coder', { identity: { ...agent('coder').identity, isolation: 'shared' } });
    assert.deepEqual([await isolationOf('uid'), await isolationOf('userns')], ['uid', 'userns']);
  });

  it('has what a supervisor granted it beyond its parent, exactly, and carries it', async () => {
    agent('coder', { policyText: rules('coder_t') });
    const excess = { kind: 'permission', rule: 'tool:deploy execute' } as const;
    const asked = { parent, policyText: 'allow reviewer_t tool:deploy execute\n' };
    const granted = agent('reviewer', { ...asked, supervised: [{ by: 'operator:0', excess }] });
    const { authority } = await resolveAuthority(host, { place, agent: granted });
    assert.deepEqual(authority.supervised, [{ by: 'operator:0', excess }]);
    const other = agent('reviewer', {
      ...asked,
      supervised: [{ by: 'operator:0', excess: { ...excess, rule: 'tool:deploy2 execute' } }],
    });
    await refusal('EACCES', () => resolveAuthority(host, { place, agent: other }));
  });
});

describe('what an agent reads besides', () => {
  const api = join(base, 'api');

  function listSiblings(): void {
    mkdirSync(join(api, '.git'), { recursive: true });
    mkdirSync(join(origin, '.ctx'), { recursive: true });
    const repositories = [{ path: '.' }, { path: '../api' }];
    writeFileSync(join(origin, '.ctx/workspace.json'), JSON.stringify({ version: 0, repositories }));
  }

  it('is in its additional_reads and sibling_reads, and nothing of it for others', async () => {
    listSiblings();
    const at = { ...host, environment: { PATH: '/usr/bin', GOPATH: data } };
    const coder = agent('coder', { additionalReads: ['$GOPATH/inner', '/no/such', '$GOROOT/x'], siblingReads: 'all' });
    const { authority, warnings } = await resolveAuthority(at, { place, agent: coder });
    assert.deepEqual(authority.surface.additionalReads, [join(data, 'inner')]);
    assert.deepEqual(authority.surface.siblingReads, [api]);
    const said = warnings.join('\n');
    assert.match(said, /skipped additional_reads of agent coder \$GOROOT\/x: GOROOT is not set/);
    assert.match(said, /skipped additional_reads of agent coder \/no\/such: there is no such path/);
    assert.doesNotMatch(said, /asks to show/);
    const other = await resolveAuthority(at, { place, agent: agent('other') });
    assert.deepEqual([other.authority.surface.additionalReads, other.authority.surface.siblingReads], [[], []]);
    assert.match(other.warnings.join('\n'), /asks to show .*api/);
  });

  it('is, for a child, within what its parent reads', async () => {
    listSiblings();
    const parent = { agent: 'coder' };
    const inner = join(data, 'inner');
    agent('coder', { additionalReads: [data], siblingReads: 'all' });
    const plain = await resolveAuthority(host, { place, agent: agent('reviewer', { parent }) });
    assert.deepEqual([plain.authority.view.accessTo(inner), plain.authority.view.accessTo(api)], ['none', 'none']);
    const asking = agent('reviewer', { parent, additionalReads: [inner], siblingReads: 'all' });
    const { authority } = await resolveAuthority(host, { place, agent: asking });
    assert.deepEqual(
      [inner, data, api].map((path) => authority.view.accessTo(path)),
      ['read', 'none', 'read'],
    );
    agent('coder');
    const reason = await refusal('EACCES', () => resolveAuthority(host, { place, agent: asking }));
    assert.match(reason, /does not see .*inner/);
    assert.match(reason, /does not see .*api/);
  });
});

describe('mounts, where the policy names any', () => {
  const mountText = `${data}\t/data\trw\trbind\n${join(data, 'inner')}\t/inner\tro\trbind\n`;

  it('need the permission to be shown, and to be written', async () => {
    const accessOf = async (policyText: string) => {
      const { authority, warnings } = await resolveAuthority(host, {
        place,
        agent: agent('coder', { policyText, mountText }),
      });
      return [authority.view.accessTo('/data/x'), authority.view.accessTo('/inner/x'), warnings.join('\n')];
    };
    assert.deepEqual((await accessOf('')).slice(0, 2), ['write', 'read']);
    const [readOnly, gone, said] = await accessOf('allow coder_t mount:data read\n');
    assert.deepEqual([readOnly, gone], ['read', 'none']);
    assert.match(said ?? '', /left out the mount at \/inner.*`allow coder_t mount:inner read`/);
    assert.match(said ?? '', /read-only, though.* \/data: .*`allow coder_t mount:data write`/);
    const both = 'allow coder_t mount:data write\nallow coder_t mount:inner read\n';
    assert.deepEqual((await accessOf(both)).slice(0, 2), ['write', 'read']);
  });

  it('are not left out where that would show what they cover', async () => {
    mkdirSync(join(origin, 'secret'), { recursive: true });
    const cover = `${join(data, 'inner')}\t${join(origin, 'secret')}\tro\trbind\n`;
    const coder = agent('coder', { policyText: 'allow coder_t mount:data read\n', mountText: `${mountText}${cover}` });
    const reason = await refusal('EACCES', () => resolveAuthority(host, { place, agent: coder }));
    assert.match(reason, /not permitted, and leaving it out would show other files there/);
  });

  it("narrow a child's, whose parent names none", async () => {
    agent('coder', { mountText });
    const reviewer = agent('reviewer', {
      parent: { agent: 'coder' },
      policyText: 'allow reviewer_t mount:data read\n',
      mountText: '/data\t/data\trw\trbind\n/inner\t/inner\tro\trbind\n',
    });
    const { authority } = await resolveAuthority(host, { place, agent: reviewer });
    assert.deepEqual([authority.view.accessTo('/data/x'), authority.view.accessTo('/inner/x')], ['read', 'none']);
    agent('coder', { mountText, policyText: 'allow coder_t mount:inner read\n' });
    await refusal('EACCES', () => resolveAuthority(host, { place, agent: reviewer }));
  });
});
