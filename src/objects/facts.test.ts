/** What there is of objects, in both roots and each class, and what becomes of it where a step fails. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Authority } from '../authority/authority.js';
import { hasCode } from '../base/errno.js';
import type { Attributes } from '../vfs/filesystem.js';
import { type AgentGrant, isAbout, printAgentGrant } from './granted-texts.js';
import { defaultToolPath, hostPathOf, tierDirectory } from './layout.js';
import { liveText } from './live-status.js';
import { objectFacts } from './object-facts.js';
import {
  findObject,
  installProgram,
  type LocatedObject,
  listObjects,
  makeObject,
  readControlText,
  removeObject,
} from './object-store.js';
import { type Catalogue, kindOf, toolPlaceOf } from './projection/catalogue.js';
import { catalogueOf, controlText, readRegular } from './projection/disk-catalogue.js';
import { mergedCatalogue } from './projection/merged-catalogue.js';
import { objectView } from './projection/object-view.js';
import { agentTexts, toolTexts } from './spec.js';

const scratch = mkdtempSync(join(tmpdir(), 'ctx-facts-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const maker = { uid: 1000, gid: 1000 };
const refused = (code: Parameters<typeof hasCode>[1]) => (error: unknown) => hasCode(error, code);

/** Objects of a user, with those of the machine under them. */
function stage() {
  const root = mkdtempSync(join(scratch, 'root-'));
  const system = mkdtempSync(join(scratch, 'system-'));
  return { roots: { root, uid: 1000, system }, machine: { root: system, uid: 1000 } };
}

describe('an object', () => {
  it('is found in the order of its tiers, the machine last, and a name is listed once', () => {
    const { roots, machine } = stage();
    makeObject(machine, 'system', 'agent', 'both', agentTexts('both', {}, maker));
    makeObject(machine, 'system', 'agent', 'machine', agentTexts('machine', {}, maker));
    makeObject(roots, 'user', 'agent', 'both', agentTexts('both', {}, maker));
    makeObject(roots, 'system', 'agent', 'own', agentTexts('own', {}, maker));
    const places = listObjects(roots, 'agent').map(({ name, directory }) => [name, dirname(dirname(directory))]);
    assert.deepEqual(places, [
      ['both', join(roots.root, 'home/1000')],
      ['machine', roots.system],
      ['own', roots.root],
    ]);
    assert.equal(findObject(roots, 'agent', 'machine')?.directory, join(roots.system, 'agent/machine.d'));
    assert.equal(findObject(roots, 'agent', 'none'), undefined);
    assert.equal(findObject({ root: roots.root, uid: 1000 }, 'agent', 'machine'), undefined);
    for (const tier of ['system', 'user'] as const) {
      const path = join(roots.root, 'home/1000/agent/both.d');
      assert.throws(() => makeObject(roots, tier, 'agent', 'both', new Map()), { code: 'EEXIST', path });
    }
    /** Somebody else is quicker. */
    const racing = new Map(agentTexts('raced', {}, maker));
    racing[Symbol.iterator] = () => {
      mkdirSync(join(roots.root, 'agent/raced.d/theirs'), { recursive: true });
      return new Map([['owner', '1\n']])[Symbol.iterator]();
    };
    assert.throws(() => makeObject(roots, 'system', 'agent', 'raced', racing), refused('EEXIST'));
    assert.deepEqual(readdirSync(join(roots.root, 'agent')).sort(), ['own.d', 'raced.d']);
    assert.deepEqual(readdirSync(join(roots.root, 'agent/raced.d')), ['theirs']);
    const outer = listObjects(roots, 'tool');
    assert.deepEqual(outer, [], 'there is no directory of tools');
    writeFileSync(join(roots.root, 'tool'), '');
    assert.throws(() => listObjects(roots, 'tool'), { code: 'ENOTDIR', path: join(roots.root, 'tool') });
  });

  it('is made whole or not at all, and a program is installed whole or stays', () => {
    const { roots } = stage();
    const parent = tierDirectory(roots, 'system', 'tool');
    assert.throws(() => makeObject(roots, 'system', 'tool', 'broken', new Map([['a/b', 'x']])));
    assert.deepEqual(readdirSync(parent), []);
    mkdirSync(join(parent, '.left.d'), { recursive: true });
    writeFileSync(join(parent, 'file.d'), '');
    assert.throws(() => makeObject(roots, 'system', 'tool', 'file', toolTexts('file', {})), refused('ENOTDIR'));
    assert.deepEqual(readdirSync(parent).sort(), ['.left.d', 'file.d']);
    const left = join(parent, '.killed.d.1234.new');
    mkdirSync(left);
    utimesSync(left, 1_000, 1_000);
    const tool = makeObject(roots, 'system', 'tool', 'hello', toolTexts('hello', {}));
    assert.equal(existsSync(left), false, 'what a killed process left goes');
    const [source, other] = [join(scratch, 'source'), join(scratch, 'directory')];
    writeFileSync(source, 'first');
    chmodSync(source, 0o600);
    mkdirSync(other, { recursive: true });
    installProgram(tool, source);
    const program = join(parent, 'hello');
    assert.deepEqual([readFileSync(program, 'utf8'), statSync(program).mode & 0o7777], ['first', 0o755]);
    assert.throws(() => installProgram(tool, other), refused('EINVAL'));
    assert.throws(() => installProgram(tool, join(scratch, 'none')), refused('ENOENT'));
    assert.equal(readFileSync(program, 'utf8'), 'first');
    assert.deepEqual(
      readdirSync(parent).filter((name) => name.startsWith('.hello')),
      [],
    );
    removeObject(tool);
    assert.deepEqual(readdirSync(parent).sort(), ['.left.d', 'file.d'], 'its program goes with it');
    assert.throws(() => removeObject(tool), refused('ENOENT'));
    const agent = makeObject(roots, 'system', 'agent', 'a', agentTexts('a', {}, maker));
    writeFileSync(join(dirname(agent.directory), 'a'), 'beside it');
    removeObject(agent);
    assert.ok(existsSync(join(dirname(agent.directory), 'a')), 'an agent has no program');
  });

  it('has a status that is dead where its process is', () => {
    const directory = mkdtempSync(join(scratch, 'agent-'));
    const texts = () => ['status', 'pid', 'label'].map((file) => liveText(directory, file, `${file}\n`));
    const same = ['status\n', 'pid\n', 'label\n'];
    assert.deepEqual(texts(), same, 'no process was ever started');
    for (const [pid, expected] of [
      ['', same],
      [`${process.pid}\n`, same],
      [`${2 ** 30}\n`, ['dead\n', '', 'label\n']],
      ['../self', same],
      ['0', same],
    ] as const) {
      writeFileSync(join(directory, 'pid'), pid);
      assert.deepEqual(texts(), expected, pid);
    }
    rmSync(join(directory, 'pid'));
    mkdirSync(join(directory, 'pid'));
    assert.throws(texts, { code: 'EISDIR' });
  });

  it('is read from regular files alone, by whichever way to it', () => {
    const directory = mkdtempSync(join(scratch, 'texts-'));
    writeFileSync(join(directory, 'file'), 'text');
    symlinkSync('file', join(directory, 'link'));
    mkdirSync(join(directory, 'directory'));
    assert.equal(readRegular(join(directory, 'file')).toString(), 'text');
    assert.equal(controlText(join(directory, 'file'))?.size, 4);
    for (const name of ['link', 'directory', 'none', 'file/below']) {
      assert.equal(controlText(join(directory, name)), undefined, name);
      assert.throws(() => readRegular(join(directory, name)), name);
    }
  });

  it('is at a place that its path names, and at no other', () => {
    assert.deepEqual(
      ['/ctx', '/ctx/tool', '/ctxx/tool', '/tool', 'ctx/tool'].map((seen) => hostPathOf('/r', seen)),
      ['/r', '/r/tool', undefined, undefined, undefined],
    );
    assert.deepEqual(defaultToolPath(7), ['/ctx/tool', '/ctx/home/7/tool']);
    assert.deepEqual(['/ctx/tool', '/ctx/home/0/tool', '/ctx/home/12/tool', '/ctx/shared/a-b/tool'].map(toolPlaceOf), [
      { place: 'tool', uid: undefined, space: undefined },
      { place: 'home/0/tool', uid: 0, space: undefined },
      { place: 'home/12/tool', uid: 12, space: undefined },
      { place: 'shared/a-b/tool', uid: undefined, space: 'a-b' },
    ]);
    for (const seen of [
      'tool',
      '/tool',
      '/ctx/agent',
      '/ctx/home/01/tool',
      '/ctx/home/x/tool',
      '/ctx/shared/../tool',
      '/ctx/shared/a/b/tool',
      '/ctx/tool/x',
    ]) {
      assert.equal(toolPlaceOf(seen), undefined, seen);
    }
    assert.deepEqual(
      ['tool', 'agent', 'home/1/agent', 'shared/agent/tool', 'model/agent', 'home/1/model/tool'].map(kindOf),
      ['tool', 'agent', 'agent', 'tool', 'model', 'model'],
    );
  });
});

describe('what there is of an object for a decision', () => {
  it('is known of every class, and what is not there is not made up', () => {
    const { roots, machine } = stage();
    makeObject(machine, 'system', 'agent', 'far', agentTexts('far', {}, maker));
    makeObject(roots, 'system', 'tool', 'hello', toolTexts('hello', { policy: 'allow a_t tool:hello execute\n' }));
    makeObject(roots, 'user', 'tool', 'mine', toolTexts('mine', {}));
    mkdirSync(join(roots.root, 'shared/both'), { recursive: true });
    chmodSync(join(roots.root, 'shared/both'), 0o750);
    for (const name of ['both', 'far']) mkdirSync(join(roots.system, 'shared', name), { recursive: true });
    chmodSync(join(roots.system, 'shared/far'), 0o711);
    const reads = [
      { target: '/srv/x', source: join(roots.root, 'shared'), of: 'host' },
      { target: '/srv/tree', source: 'memory:', of: 'tree' },
      { target: '/srv/gone', source: join(scratch, 'gone'), of: 'host' },
    ];
    const authority = {
      toolPath: ['/ctx/tool'],
      identity: { uid: 0 },
      view: { allowedReads: () => reads },
    } as unknown as Authority;
    const facts = (kind: Parameters<typeof objectFacts>[2], name: string) => objectFacts(roots, authority, kind, name);
    const missing = { exists: false, visible: false };
    const mode = (kind: Parameters<typeof objectFacts>[2], name: string) =>
      (facts(kind, name).file?.mode ?? 0) & 0o7777;
    assert.equal(facts('agent', 'far').label?.type, 'far_t');
    assert.deepEqual(facts('agent', 'none'), { exists: false, visible: true });
    assert.deepEqual([mode('shared', 'both'), mode('shared', 'far')], [0o750, 0o711]);
    assert.deepEqual(facts('shared', 'none'), { exists: false, visible: true });
    assert.deepEqual([facts('mount', 'srv.x').exists, facts('mount', 'srv.x').file === undefined], [true, false]);
    assert.deepEqual(facts('mount', 'srv.tree'), { exists: true, visible: true });
    assert.deepEqual(facts('mount', 'srv.gone'), { exists: false, visible: true });
    assert.deepEqual(facts('mount', 'srv'), missing);
    assert.deepEqual(facts('network', 'default'), { exists: true, visible: true });
    assert.deepEqual([facts('model', 'x'), facts('session', 'x')], [missing, missing]);
    mkdirSync(join(roots.system, 'model/open/small.d'), { recursive: true });
    mkdirSync(join(roots.root, `home/${roots.uid}/model/open/mine.d`), { recursive: true });
    const user = { ...authority, identity: { uid: roots.uid } } as unknown as Authority;
    const model = (name: string) => objectFacts(roots, user, 'model', name, ['open/small', 'open/gone']);
    assert.deepEqual([model('open/small').exists, model('open/small').visible], [true, true]);
    assert.deepEqual([model('open/mine').exists, model('open/mine').visible], [true, false], 'no model file names it');
    assert.deepEqual(model('open/gone'), { exists: false, visible: true });
    writeFileSync(join(roots.system, 'model/open/small.d/policy'), 'allow nonsense');
    assert.throws(() => model('open/small'), { code: 'EINVAL' });
    const hello = facts('tool', 'hello');
    assert.deepEqual([hello.exists, hello.visible, hello.policy?.rules.length], [true, true, 1]);
    const mine = facts('tool', 'mine');
    assert.deepEqual(
      [mine.exists, mine.visible, mine.policy],
      [true, false, undefined],
      'its directory is not in the path',
    );
  });
});

describe('a policy of its own', () => {
  it('that is there and is no file that can be read is not an absent one, which would leave all to the agents', () => {
    const { roots } = stage();
    const { directory } = makeObject(roots, 'system', 'tool', 'odd', toolTexts('odd', {}));
    writeFileSync(join(dirname(directory), 'odd'), '', { mode: 0o755 });
    const tool = () => catalogueOf(roots).tool('tool', 'odd');
    const path = join(directory, 'policy');
    assert.equal(tool()?.problem, undefined);
    for (const make of [
      () => mkdirSync(path),
      () => symlinkSync('elsewhere', path),
      () => symlinkSync('name', path),
      () => writeFileSync(path, 'allow everything\n'),
    ]) {
      make();
      assert.equal(typeof tool()?.problem, 'string', String(make));
      rmSync(path, { recursive: true });
    }
    writeFileSync(path, 'allow a_t tool:odd execute\n');
    assert.deepEqual([tool()?.problem, tool()?.facts.policy?.rules.length], [undefined, 1]);
  });
});

describe('objects of a user over those of the machine', () => {
  /** A catalogue whose answers say whose they are. */
  const catalogue = (who: string, has: readonly string[], described = has): Catalogue => {
    const found = (name: string) =>
      has.includes(name) ? { facts: { exists: true, visible: true }, program: who } : undefined;
    const is = (_place: string, name: string) => found(name);
    return {
      tools: () => has,
      tool: is,
      policy: () => ({ problem: who }),
      described: () => described,
      isDescribed: (_place, name) => described.includes(name),
      agent: is,
      providers: () => has,
      model: is,
      spaces: () => has,
      space: found,
      spaceFiles: () => ({ directory: who, names: [] }),
      controls: () => [who],
      control: () => ({ size: 0, modified: 0n, read: () => Buffer.from(who) }),
    };
  };
  const merged = mergedCatalogue(
    catalogue('own', ['a', 'b'], ['a', 'b', 'd']),
    catalogue('system', ['b', 'c'], ['b', 'c', 'd', 'e']),
  );

  it('are the user’s where both have them, for every question', () => {
    const holder = { a: 'own', b: 'own', c: 'system' } as const;
    for (const [name, who] of Object.entries(holder)) {
      for (const [place, kind] of [
        ['tool', 'tool'],
        ['agent', 'agent'],
        ['model/openai', 'model'],
        ['shared/s/tool', 'tool'],
      ] as const) {
        assert.equal(merged[kind](place, name)?.program, who, `${place} ${name}`);
        assert.equal(merged.policy(place, name).problem, who);
        assert.deepEqual(merged.controls(place, name), [who]);
        assert.equal(merged.control(place, name, 'x')?.read().toString(), who);
      }
      assert.equal(merged.space(name)?.program, who);
      assert.equal(merged.spaceFiles(name).directory, who);
    }
    assert.deepEqual(
      [merged.tools('tool'), merged.providers('model'), merged.spaces()],
      [
        ['a', 'b', 'c'],
        ['a', 'b', 'c'],
        ['a', 'b', 'c'],
      ],
    );
    assert.deepEqual(
      [merged.described('tool'), merged.isDescribed('tool', 'e'), merged.isDescribed('tool', 'f')],
      [['a', 'b', 'c', 'd', 'e'], true, false],
    );
    assert.deepEqual(
      [merged.policy('tool', 'd').problem, merged.policy('tool', 'e').problem],
      ['own', 'system'],
      'without a program, by its description',
    );
    assert.deepEqual([merged.agent('agent', 'none'), merged.space('none')], [undefined, undefined]);
  });

  it('are the user’s alone in the tier of a user', () => {
    const place = 'home/1000/tool';
    assert.deepEqual(
      [merged.tools(place), merged.described(place), merged.providers('home/1000/model')],
      [
        ['a', 'b'],
        ['a', 'b', 'd'],
        ['a', 'b'],
      ],
    );
    assert.deepEqual(
      [merged.tool(place, 'c'), merged.isDescribed(place, 'e'), merged.policy(place, 'c').problem],
      [undefined, false, 'own'],
    );
    assert.equal(merged.agent('home/1000/agent', 'c'), undefined);
  });
});

describe('a grant', () => {
  const grants: readonly (readonly [AgentGrant, string, object])[] = [
    [{ kind: 'read', path: '/a' }, 'read /a', { kind: 'hidden path', target: '/a' }],
    [{ kind: 'write', path: '/b' }, 'write /b', { kind: 'read-only path', target: '/b' }],
    [{ kind: 'connect', host: 'a.org:443' }, 'connect a.org:443', { kind: 'network', host: 'a.org:443' }],
    [{ kind: 'group', gid: 5 }, 'group 5', { kind: 'group', gid: 5 }],
    [
      { kind: 'permission', class: 'tool', name: 'x', permission: 'execute' },
      'tool:x execute',
      { kind: 'permission', rule: 'tool:x execute' },
    ],
  ];

  it('is written in words, and is about the excess of its own kind and name alone', () => {
    const others = [
      { kind: 'hidden path', target: '/c' },
      { kind: 'network', host: 'b.org:443' },
      { kind: 'group', gid: 6 },
      { kind: 'permission', rule: 'tool:y execute' },
      { kind: 'detached life' },
    ];
    for (const [grant, words, own] of grants) {
      assert.equal(printAgentGrant(grant), words);
      for (const excess of [...grants.map(([, , each]) => each), ...others]) {
        const about = isAbout({ by: 'operator', excess } as unknown as Parameters<typeof isAbout>[0], grant);
        assert.equal(about, excess === own, `${words} ${JSON.stringify(excess)}`);
      }
    }
  });
});

describe('a control file', () => {
  it('is missing where it is not there, and an error where it cannot be read', () => {
    const { roots } = stage();
    const agent: LocatedObject = makeObject(roots, 'system', 'agent', 'a', agentTexts('a', {}, maker));
    for (const file of ['network', 'quota']) rmSync(join(agent.directory, file));
    assert.equal(readControlText(agent, 'network'), undefined);
    mkdirSync(join(agent.directory, 'quota'));
    assert.throws(() => readControlText(agent, 'quota'), refused('EINVAL'));
  });
});

describe('the program behind every object', () => {
  it('has the size, the time and the bytes of the file that it is, as long as a view lasts', () => {
    const { roots } = stage();
    const client = join(scratch, 'client');
    writeFileSync(client, 'a program');
    const { filesystem } = objectView({ roots, client, owner: maker, now: () => 0 });
    const find = (within: number, name: string) => filesystem.lookup(within, name) as Attributes;
    const { inode, size, modified } = find(find(filesystem.root, 'tool').inode, 'fs.read');
    assert.deepEqual([size, modified], [9, statSync(client, { bigint: true }).mtimeNs]);
    const handle = filesystem.open(inode, { read: true, write: false }) as number;
    assert.equal(String(filesystem.read(handle, 2, 100)), 'program');
    assert.throws(() => objectView({ roots, agent: 'nobody', client, owner: maker, now: () => 0 }), refused('ENOENT'));
  });
});
