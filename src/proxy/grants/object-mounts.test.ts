import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import type { Authority } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import type { Mount } from '../../authority/mount.js';
import { parsePolicy } from '../../authority/policy.js';
import type { ViewEntry } from '../../authority/view.js';
import { nativeProgram } from '../../base/native-program.js';
import type { JailIdentity, JailView } from '../../jail/plan.js';
import { openStore } from '../../vault/store/store.js';
import { Tree } from '../../vault/tree/tree.js';
import { agentHomeDirectory, homesIn, prepareAgentHome, removeAgentHome } from './agent-home.js';
import { objectMounts, refuseForeignHomes, refuseUnsharedSpaces } from './object-mounts.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-objects-')));
after(() => rmSync(base, { recursive: true, force: true }));
const tree = new Tree({ program: nativeProgram('tree') });
const [root, system] = [join(base, 'root'), join(base, 'system')];
const places = { roots: [root, system], line: ['ada', 'bob'] } as const;
const home = (agent: string) => agentHomeDirectory(root, 1000, agent);
const isRoot = process.geteuid?.() === 0;

beforeEach(() => {
  rmSync(base, { recursive: true, force: true });
  for (const agent of ['ada', 'bob', 'eve']) mkdirSync(join(home(agent), 'data'), { recursive: true });
  for (const directory of [join(root, 'shared/own/docs'), join(system, 'shared/team/tool')])
    mkdirSync(directory, { recursive: true });
  mkdirSync(join(root, 'shared'), { recursive: true });
  writeFileSync(join(root, 'shared/team'), 'no directory');
});

function mounted(source: string, access: ViewEntry['access'], target = '/x') {
  return objectMounts(places, [{ of: 'objects', source, target, access, options: [] } as unknown as ViewEntry]);
}
const identityOf = (path: string) => {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return `${dev}:${ino}`;
};

describe('what a mount line shows of the objects', () => {
  it('is the home, of which what its owner keeps is read-only, whatever the line says', () => {
    const directory = home('ada');
    const identity = identityOf(directory);
    const source = '/ctx/home/1000/agent/ada';
    const kept = ['/x/session', '/x/log', '/x/root'];
    const whole = { source: directory, target: '/x', access: 'read write', identity };
    assert.deepEqual(mounted(source, 'write'), { shared: [whole], readOnly: kept, links: [] });
    assert.deepEqual(readdirSync(directory).sort(), ['data', 'log', 'root', 'session'], 'made before the agent could');
    assert.deepEqual(mounted(source, 'read'), { shared: [whole], readOnly: ['/x'], links: [] });
    for (const part of ['session', 'log', 'root', 'session/deep']) {
      mkdirSync(join(directory, part), { recursive: true });
      const { shared, readOnly } = mounted(`${source}/${part}`, 'write');
      assert.deepEqual([shared[0]?.access, readOnly], ['read write', ['/x']], part);
    }
    for (const part of ['data', 'sessions']) {
      mkdirSync(join(directory, part), { recursive: true });
      assert.deepEqual(mounted(`${source}/${part}`, 'write').readOnly, [], part);
      assert.deepEqual(mounted(`${source}/${part}`, 'write').shared[0]?.source, join(directory, part));
    }
  });

  it('is a space, the user’s own or the system’s, whose objects are read-only', () => {
    const own = join(root, 'shared/own');
    const { shared, readOnly } = mounted('/ctx/shared/own', 'write', '/y');
    assert.deepEqual(shared, [{ source: own, target: '/y', access: 'read write', identity: identityOf(own) }]);
    assert.deepEqual(readOnly, ['/y/tool', '/y/agent', '/y/model']);
    assert.deepEqual(readdirSync(own).sort(), ['agent', 'docs', 'model', 'tool']);
    for (const [path, access, expected] of [
      ['own', 'read', 'read only'],
      ['own/tool', 'write', 'read only'],
      ['own/agent', 'write', 'read only'],
      ['own/model', 'write', 'read only'],
      ['own/docs', 'write', 'read write'],
      ['own/docs', 'read', 'read only'],
      ['team', 'read', 'read only'],
    ] as const) {
      const found = mounted(`/ctx/shared/${path}`, access);
      assert.deepEqual([found.shared[0]?.access, found.readOnly, found.links], [expected, [], []], `${path} ${access}`);
    }
    assert.equal(mounted('/ctx/shared/team', 'read').shared[0]?.source, join(system, 'shared/team'));
    assert.equal(existsSync(join(system, 'shared/team/agent')), false, 'nothing is made where nothing is written');
  });

  it('is a link into the view for everything else, unless it is there already', () => {
    const link = { shared: [], readOnly: [], links: [{ path: '/x', target: '/ctx/tool' }] };
    assert.deepEqual(mounted('/ctx/tool', 'read'), link);
    for (const source of [
      '/ctx/home',
      '/ctx/home/01000/agent/ada',
      '/ctx/home/1000/agent',
      '/ctx/home/1000/agent/-x',
      '/ctx/shared',
      '/ctx/shared/-x',
    ]) {
      assert.deepEqual(mounted(source, 'write').links, [{ path: '/x', target: source }], source);
    }
    assert.deepEqual(mounted('/ctx/tool', 'read', '/ctx/tool').links, []);
    assert.deepEqual(mounted('/ctx/tool', 'read', '/ctx/mine').links, []);
    const others = [{ of: 'host', source: '/ctx/shared/own', target: '/x', access: 'read' }] as unknown as ViewEntry[];
    assert.deepEqual(objectMounts(places, others), { shared: [], readOnly: [], links: [] });
  });

  it('is nothing of an agent outside the line, and nothing that is not there', () => {
    for (const agent of ['ada', 'bob']) assert.equal(mounted(`/ctx/home/1000/agent/${agent}`, 'read').shared.length, 1);
    assert.throws(() => mounted('/ctx/home/1000/agent/eve', 'read'), { code: 'EACCES' });
    assert.throws(() => mounted('/ctx/home/1001/agent/ada', 'read'), { code: 'ENOENT' });
    for (const path of ['/ctx/shared/none', '/ctx/shared/own/none'])
      assert.throws(() => mounted(path, 'read'), { code: 'ENOENT' });
    assert.throws(() => mounted('/ctx/shared/team/file', 'read'), { code: 'ENOENT' });
  });
});

describe('whose objects a line may name', () => {
  it('is its own home, and no other agent’s', () => {
    const sources = ['/ctx/home/1000/agent/ada', '/ctx/home/0/agent/ada/data', '/ctx/shared/eve', '/ctx/tool', '/data'];
    refuseForeignHomes('ada', sources);
    for (const other of ['/ctx/home/1000/agent/eve', '/ctx/home/0/agent/ada2/data']) {
      assert.throws(() => refuseForeignHomes('ada', [...sources, other]), { code: 'EACCES' }, other);
    }
  });

  it('is spaces that its policy lets it read, or write', () => {
    const judge = (policy: string, ...mounts: readonly (readonly [string, Mount['mode']])[]) =>
      refuseUnsharedSpaces({
        policy: parsePolicy(policy, 'policy'),
        identity: { label: parseLabel('user_u:agent_r:ada_t:s0') },
        mounts: mounts.map(([source, mode]) => ({ source, target: '/x', mode, options: [] })),
      } as unknown as Authority);
    const [reads, writes] = ['allow ada_t shared:own read\n', 'allow ada_t shared:own write\n'];
    judge('', ['/data', 'rw'], ['/ctx/tool', 'rw'], ['/ctx/home/1000/agent/ada', 'rw']);
    judge(reads, ['/ctx/shared/own', 'ro'], ['/ctx/shared/own/docs', 'ro']);
    judge(`${reads}${writes}`, ['/ctx/shared/own', 'rw'], ['/ctx/shared/own', 'ro']);
    for (const [policy, mode] of [
      ['', 'ro'],
      ['', 'rw'],
      [reads, 'rw'],
      [writes, 'ro'],
      ['allow ada_t shared:other read\n', 'ro'],
      ['allow eve_t shared:own read\n', 'ro'],
      ['allow ada_t agent:own read\n', 'ro'],
    ] as const) {
      assert.throws(
        () => judge(policy, ['/data', 'ro'], ['/ctx/shared/own', mode]),
        { code: 'EACCES' },
        `${policy} ${mode}`,
      );
    }
  });
});

describe('the home of an agent', () => {
  const self: JailIdentity = { kind: 'self', uid: 1, gid: 1 };
  const modeOf = (path: string) => lstatSync(path).mode & 0o777;

  it('is made whole, once, with what the agent writes and what it only reads', () => {
    const directory = join(root, 'home/1/agent/new');
    assert.equal(prepareAgentHome(directory, self), directory);
    assert.deepEqual(readdirSync(directory).sort(), ['cache', 'data', 'log', 'root', 'session']);
    assert.deepEqual(readdirSync(join(root, 'home/1/agent')), ['new'], 'no draft is left');
    assert.deepEqual([modeOf(directory), modeOf(join(directory, 'data'))], [0o700, 0o755]);
    writeFileSync(join(directory, 'data/file'), 'text');
    prepareAgentHome(directory, self);
    assert.ok(existsSync(join(directory, 'data/file')));
    writeFileSync(join(base, 'file'), '');
    assert.throws(() => prepareAgentHome(join(base, 'file/x'), self), { code: 'EEXIST' });
  });

  it('that the record began is completed, and one that is whole is left as it is', () => {
    const [begun, whole] = [join(base, 'begun'), join(base, 'whole')];
    mkdirSync(join(begun, 'session'), { recursive: true });
    mkdirSync(join(whole, 'log'), { recursive: true });
    for (const directory of [begun, whole]) prepareAgentHome(directory, self);
    assert.deepEqual(readdirSync(begun).sort(), ['cache', 'data', 'log', 'root', 'session']);
    assert.deepEqual(readdirSync(whole), ['log']);
  });

  it('is the agent’s outside, but for what it only reads; another’s is refused', {
    skip: isRoot ? false : 'only root gives files away',
  }, () => {
    const shift = 1 << 20;
    const directory = join(base, 'shifted');
    const outside = { uid: 5, gid: 6 };
    const shifted: JailIdentity = { kind: 'shifted', uid: 77, gid: 78, shift, outside };
    prepareAgentHome(directory, shifted);
    const owner = (path: string) => [lstatSync(path).uid, lstatSync(path).gid];
    const own = [5 + shift, 6 + shift];
    assert.deepEqual([directory, join(directory, 'data'), join(directory, 'cache')].map(owner), [own, own, own]);
    for (const part of ['session', 'log', 'root']) assert.deepEqual(owner(join(directory, part)), [0, 0]);
    prepareAgentHome(directory, shifted);
    prepareAgentHome(directory, self);
    assert.throws(() => prepareAgentHome(directory, { kind: 'shifted', uid: 77, gid: 78, shift }), { code: 'EPERM' });
    const plain = join(base, 'plain');
    prepareAgentHome(plain, { kind: 'shifted', uid: 77, gid: 78, shift });
    assert.deepEqual(owner(plain), [77 + shift, 78 + shift]);
  });

  it('is gone with its agent, and counted where a view shows it', () => {
    const host = { store: openStore(join(base, 'store'), nativeProgram('flock.node')), tree };
    removeAgentHome(host, home('ada'));
    removeAgentHome(host, home('ada'));
    assert.deepEqual([existsSync(home('ada')), existsSync(home('bob'))], [false, true]);
    const shared = [home('bob'), join(root, 'homes'), join(root, 'shared/own')].map((source) => ({ source }));
    assert.deepEqual(homesIn(root, { shared } as unknown as JailView), [home('bob')]);
    symlinkSync(home('bob'), join(base, 'link'));
    removeAgentHome(host, join(base, 'link'));
    assert.deepEqual([existsSync(join(base, 'link')), existsSync(home('bob'))], [false, true]);
  });

  it('is gone on another disk than the store, too, by the program that goes by no paths', () => {
    const other = mkdtempSync('/dev/shm/ctx-objects-');
    const removed: string[] = [];
    const host = {
      store: openStore(join(base, 'store'), nativeProgram('flock.node')),
      tree: Object.assign(new Tree({ program: tree.program }), {
        removeAtOnce: (path: string) => {
          removed.push(path);
          tree.removeAtOnce(path);
        },
      }),
    };
    try {
      if (lstatSync(other).dev === lstatSync(base).dev) return;
      const [directory, link] = [join(other, 'ada'), join(other, 'link')];
      mkdirSync(join(directory, 'closed/deep'), { recursive: true });
      for (const path of [link, join(directory, 'link')]) symlinkSync(home('bob'), path);
      chmodSync(join(directory, 'closed'), 0);
      for (const path of [directory, link]) removeAgentHome(host, path);
      assert.deepEqual([readdirSync(other), existsSync(home('bob')), removed], [[], true, [directory]]);
      assert.throws(() => tree.removeAtOnce(join(base, 'store/meta.json')), { code: 'ENOTDIR' });
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });
});
