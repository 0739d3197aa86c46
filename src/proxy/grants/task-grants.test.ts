/** What a task is given beside an agent's files, and what it is refused. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lineageDepth } from '../../base/limits/objects.js';
import { shiftedCount } from '../../jail/id-maps.js';
import { agent, base, data, host, origin, place, refusal, store } from './authority-fixture.js';
import { type AuthorityRequest, resolveAuthority, type TaskGrants } from './authority-of.js';
import { lineageOf } from './line-authority.js';

const resolved = (request: Partial<AuthorityRequest>) => resolveAuthority(host, { place, ...request });
const granted = async (grants: Partial<TaskGrants>, owner = place.owner) =>
  (await resolveAuthority(host, { place: { ...place, owner }, grants: { network: [], quota: {}, ...grants } }))
    .authority;

describe('what a task without an agent is granted', () => {
  it('is the network that was named, with the permission to connect, and the limits', async () => {
    const none = await granted({});
    assert.deepEqual([none.network.kind, none.policy.rules, none.quota], ['none', [], {}]);
    const any = await granted({ network: ['any', 'a.org:443'], quota: { pids: 5 } });
    assert.deepEqual([any.network.kind, any.quota], ['any public', { pids: 5 }]);
    const connect = ['exec_t', 'network', 'default', 'connect'];
    const rules = ({ policy }: typeof any) =>
      policy.rules.map((rule) => [rule.subject, rule.class, rule.name, rule.permission]);
    assert.deepEqual(rules(any), [connect]);
    const hosts = await granted({ network: ['a.org:443'] });
    assert.deepEqual([hosts.network, rules(hosts)], [{ kind: 'hosts', hosts: ['a.org:443'] }, [connect]]);
  });

  it('is a user of its own inside, whose numbers fit', async () => {
    const identity = async (user: NonNullable<TaskGrants['user']>, owner = place.owner) => {
      const { uid, gid, isolation } = (await granted({ user }, owner)).identity;
      return [uid, gid, isolation];
    };
    const plain = (await granted({})).identity;
    assert.deepEqual([plain.uid, plain.gid, plain.isolation], [1000, 1000, 'shared']);
    assert.deepEqual(await identity({ uid: 5 }), [5, 5, 'userns']);
    assert.deepEqual(await identity({ uid: 5, gid: 0 }), [5, 0, 'userns']);
    const shifted = { ...place.owner, shift: 1 << 30 };
    for (const [owner, most] of [
      [place.owner, 0xffff_fffe],
      [shifted, shiftedCount - 1],
    ] as const) {
      assert.deepEqual(await identity({ uid: most, gid: 1 }, owner), [most, 1, 'userns']);
      for (const user of [{ uid: most + 1 }, { uid: 1, gid: most + 1 }, { uid: -1 }, { uid: 1, gid: -1 }, { uid: 1.5 }])
        await refusal('EINVAL', () => identity(user, owner));
    }
  });

  it('is not given to an agent, whose files say it', async () => {
    const coder = agent('coder');
    const asks = (grants: Partial<TaskGrants>) =>
      resolved({ agent: coder, grants: { network: [], quota: {}, ...grants } });
    await asks({});
    for (const grants of [{ network: ['any'] }, { quota: { pids: 5 } }, { user: { uid: 5 } }])
      await refusal('EINVAL', () => asks(grants));
  });
});

describe('paths of a task', () => {
  it('are in the fork where they are directories of the host, apart from the workspace and each other', async () => {
    const file = join(base, 'file');
    writeFileSync(file, '');
    for (const [writes, liveWrites, roots, live] of [
      [[data], [], [data], []],
      [[data, join(data, 'inner')], [], [data], []],
      [[file], [], [], [file]],
      [[join(origin, 'sub')], [], [], []],
      [[], [data], [], [data]],
      [[data], [data], [], [data]],
      [[data], [join(data, 'inner')], [data], []],
    ] as const) {
      mkdirSync(join(origin, 'sub'), { recursive: true });
      const found = await resolved({ writes, liveWrites });
      assert.deepEqual([found.roots, found.live], [roots, live], JSON.stringify({ writes, liveWrites }));
      assert.equal(found.warnings.length, live.length, found.warnings.join('\n'));
    }
    rmSync(file);
  });

  it('are known by the links that name them, too, and follow none that an agent could have made', async () => {
    const [read, written] = [join(base, 'read-link'), join(base, 'write-link')];
    symlinkSync(data, read);
    symlinkSync(join(data, 'inner'), written);
    const { links, authority, roots } = await resolved({ reads: [read], writes: [written] });
    const own = links.filter(({ path }) => path.startsWith(base));
    assert.deepEqual(own.map(({ path }) => path).sort(), [read, written].sort());
    assert.deepEqual([authority.view.accessTo(join(data, 'x')), roots], ['read', [join(data, 'inner')]]);
    const coder = agent('coder', { additionalReads: [read] });
    const ofAgent = await resolved({ agent: coder });
    assert.deepEqual(ofAgent.links.filter(({ path }) => path === read).length, 1);
    assert.equal(ofAgent.authority.view.accessTo(join(data, 'x')), 'read');
    const both = await resolved({ agent: coder, reads: [join(base, 'home')] });
    assert.equal(both.authority.view.accessTo(join(data, 'x')), 'read');
    for (const path of [read, written]) rmSync(path);
  });

  it('are never what the kernel or ctx keeps: not those, and not a directory around them to write', async () => {
    for (const path of ['/', '/proc', '/proc/self', '/sys', '/dev', '/dev/null'])
      for (const option of ['reads', 'writes', 'liveWrites'] as const)
        await refusal('EINVAL', () => resolved({ [option]: [path] }));
    for (const option of ['writes', 'liveWrites'] as const)
      await refusal('EINVAL', () => resolved({ [option]: [base] }));
    for (const option of ['reads', 'writes', 'liveWrites'] as const) {
      const { warnings, authority } = await resolved({ [option]: [join(store, '.')] });
      assert.match(warnings.join('\n'), /ctx keeps its own files there/, option);
      assert.equal(authority.view.accessTo(store), 'none');
    }
    assert.equal((await resolved({ reads: [base] })).authority.view.accessTo(store), 'none');
  });
});

describe('the line of an agent', () => {
  it('ends at the one that a person made, is no circle, and is only so long', async () => {
    const parentOf = (name: string) => ({ parent: { agent: name } }) as unknown as Parameters<typeof agent>[1];
    agent('a0');
    for (let count = 1; count <= lineageDepth + 1; count += 1) agent(`a${count}`, parentOf(`a${count - 1}`));
    const names = async (name: string) => (await lineageOf(host, await host.agents(name))).map((each) => each.name);
    assert.deepEqual(await names('a2'), ['a0', 'a1', 'a2']);
    assert.equal((await names(`a${lineageDepth}`)).length, lineageDepth + 1);
    await refusal('EINVAL', () => names(`a${lineageDepth + 1}`));
    for (const circle of [
      ['x', 'x'],
      ['x', 'y'],
    ] as const) {
      agent(circle[0], parentOf(circle[1]));
      agent(circle[1], parentOf(circle[0]));
      agent('below', parentOf('x'));
      await refusal('EINVAL', () => names('below'));
    }
  });

  it('mounts no other agent’s home, whoever of the line asks for it, and no space that it may not read', async () => {
    const foreign = '/ctx/home/1000/agent/eve\t/x\tro\t-\n';
    await refusal('EACCES', () => resolved({ agent: agent('ada', { mountText: foreign }) }));
    const parent = { agent: 'ada' } as never;
    agent('ada');
    await refusal('EACCES', () => resolved({ agent: agent('kid', { parent, mountText: foreign }) }));
    const space = '/ctx/shared/team\t/x\tro\t-\n';
    await refusal('EACCES', () => resolved({ agent: agent('ada', { mountText: space }) }));
    const policyText = 'allow ada_t shared:team read\n';
    const { authority } = await resolved({ agent: agent('ada', { mountText: space, policyText }) });
    assert.equal(
      authority.mounts.some(({ target }) => target === '/x'),
      true,
    );
  });
});
