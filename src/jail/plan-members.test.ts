/** Each member of a view alone: which operations it adds to a plan or takes from it, and where. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identityShift } from './id-maps.js';
import { ownProcessesAlone } from './landlock.js';
import type { Operation, Plan } from './operation.js';
import { commandPlan, type JailView, jailPlan, keptPlan, openPlan, overlayPlan, repeatedMounts } from './plan.js';

const overlay = { target: '/w', lower: ['l'], upper: 'u', work: 'k' } as const;
const contained = ['no setuid', 'no devices'] as const;
const readOnly = [...contained, 'read only'] as const;
const self: JailView = {
  weakened: ['landlock', 'seccomp'],
  architecture: 'x64',
  processes: 100,
  identity: { kind: 'self', uid: 1000, gid: 1001 },
  person: { uid: 1000, gid: 1001, name: 'user', group: 'user', home: '/home/ada' },
  hostName: 'ctx',
  base: '/store',
  overlays: [overlay],
  shared: [{ source: '/usr', target: '/usr', access: 'read only' }],
  links: [],
  hidden: [],
  directory: '/w',
  environment: {},
  argv: ['true'],
};
const shifted: JailView = { ...self, identity: { kind: 'shifted', uid: 0, gid: 0, shift: identityShift } };
const andShared = (...more: JailView['shared']) => ({ shared: [...self.shared, ...more] });

/** What is in the one plan and not in the other, in its order. */
const only = (one: Plan, other: Plan): readonly Operation[] => {
  const texts = new Set(other.map(textOf));
  return one.filter((operation) => !texts.has(textOf(operation)));
};
function textOf(operation: Operation): string {
  return JSON.stringify(operation, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
}

interface Change {
  readonly of?: JailView;
  readonly view: Partial<JailView>;
  readonly adds: readonly Operation[];
  readonly takes?: readonly Operation[];
  /** It comes after the first of these, and before the second. */
  readonly between: readonly [Operation['do'], Operation['do']];
}

const shiftedSelf = { ...shifted.identity, kind: 'shifted' } as JailView['identity'];
const changes: Readonly<Record<string, Change>> = {
  'control groups': {
    view: { controlGroups: ['/cg/a', '/cg/b'] },
    adds: [
      { do: 'control group', directory: '/cg/a' },
      { do: 'control group', directory: '/cg/b' },
    ],
    between: ['base', 'namespaces'],
  },
  'a network': {
    view: { proxyPort: 3128 },
    adds: [{ do: 'listen', port: 3128 }],
    between: ['loopback', 'root'],
  },
  'a limit of files': {
    view: { fileBytes: 4096 },
    adds: [{ do: 'limit', resource: 1, value: 4096n }],
    between: ['pivot', 'user'],
  },
  'no bytes for files': {
    view: { fileBytes: 0 },
    adds: [{ do: 'limit', resource: 1, value: 0n }],
    between: ['pivot', 'user'],
  },
  'a limit of processes': {
    view: { processes: 7 },
    adds: [{ do: 'limit', resource: 6, value: 9n }],
    takes: [{ do: 'limit', resource: 6, value: 102n }],
    between: ['pivot', 'user'],
  },
  'files that are held': {
    view: { countsHeld: true, ...andShared({ source: '/f', target: '/f', access: 'read write', ofFork: true }) },
    adds: [
      { do: 'bind', source: '/f', target: '/f', attributes: contained },
      { do: 'report held files', paths: ['/w', '/f'] },
    ],
    between: ['devpts', 'user'],
  },
  'files of /etc': {
    view: { files: new Map([['/etc/own', 'text']]) },
    adds: [{ do: 'file', path: '/etc/own', content: 'text', mode: 0o644 }],
    between: ['root', 'devpts'],
  },
  'places of memory': {
    view: { temporary: ['/run/user', '/tmp'] },
    adds: [{ do: 'tmpfs', path: '/run/user', mode: 0o1777, attributes: contained }],
    between: ['devpts', 'proc'],
  },
  'a place at /tmp': {
    view: andShared({ source: '/t', target: '/tmp', access: 'read write' }),
    adds: [{ do: 'bind', source: '/t', target: '/tmp', attributes: contained }],
    takes: [{ do: 'tmpfs', path: '/tmp', mode: 0o1777, attributes: contained }],
    between: ['devpts', 'proc'],
  },
  'a place in /var/tmp': {
    view: andShared({ source: '/t', target: '/var/tmp/x', access: 'read only' }),
    adds: [
      { do: 'directory', path: '/var/tmp', mode: 0o755 },
      { do: 'bind', source: '/t', target: '/var/tmp/x', attributes: readOnly },
    ],
    takes: [{ do: 'symlink', path: '/var/tmp', target: '/tmp' }],
    between: ['root', 'proc'],
  },
  'an overlay in /var/tmp': {
    view: { overlays: [overlay, { ...overlay, target: '/var/tmp/x', upper: 'u2', work: 'k2' }] },
    adds: [
      { do: 'directory', path: '/var/tmp', mode: 0o755 },
      { do: 'overlay', ...overlay, target: '/var/tmp/x', upper: 'u2', work: 'k2', attributes: contained },
    ],
    takes: [{ do: 'symlink', path: '/var/tmp', target: '/tmp' }],
    between: ['root', 'proc'],
  },
  'an overlay of another jail': {
    view: { overlays: [{ ...overlay, holders: [7, 8] }] },
    adds: [{ do: 'overlay', ...overlay, holders: [7, 8], attributes: contained }],
    takes: [{ do: 'overlay', ...overlay, attributes: contained }],
    between: ['devpts', 'proc'],
  },
  'a path that was looked up': {
    view: andShared({ source: '/p', target: '/p', access: 'read only', identity: '8:4' }),
    adds: [{ do: 'bind', source: '/p', target: '/p', attributes: readOnly, identity: '8:4' }],
    between: ['devpts', 'proc'],
  },
  'a cache': {
    view: { caches: [{ source: '/c', target: '/h/c', upper: 'cu', work: 'cw', holders: [3] }] },
    adds: [{ do: 'cache', source: '/c', target: '/h/c', upper: 'cu', work: 'cw', holders: [3], attributes: contained }],
    between: ['devpts', 'proc'],
  },
  'a cache of root’s': {
    of: shifted,
    view: { caches: [{ source: '/c', target: '/h/c', upper: 'cu', work: 'cw' }] },
    adds: [
      {
        do: 'cache',
        source: '/c',
        target: '/h/c',
        upper: 'cu',
        work: 'cw',
        attributes: [...contained, 'shifted owners'],
      },
    ],
    between: ['devpts', 'proc'],
  },
  'a served tree': {
    view: { served: [{ target: '/m', writable: false }] },
    adds: [{ do: 'fuse', path: '/m', channel: 0, attributes: readOnly }],
    between: ['devpts', 'proc'],
  },
  'links of the root': {
    view: { links: [{ path: '/bin', target: 'usr/bin' }] },
    adds: [{ do: 'symlink', path: '/bin', target: 'usr/bin' }],
    between: ['root', 'directory'],
  },
  'links in memory': {
    view: { links: [{ path: '/tmp/x', target: '/y' }] },
    adds: [{ do: 'symlink', path: '/tmp/x', target: '/y' }],
    between: ['overlay', 'proc'],
  },
  'links in what may be written': {
    view: {
      ...andShared({ source: '/s', target: '/home/ada', access: 'read write' }),
      links: [{ path: '/home/ada/x', target: '/y' }],
    },
    adds: [
      { do: 'bind', source: '/s', target: '/home/ada', attributes: contained },
      { do: 'symlink', path: '/home/ada/x', target: '/y' },
    ],
    between: ['devpts', 'proc'],
  },
  'links beside what may only be read': {
    view: {
      ...andShared({ source: '/s', target: '/opt/s', access: 'read only' }),
      links: [{ path: '/opt/s2', target: '/y' }],
    },
    adds: [
      { do: 'symlink', path: '/opt/s2', target: '/y' },
      { do: 'bind', source: '/s', target: '/opt/s', attributes: readOnly },
    ],
    between: ['root', 'proc'],
  },
  'groups of root’s command': {
    of: shifted,
    view: { identity: { ...shiftedSelf, groups: [7, 9] } as JailView['identity'] },
    adds: [{ do: 'groups', of: [7, 9] }],
    between: ['pivot', 'user'],
  },
};

describe('a member of a view', () => {
  for (const [name, { of = self, view, adds, takes = [], between }] of Object.entries(changes)) {
    it(`${name}: what it changes of a plan, and where`, () => {
      const [before, after] = [jailPlan(of), jailPlan({ ...of, ...view })];
      assert.deepEqual(only(after, before), adds);
      assert.deepEqual(only(before, after), takes);
      const index = (operation: Operation) => after.findIndex((each) => textOf(each) === textOf(operation));
      const place = (what: Operation['do']) => after.findIndex((each) => each.do === what);
      for (const operation of adds) {
        assert.ok(index(operation) > place(between[0]), `${operation.do} after ${between[0]}`);
        assert.ok(index(operation) < place(between[1]), `${operation.do} before ${between[1]}`);
      }
    });
  }

  it('hides what is below, at or above what is shown at its own path, and nothing else', () => {
    const hiddenOf = (hidden: string, view: Partial<JailView>) =>
      jailPlan({ ...self, ...view, hidden: [hidden] }).some(
        (operation) => operation.do === 'mask' && operation.path === hidden,
      );
    const shared = { shared: [{ source: '/srv/data', target: '/srv/data', access: 'read only' }] } as const;
    const moved = { shared: [{ source: '/srv/data', target: '/elsewhere', access: 'read only' }] } as const;
    const caches = { caches: [{ source: '/srv/data', target: '/srv/data', upper: 'u', work: 'w' }] } as const;
    for (const hidden of ['/srv/data', '/srv/data/store', '/srv']) {
      for (const view of [shared, caches]) assert.equal(hiddenOf(hidden, view), true, hidden);
      assert.equal(hiddenOf(hidden, moved), false, hidden);
    }
    for (const hidden of ['/srv/data2', '/srv/dat', '/other']) assert.equal(hiddenOf(hidden, shared), false, hidden);
  });

  it('shows root’s command what only root may read, but nothing that it may write or that is the system’s', () => {
    const attributes = (source: string, more: Partial<JailView['shared'][number]> = {}, view = shifted) => {
      const shared = [{ source, target: '/t', access: 'read only', ...more }] as JailView['shared'];
      const found = jailPlan({ ...view, shared }).find((each) => each.do === 'bind' && each.target === '/t');
      return found !== undefined && 'attributes' in found ? found.attributes : [];
    };
    const asRoot = 'shifted owners';
    assert.deepEqual(attributes('/srv/x'), [...readOnly, asRoot]);
    assert.deepEqual(attributes('/srv/x', {}, self), readOnly);
    for (const system of ['/usr', '/usr/lib/x', '/etc', '/etc/ssl', '/sys/devices/system/cpu'])
      assert.deepEqual(attributes(system), readOnly, system);
    for (const other of ['/usr2', '/etcetera', '/home/x/etc'])
      assert.deepEqual(attributes(other), [...readOnly, asRoot]);
    const write = { access: 'read write' } as const;
    assert.deepEqual(attributes('/srv/x', write), contained);
    assert.deepEqual(attributes('/srv/x', { ...write, asOwner: true }), [...contained, asRoot]);
    assert.deepEqual(attributes('/srv/x', { ...write, asOwner: false }), contained);
    assert.deepEqual(attributes('/srv/x', { ...write, asOwner: true }, self), contained);
    const exchanged = { ...shifted, identity: { ...shiftedSelf, owner: { uid: 5, gid: 6 } } as JailView['identity'] };
    assert.deepEqual(attributes('/srv/x', { ...write, ofFork: true }, exchanged), [...contained, 'exchanged owners']);
    assert.deepEqual(attributes('/srv/x', { ...write, ofFork: true }), contained);
    assert.deepEqual(attributes('/srv/x', write, exchanged), contained);
  });

  it('lets what may be written be written by Landlock, and nothing else', () => {
    const written = (view: Partial<JailView>) =>
      jailPlan({ ...self, weakened: ['seccomp'], ...view })
        .flatMap((each) => (each.do === 'landlock rule' && each.rights === 0xffffn ? [each.path] : []))
        .sort();
    const always = ['/dev/shm', '/tmp', '/w'];
    const both = (target: string) =>
      [
        { source: '/a', target, access: 'read write' },
        { source: '/b', target: `${target}-not`, access: 'read only' },
      ] as const;
    assert.deepEqual(written({}), always);
    assert.deepEqual(written({ shared: both('/s') }), [...always, '/s'].sort());
    assert.deepEqual(written({ repeated: both('/r') }), [...always, '/r'].sort());
    assert.deepEqual(written({ temporary: ['/m'] }), [...always, '/m'].sort());
    assert.deepEqual(
      written({ caches: [{ source: '/c', target: '/c', upper: 'u', work: 'w' }] }),
      [...always, '/c'].sort(),
    );
    assert.deepEqual(written({ weakened: ['landlock', 'seccomp'] }), []);
  });
});

describe('the kinds of plans', () => {
  const view: JailView = { ...self, weakened: [], countsHeld: true, fileBytes: 1 };
  const scopesOf = (plan: Plan) => plan.flatMap((each) => (each.do === 'landlock' ? [each.scopes] : []));

  it('are one of its jail and one of its command: together the whole', () => {
    const [kept, command, whole, open] = [keptPlan(view), commandPlan(view), jailPlan(view), openPlan(view)];
    assert.deepEqual([...kept, ...command], open);
    const but = (plan: Plan) => plan.filter((each) => each.do !== 'landlock');
    assert.deepEqual(but(whole), but(open));
    assert.equal(ownProcessesAlone, 0b11);
    // What commands of one jail are to each other, they are in a kept one.
    assert.deepEqual([whole, open, command, kept].map(scopesOf), [[3], [0], [0], []]);
  });

  it('are without the layers that were given up, each alone', () => {
    const has = (weakened: JailView['weakened']) => {
      const plan = jailPlan({ ...view, weakened });
      return (['landlock', 'landlock rule', 'seccomp'] as const).map((what) => plan.some((each) => each.do === what));
    };
    assert.deepEqual(has([]), [true, true, true]);
    assert.deepEqual(has(['landlock']), [false, false, true]);
    assert.deepEqual(has(['seccomp']), [true, true, false]);
    assert.deepEqual(has(['nested-namespaces']), [true, true, true]);
  });

  it('have the filter of their view: its architecture, its overlays, its user, its namespaces', () => {
    const filterOf = (more: Partial<JailView>) =>
      jailPlan({ ...view, weakened: [], ...more }).flatMap((each) =>
        each.do === 'seccomp' ? [each.filter.toString('hex')] : [],
      )[0];
    const filters = [
      filterOf({}),
      filterOf({ architecture: 'arm64' }),
      filterOf({ overlays: [] }),
      filterOf({ identity: shifted.identity }),
      filterOf({ weakened: ['nested-namespaces'] }),
    ];
    assert.equal(new Set(filters).size, filters.length);
    assert.equal(
      filterOf({ overlays: [], identity: shifted.identity }),
      filters[2],
      'links matter in an overlay alone',
    );
  });

  it('are one of the overlays alone, outer ones first, as the whole has them', () => {
    const overlays = ['/w/inner', '/w', '/a'].map((target) => ({ ...overlay, target }));
    const targets = overlayPlan({ ...view, overlays }).map((each) => ('target' in each ? each.target : ''));
    assert.deepEqual(targets, ['/a', '/w', '/w/inner']);
    assert.deepEqual(only(overlayPlan({ ...view, overlays }), jailPlan({ ...view, overlays })), []);
  });

  it('show parts once more in the order of their places', () => {
    const repeated = [
      { source: '/w/b', target: '/z/inner', access: 'read only' },
      { source: '/w/a', target: '/z', access: 'read write' },
    ] as const;
    assert.deepEqual(repeatedMounts({ ...view, repeated }), [
      { do: 'again', source: '/w/a', target: '/z', attributes: contained },
      { do: 'again', source: '/w/b', target: '/z/inner', attributes: readOnly },
    ]);
    assert.deepEqual(repeatedMounts(view), []);
  });
});
