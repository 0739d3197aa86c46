import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { library } from '../audit/record-fixture.js';
import { loadFileLock } from '../base/file-lock.js';
import { type Controller, groupPlaces, groupSettings, makeGroup, viewOf } from './cgroup.js';

describe('control groups', () => {
  it('write a limit the way each version has it', () => {
    const limits = { memory: 1_000_000, pids: 20, cpu: 1.5 };
    assert.deepEqual(
      groupSettings(2, limits).map(({ file, value }) => `${file}=${value}`),
      ['memory.max=1000000', 'memory.swap.max=0', 'pids.max=20', 'cpu.max=150000 100000'],
    );
    assert.deepEqual(
      groupSettings(1, limits).map(({ file, value }) => `${file}=${value}`),
      [
        'memory.limit_in_bytes=1000000',
        'memory.memsw.limit_in_bytes=1000000',
        'pids.max=20',
        'cpu.cfs_quota_us=150000',
      ],
    );
    assert.deepEqual(groupSettings(2, {}), []);
  });

  it('of version 2 stand beside the group this process is in', () => {
    const found = groupPlaces(
      '30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
      '0::/user.slice/user-1000.slice/session.scope\n',
    );
    assert.equal(found?.version, 2);
    assert.equal(found?.places.get('memory'), '/sys/fs/cgroup/user.slice/user-1000.slice');
  });

  it('of version 1 are found controller by controller, below the group this process is in', () => {
    const found = groupPlaces(
      [
        '31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
        '32 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
        '33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      ].join('\n'),
      '4:memory:/service/a\n2:cpu,cpuacct:/\n0::/\n',
    );
    assert.equal(found?.version, 1);
    assert.deepEqual(
      [...(found?.places ?? [])],
      [
        ['memory', '/sys/fs/cgroup/memory/service/a'],
        ['cpu', '/sys/fs/cgroup/cpu'],
      ],
    );
  });

  it('are not made where nothing is limited, nor found where none are mounted', () => {
    assert.equal(makeGroup({}, library), undefined);
    assert.equal(groupPlaces('', '0::/\n'), undefined);
  });

  const reason = process.getuid?.() === 0 ? false : 'making a control group needs root or a delegated one';
  it('are made, hold their limit and leave nothing behind', { skip: reason }, (context) => {
    let group: ReturnType<typeof makeGroup>;
    try {
      group = makeGroup({ pids: 7 }, library);
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    const [directory = ''] = group?.directories ?? [];
    assert.equal(readFileSync(`${directory}/pids.max`, 'utf8').trim(), '7');
    assert.deepEqual(group?.events(), []);
    group?.remove();
    assert.equal(existsSync(directory), false);
  });

  it('of a ctx that was killed are removed by the next, and those of one that lives are not', {
    skip: reason,
  }, (context) => {
    const nobody = (4_194_304).toString(36); // the kernel's highest process number is below
    const name = (owner: string) => `ctx-${owner}-${Date.now().toString(36)}-0`;
    let group: ReturnType<typeof makeGroup>;
    try {
      group = makeGroup({ pids: 7 }, library);
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    const place = dirname(group?.directories[0] ?? '');
    // The numbers say the opposite, as those of another pid namespace may.
    const [abandoned, living] = [join(place, name(process.pid.toString(36))), join(place, name(nobody))];
    mkdirSync(abandoned);
    mkdirSync(living);
    const descriptor = openSync(living, 'r');
    loadFileLock(library, 0).hold(descriptor, living);
    const other = makeGroup({ pids: 7 }, library);
    const left = [abandoned, living, group?.directories[0] ?? ''].map((each) => existsSync(each));
    for (const each of [group, other]) each?.remove();
    closeSync(descriptor);
    rmdirSync(living);
    assert.deepEqual(left, [false, true, true]);
  });

  it('are not left behind where a limit cannot be set', { skip: reason }, (context) => {
    let place = '';
    try {
      const group = makeGroup({ pids: 7 }, library);
      place = dirname(group?.directories[0] ?? '');
      group?.remove();
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    assert.throws(() => makeGroup({ pids: -5 }, library), { code: 'ENOTSUP', message: /pids\.max cannot be set/ });
    const own = `ctx-${process.pid.toString(36)}-`;
    assert.deepEqual(
      readdirSync(place).filter((name) => name.startsWith(own)),
      [],
    );
  });

  it('of a ctx that was killed stop nobody while something still runs in them, and go after that', {
    skip: reason,
  }, async (context) => {
    let group: ReturnType<typeof makeGroup>;
    try {
      group = makeGroup({ pids: 7 }, library);
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    const busy = join(dirname(group?.directories[0] ?? ''), `ctx-${process.pid.toString(36)}-busy-0`);
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    const ended = once(child, 'close');
    try {
      mkdirSync(busy);
      writeFileSync(join(busy, 'cgroup.procs'), String(child.pid));
      makeGroup({ pids: 7 }, library)?.remove();
      assert.equal(existsSync(busy), true);
    } finally {
      child.kill('SIGKILL');
      await ended;
      group?.remove();
    }
    makeGroup({ pids: 7 }, library)?.remove();
    assert.equal(existsSync(busy), false);
  });
});

describe('the settings of a limit', () => {
  const names = (version: 1 | 2, limits: Parameters<typeof groupSettings>[1]) =>
    groupSettings(version, limits).map(({ controller, file, value, optional = false }) => [
      controller,
      file,
      value,
      optional,
    ]);

  it('are those of each limit alone; swap alone may be missing', () => {
    assert.deepEqual(names(2, { memory: 5 }), [
      ['memory', 'memory.max', '5', false],
      ['memory', 'memory.swap.max', '0', true],
    ]);
    assert.deepEqual(names(1, { memory: 5 }), [
      ['memory', 'memory.limit_in_bytes', '5', false],
      ['memory', 'memory.memsw.limit_in_bytes', '5', true],
    ]);
    for (const version of [1, 2] as const)
      assert.deepEqual(names(version, { pids: 6 }), [['pids', 'pids.max', '6', false]]);
    assert.deepEqual(names(2, { cpu: 2 }), [['cpu', 'cpu.max', '200000 100000', false]]);
    assert.deepEqual(names(1, { cpu: 2 }), [['cpu', 'cpu.cfs_quota_us', '200000', false]]);
  });

  it('are no smaller than the kernel takes', () => {
    for (const [cpu, value] of [
      [0.001, '1000'],
      [0.00999, '1000'],
      [0.01, '1000'],
      [0.0101, '1010'],
      [0.333333, '33333'],
    ] as const)
      assert.deepEqual(names(1, { cpu }), [['cpu', 'cpu.cfs_quota_us', value, false]], String(cpu));
  });
});

describe('the places of control groups', () => {
  const unified = (root: string, point: string) => `30 24 0:26 ${root} ${point} rw shared:4 - cgroup2 cgroup2 rw`;
  const of = (mountinfo: string, membership: string) => groupPlaces(mountinfo, membership)?.places.get('pids');

  it('of version 2 are beside this process’s own, or at the top, seen through the mount', () => {
    for (const [root, point, own, place] of [
      ['/', '/sys/fs/cgroup', '0::/', '/sys/fs/cgroup'],
      ['/', '/sys/fs/cgroup', '0::/a', '/sys/fs/cgroup'],
      ['/', '/sys/fs/cgroup', '0::/a/b:c', '/sys/fs/cgroup/a'],
      ['/a', '/cg', '0::/a/b/c', '/cg/b'],
      ['/other', '/cg', '0::/a/b', '/cg/a'],
      ['/', '/cg', '', '/cg'],
    ] as const)
      assert.equal(of(unified(root, point), own), place, `${root} ${own}`);
    const [first, second] = [unified('/', '/first'), unified('/', '/second')];
    assert.equal(of(`${first}\n${second}`, '0::/'), '/first', 'the first of two');
  });

  it('of version 1 are by controller, though one of version 2 is mounted, too', () => {
    const one = (point: string, options: string) => `31 24 0:27 / ${point} rw - cgroup cgroup rw,${options}`;
    const found = groupPlaces(
      [unified('/', '/unified'), one('/p', 'pids'), one('/c', 'cpu,cpuacct'), one('/s', 'cpuset')].join('\n'),
      '3:pids:/own/p\n4:cpu,cpuacct:/own/c\nodd line\n0::/u',
    );
    assert.deepEqual(
      [found?.version, [...(found?.places ?? [])]],
      [
        1,
        [
          ['pids', '/p/own/p'],
          ['cpu', '/c/own/c'],
        ],
      ],
    );
    assert.equal(of(one('/p', 'pids'), ''), '/p');
  });
});

describe('what is seen of a control group', () => {
  const base = mkdtempSync(join(tmpdir(), 'ctx-group-'));
  after(() => rmSync(base, { recursive: true }));
  const write = (files: Readonly<Record<string, string>>) => {
    rmSync(base, { recursive: true });
    mkdirSync(base);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(base, name), text);
  };
  const all = new Map((['memory', 'pids', 'cpu'] as const).map((each): [Controller, string] => [each, base]));
  const newer = {
    'memory.current': '5000\n',
    'memory.stat': 'anon 7\ninactive_file 300\nactive_file 40\nfile_dirty 9\n',
    'memory.events': 'low 0\noom 9\noom_kill 2\n',
    'pids.current': '8\n',
    'pids.events': 'max 3\n',
    'cpu.stat': 'nr_periods 99\nnr_throttled 4\n',
  };
  const older = {
    'memory.usage_in_bytes': '6000\n',
    'memory.stat': 'inactive_file 1\nactive_file 1\ntotal_inactive_file 500\ntotal_active_file 60\n',
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    'pids.current': '9\n',
    'pids.events': 'max 0\n',
    'cpu.stat': 'nr_periods 99\nnr_throttled 0\n',
  };

  it('is what is used without what files are cached in, and what was held, in both versions', () => {
    write(newer);
    assert.deepEqual(viewOf(all).usage(), { memory: { used: 4660, held: true }, pids: { used: 8, held: true } });
    const kinds = (words: readonly string[]) => words.map((each) => each.replace(/ limit reached:.*?(\d+).*/, ' $1'));
    assert.deepEqual(kinds(viewOf(all).events()), ['memory 2', 'process 3', 'processor 4']);
    write(older);
    assert.deepEqual(viewOf(all).usage(), { memory: { used: 5440, held: true }, pids: { used: 9, held: false } });
    assert.deepEqual(kinds(viewOf(all).events()), ['memory 1']);
    write({ ...newer, 'memory.current': '100' });
    assert.equal(viewOf(all).usage().memory.used, 0);
    write({});
    assert.deepEqual(viewOf(all).usage(), { memory: { used: 0, held: false }, pids: { used: 0, held: false } });
    assert.deepEqual(viewOf(new Map()).events(), []);
  });

  it('is of the controllers that it has', () => {
    write(newer);
    const only = (one: Controller) => viewOf(new Map([[one, base]]));
    assert.deepEqual(only('pids').usage(), { memory: { used: 0, held: false }, pids: { used: 8, held: true } });
    assert.deepEqual(only('memory').usage(), { memory: { used: 4660, held: true }, pids: { used: 0, held: false } });
    assert.deepEqual(
      (['memory', 'pids', 'cpu'] as const).map((one) => only(one).events().length),
      [1, 1, 1],
    );
  });

  it('is from one time on for a command that comes later', () => {
    write(newer);
    const later = viewOf(all).since();
    assert.deepEqual([later.events(), later.usage().memory.held, later.usage().pids.held], [[], false, false]);
    write({ ...newer, 'memory.events': 'oom_kill 3\n', 'pids.events': 'max 4\n', 'cpu.stat': 'nr_throttled 6\n' });
    assert.deepEqual(
      later.events().map((words) => /(\d+)/.exec(words)?.[1]),
      ['1', '1', '2'],
    );
    assert.deepEqual([later.usage().memory.held, later.usage().pids.held], [true, true]);
  });
});
