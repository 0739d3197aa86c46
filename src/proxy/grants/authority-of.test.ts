import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Agent } from '../../authority/agent.js';
import { printLabel } from '../../authority/label.js';
import { agent, base, configuration, data, host, origin, place, refusal, store } from './authority-fixture.js';
import { resolveAuthority } from './authority-of.js';
import { jailIdentity } from './jail-identity.js';
import { assertRunnable } from './runnable.js';

describe('the authority of a command', () => {
  it('has nothing of what ctx keeps for itself, however it is asked for, and says what was left out', async () => {
    const inner = join(store, 'inner');
    mkdirSync(inner, { recursive: true });
    for (const path of [store, inner]) {
      for (const [option, given] of [
        ['--read', { reads: [path, data] }],
        ['--write', { writes: [path, data] }],
        ['--write-live', { liveWrites: [path, data] }],
      ] as const) {
        const { authority, roots, live, warnings } = await resolveAuthority(host, { place, ...given });
        assert.deepEqual([authority.view.accessTo(path), authority.view.covering(path)], ['none', undefined], option);
        assert.notEqual(authority.view.accessTo(data), 'none');
        assert.ok(![...roots, ...live].some((each) => each.startsWith(store)));
        const told = warnings.filter((text) => text.startsWith('skipped --') && text.includes(path));
        assert.equal(told.length, 1, `${option} ${warnings.join()}`);
      }
    }
  });

  it('writes no directory that holds what ctx keeps for itself, whoever asks for it, and under no other name', async () => {
    const refused = async (request: Parameters<typeof resolveAuthority>[1]) =>
      assert.match(await refusal('EINVAL', () => resolveAuthority(host, request)), /hold the files of ctx itself/);
    for (const given of [{ writes: [base] }, { liveWrites: [base] }]) await refused({ place, ...given });
    const line = (mode: string) => `${base}\t/all\t${mode}\trbind\n`;
    const policyText = 'allow coder_t agent:child create\n';
    await refused({ place, agent: agent('coder', { mountText: line('rw') }) });
    const file = join(configuration, 'agents.toml');
    writeFileSync(file, `[agent.container]\nmounts = [{ source = "${base}", target = "/all", mode = "rw" }]\n`);
    await refused({ place });
    writeFileSync(file, '');
    const supervised = { kind: 'hidden path', source: base, target: '/all', mode: 'rw', host: base } as const;
    agent('coder', { policyText });
    const child = agent('child', {
      ...{ parent: { agent: 'coder' }, mountText: line('rw') },
      supervised: [{ by: 'operator:1000', excess: supervised }],
    });
    await refused({ place, agent: child });
    const reads = await resolveAuthority(host, { place, agent: agent('coder', { mountText: line('ro') }) });
    assert.equal(reads.authority.view.accessTo('/all/store'), 'none');
    assert.equal(reads.authority.view.accessTo('/all/data/x'), 'read');
  });

  it('is, without an agent, the directory and the system, for a type of its own and without any permission', async () => {
    const { authority, digest, warnings, live } = await resolveAuthority(host, { place });
    assert.equal(printLabel(authority.identity.label), 'user_u:agent_r:exec_t:s0');
    assert.deepEqual([authority.policy.rules, authority.network.kind, warnings, live], [[], 'none', [], []]);
    assert.equal(authority.view.accessTo(join(origin, 'x')), 'write');
    assert.equal(authority.view.accessTo('/usr/bin/env'), 'read');
    assert.equal(authority.view.accessTo('/etc/shadow'), 'none');
    assert.equal(authority.view.accessTo(store), 'none');
    assert.match(digest, /^sha256:[0-9a-f]{64}$/);
    assert.equal((await resolveAuthority(host, { place })).digest, digest);
  });

  it('has what a task adds, says what is missing and what cannot be undone, and never shows what is hidden', async () => {
    const request = { place, reads: [data, 'gone', join(store, '.')], liveWrites: [join(data, 'inner')] };
    const { authority, warnings, live } = await resolveAuthority(host, request);
    assert.equal(authority.view.accessTo(join(data, 'x')), 'read');
    assert.equal(authority.view.accessTo(join(data, 'inner/x')), 'write');
    assert.deepEqual(live, [join(data, 'inner')]);
    assert.match(warnings.join('\n'), /skipped --read gone.*\nskipped --read .*store.*\n.*inner is written directly/);
    const forked = await resolveAuthority(host, { place, writes: [join(data, 'inner'), data] });
    assert.deepEqual([forked.roots, forked.live], [[data], []]);
    assert.equal((await resolveAuthority(host, { place, reads: [base] })).authority.view.accessTo(store), 'none');
  });

  it('has the mounts of the operator beside the surface, which wins, or none where the mode is exclusive', async () => {
    const file = join(configuration, 'agents.toml');
    const mounts = `mounts = [{ source = "${data}", target = "/data" }, { source = "${data}", target = "${origin}" }, { source = "/no/such" }]`;
    writeFileSync(file, `[agent.container]\n${mounts}\n`);
    const additive = await resolveAuthority(host, { place });
    assert.equal(additive.authority.view.accessTo('/data/x'), 'read');
    assert.equal(additive.authority.view.accessTo(origin), 'write');
    assert.match(additive.warnings.join('\n'), /no such path\ndropped the operator's mount .* holds this target as rw/);
    writeFileSync(file, `[agent.container]\nsurface_mode = "exclusive"\n${mounts}\n`);
    const exclusive = await resolveAuthority(host, { place });
    assert.equal(exclusive.authority.view.accessTo('/data/x'), 'none');
    assert.match(exclusive.warnings.join('\n'), /surface_mode is exclusive/);
    writeFileSync(file, '[agent.container]\nsurface_mode = "exlusive"\n');
    assert.match(await refusal('EINVAL', () => resolveAuthority(host, { place })), /surface_mode|exlusive/);
    writeFileSync(file, '[agent\n');
    assert.match(
      await refusal('EINVAL', () => resolveAuthority(host, { place })),
      /agents\.toml:\d+:\d+: expected TOML/,
    );
  });

  it('has an agent’s own mount in the place of the operator’s at the same target, once, and says so', async () => {
    const mounts = `mounts = [{ source = "${data}", target = "/data" }, { source = "${data}", target = "/other" }]`;
    writeFileSync(join(configuration, 'agents.toml'), `[agent.container]\n${mounts}\n`);
    const coder = agent('coder', { mountText: `${join(data, 'inner')}\t/data\tro\trbind\n` });
    const { authority, warnings } = await resolveAuthority(host, { place, agent: coder });
    assert.deepEqual(
      ['/data', '/other'].map((at) => authority.view.locate(at)?.host),
      [join(data, 'inner'), data],
    );
    assert.equal(authority.mounts.filter(({ target }) => target === '/data').length, 1);
    assert.match(
      warnings.join('\n'),
      /^dropped the operator's mount at \/data: the agent's mount file holds this target$/,
    );
  });

  it('takes variables of the closed set in paths, and says which path one that is not set has cost', async () => {
    const at = { ...host, home: data, environment: { PATH: '/usr/bin', GOPATH: join(data, 'inner'), SECRET: data } };
    const reads = ['$GOPATH', '$HOME/inner', '$GOROOT/x', '$SECRET'];
    const { authority, warnings } = await resolveAuthority(at, { place, reads });
    assert.deepEqual(authority.surface.additionalReads, [join(data, 'inner')]);
    assert.match(warnings.join('\n'), /skipped --read \$GOROOT\/x: GOROOT is not set\n/);
    assert.match(warnings.join('\n'), /skipped --read \$SECRET: there is no such path/);
    const written = await resolveAuthority(at, { place, writes: ['$HOME/inner'] });
    assert.deepEqual(written.roots, [join(data, 'inner')]);
    writeFileSync(
      join(configuration, 'agents.toml'),
      '[agent.container]\nmounts = [{ source = "$GOPATH", target = "/go" }, { source = "$CARGO_HOME" }]\n',
    );
    const mounted = await resolveAuthority(at, { place });
    assert.equal(mounted.authority.view.locate('/go/x')?.host, join(data, 'inner/x'));
    assert.match(mounted.warnings.join('\n'), /dropped \$CARGO_HOME in .*agents\.toml: CARGO_HOME is not set/);
  });

  it('has of a project exactly what was confirmed, whatever variables and links make of its name meanwhile', async () => {
    const at = { ...host, environment: { PATH: '/usr/bin', USER: 'ada' } };
    const [named, led, linked] = [join(origin, '$USER'), join(origin, 'ada'), join(origin, 'linked')];
    mkdirSync(named);
    symlinkSync(data, led);
    symlinkSync(data, linked);
    const exact = (path: string, target = path) => ({ path, target });
    const confirmed = [exact(named), exact(linked), exact(led, data), exact(store)];
    const { authority, warnings, links } = await resolveAuthority(at, { place, confirmed });
    assert.deepEqual(authority.surface.additionalReads, [named, data].sort());
    assert.match(
      warnings.join('\n'),
      new RegExp(`skipped reading ${linked} .*it led to ${linked} when.*\n.*${store}: ctx keeps`),
    );
    assert.deepEqual(
      links.filter(({ path }) => path.startsWith(origin)),
      [],
    );
    const outside = join(base, 'outside');
    symlinkSync(data, outside);
    const beside = await resolveAuthority(at, { place, confirmed: [exact(outside, data)] });
    assert.deepEqual(
      beside.links.filter(({ path }) => path === outside),
      [{ path: outside, target: data }],
    );
    for (const path of [led, linked, outside]) rmSync(path);
    rmSync(named, { recursive: true });
  });

  it('forks the repository of a worktree as it was found, whatever variables make of its name, and no link in its place', async () => {
    const at = { ...host, environment: { PATH: '/usr/bin', USER: 'ada' } };
    const [named, led] = [join(base, '$USER'), join(base, 'ada')];
    mkdirSync(named);
    symlinkSync(data, led);
    const { roots } = await resolveAuthority(at, { place, repositories: [named, led] });
    assert.deepEqual(roots, [named]);
    for (const path of [led, named]) rmSync(path, { recursive: true });
  });

  it("says where an operator's read-only mount covers what could be written, and names the file of a fault", async () => {
    const file = join(configuration, 'agents.toml');
    const mounts = (target: string, mode: string) =>
      writeFileSync(
        file,
        `[agent.container]\nmounts = [{ source = "${data}", target = "${target}", mode = "${mode}" }]\n`,
      );
    mounts(join(origin, 'docs'), 'ro');
    const { authority, warnings } = await resolveAuthority(host, { place });
    assert.equal(authority.view.accessTo(join(origin, 'docs/x')), 'read');
    assert.match(warnings.join('\n'), /docs shows .*data, read-only, by the operator's mount: it cannot be written/);
    mounts('/proc/x', 'ro');
    assert.match(await refusal('EINVAL', () => resolveAuthority(host, { place })), /agents\.toml/);
    mounts('/x', 'rx');
    assert.match(
      await refusal('EINVAL', () => resolveAuthority(host, { place })),
      /config\/agents\.toml: .*mounts\[0\]/,
    );
  });

  it('shows sibling repositories of the workspace when asked, read-only, and only those that are some', async () => {
    mkdirSync(join(base, 'api/.git'), { recursive: true });
    mkdirSync(join(origin, '.ctx'));
    const repositories = [{ path: '.' }, { path: '../api' }, { path: '../data' }];
    writeFileSync(join(origin, '.ctx/workspace.json'), JSON.stringify({ version: 0, repositories }));
    const unasked = await resolveAuthority(host, { place });
    assert.equal(unasked.authority.view.accessTo(join(base, 'api/x')), 'none');
    assert.match(unasked.warnings.join('\n'), /asks to show .*api/);
    const { authority, warnings } = await resolveAuthority(host, { place, siblings: true });
    rmSync(join(origin, '.ctx'), { recursive: true });
    assert.equal(authority.view.accessTo(join(base, 'api/x')), 'read');
    assert.equal(authority.view.accessTo(join(data, 'x')), 'none');
    assert.equal(authority.view.accessTo(join(origin, '.ctx/workspace.json')), 'read');
    assert.match(warnings.join('\n'), /dropped .*data/);
  });

  it('is an agent as its files say', async () => {
    const coder = agent('coder', {
      policyText: 'allow coder_t network:default connect\n',
      mountText: `${data}\t/data\trw\trbind\n/no/such\t/x\tro\t-\n`,
    });
    const { authority, live, warnings } = await resolveAuthority(host, { place, agent: coder });
    assert.equal(authority.network.kind, 'any public');
    assert.deepEqual(authority.view.locate('/data/x')?.host, join(data, 'x'));
    assert.deepEqual(live, ['/data']);
    assert.match(warnings.join('\n'), /skipped the mount of \/no\/such in agent coder/);
  });
});

describe('an agent that root runs', () => {
  const ofRoot = { ...host, uid: 0, gid: 0, groups: [] };
  const shiftedPlace = { ...place, owner: { uid: 1000, gid: 1000, shift: 1 << 30 } };
  const { identity } = agent('x');

  async function runs(given: Partial<Agent['identity']>) {
    const coder = agent('coder', { identity: { ...identity, ...given } });
    const resolved = await resolveAuthority(ofRoot, { place: shiftedPlace, agent: coder });
    assertRunnable(ofRoot, shiftedPlace, resolved);
    return jailIdentity(shiftedPlace.owner, resolved);
  }

  it('is the owner of the workspace, shifted, with its own groups', async () => {
    const expected = { kind: 'shifted', uid: 1000, gid: 1000, shift: 1 << 30, groups: [4, 5] };
    assert.deepEqual(await runs({ groups: [5, 4] }), expected);
    const outside = { uid: 1000, gid: 1000 };
    const numbered = { ...expected, uid: 77, gid: 78, outside };
    assert.deepEqual(await runs({ groups: [5, 4], isolation: 'userns', uid: 77, gid: 78 }), numbered);
    for (const own of [1000, 0]) {
      const { uid, gid } = await runs({ isolation: 'userns', uid: own, gid: own });
      assert.ok(uid >= 0x0e000000 && uid < 0x0ffe0000 && gid === uid);
    }
  });

  it('has a uid of its own where it says so, and then the fork is shown as its own', async () => {
    assert.deepEqual(await runs({ isolation: 'uid', uid: 77, gid: 78 }), {
      kind: 'shifted',
      uid: 77,
      gid: 78,
      shift: 1 << 30,
      owner: { uid: 1000, gid: 1000 },
    });
    assert.equal('owner' in (await runs({ isolation: 'uid' })), false);
  });

  it('is refused where its ids are not to be had', async () => {
    await refusal('EPERM', () => runs({ uid: 77 }));
    await refusal('EINVAL', () => runs({ uid: 2 ** 31, isolation: 'userns' }));
    await refusal('EINVAL', () => runs({ uid: 2 ** 31, isolation: 'uid' }));
    await refusal('EINVAL', () => runs({ groups: [2 ** 31] }));
  });
});

describe('an agent with ids of its own, run by a person', () => {
  it('has those of its files, or numbers that are always the same and nobody’s', async () => {
    const { identity } = agent('x');
    const ids = async (name: string, given: Partial<Agent['identity']>) => {
      const made = agent(name, { identity: { ...identity, isolation: 'userns', ...given } });
      return jailIdentity(place.owner, await resolveAuthority(host, { place, agent: made }));
    };
    assert.deepEqual(await ids('coder', { uid: 77, gid: 78 }), { kind: 'self', uid: 77, gid: 78 });
    const coder = await ids('coder', {});
    assert.deepEqual(await ids('coder', {}), coder);
    assert.notDeepEqual(await ids('reviewer', {}), coder);
    assert.ok(coder.uid >= 0x60000000 && coder.uid < 2 ** 31 && coder.gid === coder.uid);
    assert.deepEqual(await ids('coder', { isolation: 'shared' }), { kind: 'self', uid: 1000, gid: 1000 });
  });
});

describe('an agent that this jail cannot hold', () => {
  async function runs(given: Partial<Agent>): Promise<void> {
    const resolved = await resolveAuthority(host, { place, agent: agent('coder', given) });
    assertRunnable(host, place, resolved);
  }
  const identity = agent('x').identity;

  it('is refused by what it asks for', async () => {
    await runs({});
    await runs({ quota: { wallTime: 5, memory: 5, pids: 5, cpu: 0.5, disk: 5, inodes: 5 } });
    assert.match(await refusal('ENOTSUP', () => runs({ identity: { ...identity, isolation: 'uid' } })), /^iso uid/);
    await runs({ identity: { ...identity, isolation: 'userns', uid: 77, gid: 78 } });
    await runs({ identity: { ...identity, groups: [44] } });
    assert.match(await refusal('ENOTSUP', () => runs({ identity: { ...identity, groups: [44, 45] } })), /^groups 45: /);
    await refusal('EACCES', () => runs({ lifetime: { expiresAt: 5 } }));
    await refusal('EACCES', () => runs({ cwd: '/nowhere' }));
    await refusal('EPERM', () => runs({ identity: { ...identity, uid: 1001 } }));
  });
});
