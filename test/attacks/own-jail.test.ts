/**
 * All that a command finds of its own jail, compared with what it has to be: who it is, what it may do and hold, every mount, the
 * network, its first process. The same for each way to make a jail: for one command, kept for many, and beside another.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import { identityShift, shiftedCount } from '../../src/jail/id-maps.js';
import type { JailView } from '../../src/jail/jail-view.js';
import type { Operation, Plan } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { type BareJail, bareJail, bareUser, type PlanOptions, shiftedIdentity } from '../support/bare-jail.js';

const isRoot = process.getuid?.() === 0;
const uid = bareUser.uid ?? process.getuid?.() ?? 0;
const gid = bareUser.gid ?? process.getgid?.() ?? 0;

/** Nobody but root can take groups away; those of others have no name inside. */
const groups = isRoot ? [] : (process.getgroups?.() ?? []).map((each) => (each === gid ? gid : 65_534));
/** One byte, where the caller may have as much. */
const [, mostOfCore] = /^Max core file size +\S+ +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
const core = mostOfCore === '0' ? '0' : '1';

/** By programs that stay who they are: each line goes into a file of its own. */
const look = `readlink /proc/$$/cwd > /home/user/found/directory
cd /home/user/found
cat /proc/self/status > status
cat /proc/self/limits > limits
cat /proc/self/mountinfo > mounts
cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups > maps
cat /proc/1/status > init
cat /proc/$$/environ | tr '\\0' '\\n' > environment
cut -d' ' -f5-8 /proc/$$/stat > session
ls /proc/self/fd > descriptors
echo $PPID $(umask) $(uname -n) $(cat /proc/sys/kernel/hostname) > itself
for each in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$each; done > namespaces
cat /proc/net/dev | sed 1,2d | cut -d: -f1 > interfaces
cat /proc/net/if_inet6 /proc/net/fib_trie /proc/net/tcp > network
find / -xdev -printf '%p %y %m %U:%G %l\\n' > root
find /dev -printf '%p %y %m %U:%G %l\\n' > devices
stat -c '%n %a %u:%g' /tmp /dev/shm /home /home/user /workspace /proc > places
for each in / /dev /etc /usr /proc/sys /sys/devices/system/cpu; do touch $each/new 2>&1; done > written
exec python3 -c 'import ctypes
calls, number = ctypes.CDLL(None), ctypes.c_int()
calls.prctl(2, ctypes.byref(number), 0, 0, 0)
with open("process", "w") as file:
    file.write(" ".join(map(str, [number.value, calls.prctl(3), calls.prctl(27), calls.prctl(39, 0, 0, 0, 0)])))
open("done", "w")'`;

type Found = Readonly<Record<string, string>>;
const names =
  'status limits mounts maps init environment session descriptors directory itself namespaces interfaces network root devices places written process'.split(
    ' ',
  );

interface Way {
  /** The command, run in a jail that was made this way. */
  readonly run: (jail: BareJail, options: PlanOptions) => Promise<unknown>;
  /** The number that it has inside, where it is the same every time. */
  readonly first: boolean;
}

const argv = ['sh', '-c', look];
/** With a mask and, where it is root's, a further group: the one is handed on, the other is not. */
const caller = `import os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.umask(0o27)
if os.geteuid() == 0: os.setgroups([64741])
os.execv(sys.argv[1], sys.argv[1:])`;
const called = ['/usr/bin/python3', '-c', caller];

const ways: Readonly<Record<string, Way>> = {
  'made for one command': { first: true, run: (jail, options) => jail.run(jail.plan(argv, options), called) },
  'kept for many': {
    first: false,
    async run(jail, options) {
      const { jail: kept, command } = jail.keptPlans(argv, options);
      const keeping = await jail.keep(kept, called);
      const ended = await keeping.run(command);
      await keeping.end();
      return ended;
    },
  },
  'kept, with its fork mounted again': {
    first: false,
    async run(jail, options) {
      const { jail: kept, command } = jail.keptPlans(argv, options);
      const keeping = await jail.keep(kept, called);
      assert.match(await keeping.release(), /released$/);
      assert.match(await keeping.mount(kept.filter((operation) => operation.do === 'overlay')), /mounted$/);
      const ended = await keeping.run(command);
      await keeping.end();
      return ended;
    },
  },
  'made for another command': {
    first: false,
    async run(jail, options) {
      const { jail: open } = jail.openPlans(
        ['sh', '-c', 'until test -e /home/user/found/done; do sleep 0.02; done; wait'],
        options,
      );
      const { command } = jail.openPlans(['sh', '-c', look], options);
      const said = await jail.runAsked(open, [{ kind: request.command, payload: planBytes(command) }], called);
      // It may be ended with the other one, which waits for its last file.
      return /^0 exited 0 /m.test(said) ? 0 : said;
    },
  },
};

async function found(jail: BareJail, way: Way, options: PlanOptions, owner: readonly [number, number]): Promise<Found> {
  const directory = join(jail.base, 'home', 'found');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  if (isRoot) chownSync(directory, ...owner);
  assert.equal(await way.run(jail, options), 0);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), 'utf8').trim()]));
}

/** `Name: value` lines of /proc. */
function fields(text: string | undefined, wanted: readonly string[]): Readonly<Record<string, string | undefined>> {
  const all = new Map(
    (text ?? '').split('\n').map((line) => {
      const [name = '', value = ''] = line.split(':');
      return [name, value.trim().replace(/\s+/g, ' ')];
    }),
  );
  return Object.fromEntries(wanted.map((name) => [name, all.get(name)]));
}

const lines = (text: string | undefined) => (text ?? '').split('\n').filter(Boolean);

/** Target, kind and options of each mount, as a plan has it: written down here once more, from mount(8). */
function mountsOf(plan: Plan): string[] {
  const all = { 'read only': 'ro', 'no setuid': 'nosuid', 'no devices': 'nodev', 'no execution': 'noexec' } as const;
  const options = (attributes: readonly string[]) =>
    Object.entries(all)
      .filter(([name]) => attributes.includes(name))
      .map(([, option]) => option)
      .join();
  const of = (operation: Operation): string[] => {
    switch (operation.do) {
      case 'root':
        return ['/ ro,nosuid,nodev tmpfs'];
      case 'tmpfs':
        return [`${operation.path} ${options(operation.attributes)} tmpfs`];
      case 'bind':
        return [`${operation.target} ${options(operation.attributes)} host`];
      case 'overlay':
        return [`${operation.target} ${options(operation.attributes)} overlay`];
      case 'proc':
        return [`${operation.path} nosuid,nodev,noexec proc`];
      case 'devpts':
        return [`${operation.path} nosuid,noexec devpts`];
      case 'make read only':
        return [`${operation.path} ro,nosuid,nodev,noexec proc`];
      case 'mask':
        return existsSync(operation.path) ? [`${operation.path} ro,nosuid,noexec host`] : [];
      default:
        return [];
    }
  };
  return plan.flatMap(of).sort();
}

/** What share of the memory each filesystem may fill that a command can write: all together half of it. */
function sharesFound(text: string | undefined, plan: Plan): string[] {
  const places = plan.flatMap((operation) => (operation.do === 'tmpfs' ? [operation.path] : []));
  const memory = Number(/^MemTotal: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
  return lines(text).flatMap((line) => {
    const [target = '', size] = [line.split(' ')[4], / - tmpfs .*\bsize=(\d+)k\b/.exec(line)?.[1]];
    return places.includes(target) ? [`${target} ${(Number(size) / memory).toFixed(2)}`] : [];
  });
}

const kinds = new Set(['tmpfs', 'overlay', 'proc', 'devpts']);

/** A mount of the host may have options of its own, which a user cannot take from it. */
function mountsFound(text: string | undefined, plan: Plan): string[] {
  const wanted = new Map(mountsOf(plan).map((line) => [line.split(' ')[0], line.split(' ')[1]?.split(',') ?? []]));
  const ofHost = new Set(
    plan.flatMap((operation) =>
      operation.do === 'bind' ? [operation.target] : operation.do === 'mask' ? [operation.path] : [],
    ),
  );
  return lines(text)
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , , target = '', options = ''] = before.split(' ');
      const [kind = ''] = after.split(' ');
      const isOfHost = ofHost.has(target) || !kinds.has(kind);
      const kept = ['ro', 'nosuid', 'nodev', 'noexec']
        .filter((option) => options.split(',').includes(option))
        .filter((option) => !isOfHost || option === 'ro' || wanted.get(target)?.includes(option));
      return `${target} ${kept.join()} ${isOfHost ? 'host' : kind}`;
    })
    .sort();
}

const four = (id: number) => Array.from({ length: 4 }, () => id).join(' ');
const nothing = '0000000000000000';
const powerless = {
  CapInh: nothing,
  CapPrm: nothing,
  CapEff: nothing,
  CapBnd: nothing,
  CapAmb: nothing,
  NoNewPrivs: '1',
};
const outside = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'].map((each) =>
  readlinkSync(`/proc/self/ns/${each}`),
);
const hasNewer = existsSync('/proc/net/if_inet6') && readFileSync('/proc/net/if_inet6', 'utf8') !== '';
/** Whom nobody inside has a name for. */
const stranger = 65_534;

for (const [kind, skip] of [
  ['self', false],
  ['shifted', isRoot ? false : 'needs root'],
] as const) {
  describe(`a jail of ${kind === 'self' ? 'a user' : 'root'}`, { skip }, () => {
    if (skip !== false) return;
    const jail = bareJail(kind);
    const [inside, group] = kind === 'self' ? [uid, gid] : [0, 0];
    const owner = kind === 'self' ? ([uid, gid] as const) : ([identityShift, identityShift] as const);
    const [initUser, initGroup] = kind === 'self' ? [uid, gid] : [stranger, stranger];
    const shift = `0 ${identityShift} ${shiftedCount}`;
    const options: PlanOptions = { weakened: jail.landlock > 0 ? [] : ['landlock'] };
    const plan = jail.plan(argv, options);
    const own = `${inside}:${group}`;
    const expected = {
      status: {
        ...powerless,
        Uid: four(inside),
        Gid: four(group),
        Groups: groups.join(' '),
        Seccomp: '2',
        Seccomp_filters: '1',
        SigBlk: nothing,
        SigIgn: nothing,
      },
      init: {
        ...powerless,
        Uid: four(initUser),
        Gid: four(initGroup),
        Groups: groups.join(' '),
        PPid: '0',
        Name: 'jail',
      },
      maps: kind === 'self' ? [`${uid} ${uid} 1`, `${gid} ${gid} 1`, 'deny'] : [shift, shift, 'allow'],
      limits: [
        ['Max core file size', core, core],
        ['Max processes', '1026', '1026'],
        ['Max open files', '16384', '16384'],
        ['Max realtime priority', '0', '0'],
      ],
      mounts: mountsOf(plan),
      shares: plan.flatMap((operation) => (operation.do === 'tmpfs' ? [`${operation.path} 0.25`] : [])),
      handedOn: [],
      environment: ['PATH=/usr/bin:/bin'],
      // The last is the directory that is listed.
      descriptors: ['0', '1', '2', '3'],
      directory: '/workspace',
      // Its parent is the owner, outside.
      itself: '0 0027 ctx ctx',
      leadsSession: true,
      terminal: '0 -1',
      // SIGKILL with its owner; as dumpable as any program; the secure bits of `no exec gives capabilities back`.
      process: `9 1 ${0xef} 1`,
      namespacesOfHost: [],
      interfaces: ['lo'],
      addresses: [...(hasNewer ? [`${'0'.repeat(31)}1`, `fd${'0'.repeat(29)}2`] : []), '127.0.0.1', '127.0.0.2'],
      written: 6,
      devices: ['full', 'null', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name} c 666`),
      places: [
        `/tmp 1777 ${own}`,
        `/dev/shm 1777 ${own}`,
        `/home 755 ${own}`,
        `/home/user 755 ${own}`,
        `/workspace 755 ${own}`,
        `/proc 555 ${stranger}:${stranger}`,
      ],
      oddRoot: [],
    };

    for (const [name, way] of Object.entries(ways)) {
      it(`that is ${name}: all that its command finds`, async () => {
        const seen = await found(jail, way, options, owner);
        const [processGroup, session, ...terminal] = (seen['session'] ?? '').split(' ');
        if (way.first) assert.equal(session, '2');
        const limit = (what: string) =>
          new RegExp(`^${what} +(\\S+) +(\\S+)`, 'm').exec(seen['limits'] ?? '')?.slice(1, 3) ?? [];
        assert.deepEqual(
          {
            status: fields(seen['status'], Object.keys(expected.status)),
            init: fields(seen['init'], Object.keys(expected.init)),
            maps: lines(seen['maps']).map((line) => line.trim().replace(/\s+/g, ' ')),
            limits: expected.limits.map(([what = '']) => [what, ...limit(what)]),
            mounts: mountsFound(seen['mounts'], plan),
            shares: sharesFound(seen['mounts'], plan),
            handedOn: lines(seen['mounts']).filter((line) => / (shared|master|propagate_from):/.test(line)),
            environment: lines(seen['environment']),
            descriptors: lines(seen['descriptors']),
            directory: seen['directory'],
            itself: seen['itself'],
            leadsSession: processGroup === session && session !== '0',
            terminal: terminal.join(' '),
            process: seen['process'],
            namespacesOfHost: lines(seen['namespaces']).filter((each) => outside.includes(each)),
            interfaces: lines(seen['interfaces']).map((each) => each.trim()),
            addresses: expected.addresses.filter((address) => seen['network']?.includes(address)),
            written: lines(seen['written']).length,
            devices: lines(seen['devices'])
              .filter((line) => !/^\/dev(\/(shm|pts|ptmx|fd|std\w+)(\/\S*)? | )/.test(line))
              .map((line) => line.split(' ').slice(0, 3).join(' '))
              .sort(),
            places: lines(seen['places']),
            oddRoot: oddInRoot(lines(seen['root']), own, plan),
          },
          expected,
        );
      });
    }
  });
}

describe('a command of root’s jail', { skip: isRoot ? false : 'needs root' }, () => {
  if (!isRoot) return;
  const jail = bareJail('shifted');
  const shift = identityShift;
  const script = `cd /home/user/seen
id -u > user; id -g > group; grep ^Groups /proc/self/status | cut -f2 > groups
stat -c %u:%g /workspace > fork; : > /workspace/new; stat -c %u:%g /workspace/new > new`;
  const last = shiftedCount;
  const cases: Readonly<
    Record<string, readonly [Partial<JailView['identity']>, number, Readonly<Record<string, string>>]>
  > = {
    'has the groups that it is given': [
      { groups: [7, 9] },
      0,
      { user: '0', group: '0', groups: '7 9', fork: '0:0', new: '0:0', disk: '0:0' },
    ],
    'has other numbers inside than outside': [
      { uid: 1000, gid: 1001, outside: { uid: 0, gid: 0 } },
      0,
      { user: '1000', group: '1001', groups: '', fork: '1000:1001', new: '1000:1001', disk: '0:0' },
    ],
    'has the fork of another as its own': [
      { uid: 5000, gid: 5001, owner: { uid: 1000, gid: 1000 } },
      1000,
      { user: '5000', group: '5001', groups: '', fork: '5000:5001', new: '5000:5001', disk: '1000:1000' },
    ],
  };
  for (const [what, [identity, owner, expected]] of Object.entries(cases)) {
    it(what, async () => {
      const seen = join(jail.base, 'home', 'seen');
      rmSync(seen, { recursive: true, force: true });
      rmSync(join(jail.base, 'upper', 'new'), { force: true });
      mkdirSync(seen);
      chmodSync(seen, 0o777);
      for (const name of ['layer', 'upper', 'work', 'home'])
        chownSync(join(jail.base, name), owner + shift, owner + shift);
      chmodSync(join(jail.base, 'home'), 0o755);
      const whole = { ...shiftedIdentity, ...identity } as JailView['identity'];
      const plan = jail.plan(['sh', '-c', script], { weakened: ['landlock'], more: { identity: whole } });
      assert.equal(await jail.run(plan), 0);
      const about = statSync(join(jail.base, 'upper', 'new'));
      const disk = `${about.uid - shift}:${about.gid - shift}`;
      const found = Object.keys(expected).map((name) => [
        name,
        name === 'disk' ? disk : readFileSync(join(seen, name), 'utf8').trim(),
      ]);
      assert.deepEqual(Object.fromEntries(found), expected);
    });
  }

  it('is nobody to what is beyond its numbers', async () => {
    const plan = jail.plan(['sh', '-c', 'stat -c %u /home/user/theirs > /home/user/whose'], { weakened: ['landlock'] });
    for (const [id, inside] of [
      [shift - 1, '65534'],
      [shift, '0'],
      [shift + last - 1, String(last - 1)],
      [shift + last, '65534'],
    ] as const) {
      const theirs = join(jail.base, 'home', 'theirs');
      writeFileSync(theirs, '');
      chownSync(join(jail.base, 'home'), shift, shift);
      chownSync(theirs, id, id);
      assert.equal(await jail.run(plan), 0);
      assert.equal(readFileSync(join(jail.base, 'home', 'whose'), 'utf8').trim(), inside, String(id - shift));
    }
  });
});

/**
 * What in the root itself is not as it was asked for: places to mount on, links, files. All belong to the command's user.
 */
function oddInRoot(found: readonly string[], owner: string, plan: Plan): readonly string[] {
  const made = new Map(
    plan.flatMap((operation): (readonly [string, string])[] => {
      if (operation.do === 'symlink') return [[operation.path, `${operation.path} l 777 ${owner} ${operation.target}`]];
      if (operation.do === 'file') return [[operation.path, `${operation.path} f 644 ${owner}`]];
      if (operation.do === 'directory')
        return [[operation.path, `${operation.path} d ${operation.mode.toString(8)} ${owner}`]];
      return [];
    }),
  );
  const mounted = new Set(
    plan.flatMap((operation) =>
      'target' in operation ? [operation.target] : 'attributes' in operation ? [operation.path] : [],
    ),
  );
  const seen = found.map((line) => line.trim());
  const missing = [...made].filter(([path, line]) => !path.startsWith('/dev/') && !seen.includes(line));
  const other = seen.filter((line) => {
    const [path = '', what, mode, by] = line.split(' ');
    if (made.has(path) || mounted.has(path) || /^\/(proc|dev)(\/|$)/.test(path)) return false;
    return what !== 'd' || mode !== '755' || by !== owner;
  });
  return [...missing.map(([, line]) => line), ...other];
}
