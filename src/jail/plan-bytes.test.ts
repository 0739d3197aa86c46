import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodePlan } from '../../test/property/decode-plan.js';
import { seeded } from '../../test/property/seeded.js';
import { hasCode } from '../base/errno.js';
import { encodePath } from '../base/path-bytes.js';
import type { Operation, Plan } from './operation.js';
import { planBytes, planLimits } from './plan-bytes.js';

const header = readFileSync(new URL('../../../../native/jail/plan.h', import.meta.url), 'utf8');

/** `OP_BASE` is 1, and so on, as the compiler counts them. */
function codesOfHeader(): ReadonlyMap<string, number> {
  const body = /enum code \{(.*?)\n\};/s.exec(header)?.[1] ?? '';
  const withoutComments = body.replace(/\/\*.*?\*\//gs, '');
  let next = 0;
  const codes = new Map<string, number>();
  for (const item of withoutComments.split(',').map((text) => text.trim())) {
    const match = /^(OP_[A-Z_]+)(?:\s*=\s*(\d+))?$/.exec(item);
    if (match?.[1] === undefined) continue;
    next = match[2] === undefined ? next : Number(match[2]);
    codes.set(match[1], next);
    next += 1;
  }
  return codes;
}

function numberOfHeader(name: string): number {
  const [, value = '', shift = '0'] = new RegExp(`${name} = (\\d+)(?: << (\\d+))?,`).exec(header) ?? [];
  return Number(value) * 2 ** Number(shift);
}

/** One of each, with the name the header gives it. */
const examples = {
  base: ['OP_BASE', { do: 'base', directory: '/store/vault' }],
  namespaces: [
    'OP_NAMESPACES',
    { do: 'namespaces', of: ['user', 'mount', 'pid', 'network', 'ipc', 'hostname', 'cgroup'] },
  ],
  'map self': ['OP_MAP_SELF', { do: 'map self', uid: 1000, gid: 100 }],
  hostname: ['OP_HOSTNAME', { do: 'hostname', name: 'ctx' }],
  loopback: ['OP_LOOPBACK', { do: 'loopback' }],
  root: ['OP_ROOT', { do: 'root', bytes: 2 ** 40 }],
  directory: ['OP_DIRECTORY', { do: 'directory', path: '/var', mode: 0o755 }],
  file: ['OP_FILE', { do: 'file', path: '/etc/passwd', content: 'a\nb\n', mode: 0o644 }],
  symlink: ['OP_SYMLINK', { do: 'symlink', path: '/bin', target: 'usr/bin' }],
  tmpfs: ['OP_TMPFS', { do: 'tmpfs', path: '/tmp', mode: 0o1777, attributes: ['no setuid', 'no devices'] }],
  bind: [
    'OP_BIND',
    { do: 'bind', source: '/usr', target: '/usr', attributes: ['read only', 'no execution'], identity: '8:4' },
  ],
  overlay: [
    'OP_OVERLAY',
    { do: 'overlay', target: '/w', lower: ['l/1', 'l/0'], upper: 'u', work: 'k', attributes: [] },
  ],
  proc: ['OP_PROC', { do: 'proc', path: '/proc' }],
  devpts: ['OP_DEVPTS', { do: 'devpts', path: '/dev/pts' }],
  mask: ['OP_MASK', { do: 'mask', path: '/proc/kcore' }],
  'make read only': ['OP_READ_ONLY', { do: 'make read only', path: '/proc/sys' }],
  pivot: ['OP_PIVOT', { do: 'pivot' }],
  shift: ['OP_SHIFT', { do: 'shift', by: 0x70000000, count: 65536 }],
  user: ['OP_USER', { do: 'user', uid: 4294967294, gid: 5 }],
  limit: ['OP_LIMIT', { do: 'limit', resource: 7, value: 2n ** 64n - 1n }],
  'command directory': ['OP_DIRECTORY_OF_COMMAND', { do: 'command directory', path: '/w' }],
  environment: ['OP_ENVIRONMENT', { do: 'environment', variables: { PATH: '/bin', EMPTY: '', ODD: 'a=b' } }],
  command: ['OP_COMMAND', { do: 'command', argv: ['sh', '-c', 'true', ''] }],
  landlock: ['OP_LANDLOCK', { do: 'landlock', rights: 0xffffn, scopes: 3 }],
  'landlock rule': ['OP_LANDLOCK_RULE', { do: 'landlock rule', path: '/w', rights: 0xdn }],
  'control group': ['OP_CGROUP', { do: 'control group', directory: '/sys/fs/cgroup/ctx-1' }],
  owners: ['OP_OWNERS', { do: 'owners', users: '0 0 1', groups: '0 0 1\n1 2 3' }],
  numbers: ['OP_NUMBERS', { do: 'numbers', users: '0 0 1', groups: '1 2 3', uid: 4711, gid: 5 }],
  groups: ['OP_GROUPS', { do: 'groups', of: [5, 4294967294] }],
  fuse: ['OP_FUSE', { do: 'fuse', path: '/data', channel: 15, attributes: ['no setuid', 'read only'] }],
  cache: [
    'OP_CACHE',
    {
      do: 'cache',
      target: '/h/c',
      source: '/home/c',
      upper: 'u',
      work: 'w',
      attributes: ['no setuid', 'shifted owners'],
    },
  ],
  again: ['OP_AGAIN', { do: 'again', source: '/w', target: '/workspace', attributes: ['no setuid', 'read only'] }],
  'report held files': ['OP_HELD', { do: 'report held files', paths: ['/w', '/home/user'] }],
  listen: ['OP_LISTEN', { do: 'listen', port: 3128 }],
  seccomp: ['OP_SECCOMP', { do: 'seccomp', filter: Buffer.from('0600000000000000', 'hex') }],
} satisfies Readonly<Record<Operation['do'], readonly [string, Operation]>>;
const all: Plan = Object.values(examples).map(([, operation]) => operation);

const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));

describe('the bytes of a plan', () => {
  it('have the codes that native/jail/plan.h gives them, and leave none of them out', () => {
    const codes = codesOfHeader();
    assert.equal(codes.get('OP_COUNT'), codes.size);
    assert.deepEqual(
      [...codes.keys()].filter((name) => name !== 'OP_COUNT').sort(),
      Object.values(examples)
        .map(([name]) => name)
        .sort(),
    );
    const decoded = decodePlan(planBytes(all));
    Object.values(examples).forEach(([name], index) => {
      assert.equal(decoded[index]?.code, codes.get(name), name);
    });
  });

  it('have the version and the limits of that header', () => {
    assert.equal(planBytes([]).readUInt32LE(8), numberOfHeader('PLAN_VERSION'));
    assert.deepEqual(planLimits, {
      bytes: numberOfHeader('PLAN_MAX_BYTES'),
      operations: numberOfHeader('PLAN_MAX_OPERATIONS'),
      strings: numberOfHeader('PLAN_MAX_STRINGS'),
      channels: numberOfHeader('PLAN_MAX_CHANNELS'),
    });
  });

  it('say what the operations say', () => {
    const decoded = decodePlan(planBytes(all));
    const of = (name: Operation['do']) => decoded[Object.keys(examples).indexOf(name)];
    assert.deepEqual(of('base'), { code: 1, flags: 0, number: 0n, strings: ['/store/vault'] });
    // The clone flags of linux/sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
    assert.equal(
      of('namespaces')?.flags,
      0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000,
    );
    assert.equal(of('map self')?.number, (1000n << 32n) | 100n);
    assert.equal(of('user')?.number, (4294967294n << 32n) | 5n);
    assert.equal(of('shift')?.number, (0x70000000n << 32n) | 65536n);
    assert.equal(of('root')?.number, 1n << 40n);
    assert.equal(of('tmpfs')?.number, 0o1777n);
    // MOUNT_ATTR_RDONLY 1, NOSUID 2, NODEV 4, NOEXEC 8 of linux/mount.h.
    assert.equal(of('tmpfs')?.flags, 2 | 4);
    assert.equal(of('bind')?.flags, 1 | 8);
    assert.deepEqual(of('overlay')?.strings, ['/w', 'l/1:l/0', 'u', 'k']);
    assert.deepEqual(of('bind')?.strings, ['/usr', '/usr', '8:4']);
    assert.deepEqual(of('groups')?.strings, ['5', '4294967294']);
    assert.deepEqual(of('limit'), { code: 20, flags: 7, number: 2n ** 64n - 1n, strings: [] });
    assert.deepEqual(of('environment')?.strings, ['PATH=/bin', 'EMPTY=', 'ODD=a=b']);
    assert.deepEqual(of('command')?.strings, ['sh', '-c', 'true', '']);
  });

  it('hold every word of a command exactly, whatever it is', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (argv) => {
        const [command] = decodePlan(planBytes([{ do: 'command', argv }]));
        assert.deepEqual(command?.strings, argv);
      }),
      seeded(200),
    );
  });

  it('never hold a NUL inside a word: that is refused', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const word = `${before}\0${after}`;
        for (const operation of [
          { do: 'command', argv: ['true', word] },
          { do: 'environment', variables: { A: word } },
          { do: 'bind', source: word, target: '/x', attributes: [] },
          { do: 'file', path: '/x', content: word, mode: 0o644 },
        ] satisfies Operation[]) {
          assert.throws(
            () => planBytes([operation]),
            (error) => hasCode(error, 'EINVAL'),
          );
        }
      }),
      seeded(50),
    );
  });

  it('never let the name of a layer become two layers or a mount option', () => {
    for (const odd of ['l/1:/etc', 'l/1,metacopy=on', 'l\\1']) {
      for (const layers of [
        { lower: [odd], upper: 'u', work: 'k' },
        { lower: ['l'], upper: odd, work: 'k' },
        { lower: ['l'], upper: 'u', work: odd },
      ]) {
        assert.throws(
          () => planBytes([{ do: 'overlay', target: '/w', ...layers, attributes: [] }]),
          (error) => hasCode(error, 'EINVAL'),
          odd,
        );
      }
    }
  });

  it('are refused with the number when there is more than the reader takes', () => {
    const words = (count: number) => Array.from({ length: count }, () => 'x');
    assert.ok(planBytes([{ do: 'command', argv: words(planLimits.strings) }]));
    const pivots = (count: number): Plan => Array.from({ length: count }, () => ({ do: 'pivot' }) as const);
    assert.ok(planBytes(pivots(planLimits.operations)));
    // The reader counts the frame's own head, two numbers, with the plan (native/jail/plan.c).
    const [most, around] = [planLimits.bytes - 8, planBytes([{ do: 'command', argv: [''] }]).length];
    assert.equal(planBytes([{ do: 'command', argv: ['x'.repeat(most - around)] }]).length, most);
    for (const plan of [
      [{ do: 'command', argv: words(planLimits.strings + 1) }],
      [{ do: 'command', argv: ['x'.repeat(most - around + 1)] }],
      pivots(planLimits.operations + 1),
    ] satisfies Plan[]) {
      assert.throws(
        () => planBytes(plan),
        (error) => hasCode(error, 'E2BIG'),
      );
    }
  });
});

describe('a word of a plan', () => {
  it('is written byte for byte, as text or not, and one that stands for no bytes is refused', () => {
    const argv = ['é', 'a\udcff\udcc3b', '\ufffd', '', '😀', '\udc80'];
    const bytes = planBytes([{ do: 'command', argv }]);
    const strings = argv.map((word) => Buffer.concat([encodePath(word), Buffer.of(0)]));
    const lengths = strings.map((each) => each.length - 1);
    let at = 32;
    for (const [index, each] of strings.entries()) {
      assert.equal(bytes.readUInt32LE(at), lengths[index]);
      assert.deepEqual(bytes.subarray(at + 4, at + 4 + each.length), each);
      at += 4 + each.length;
    }
    assert.equal(at, bytes.length);
    for (const word of ['\ud800', 'a\udc00', '\udd00b'])
      assert.throws(() => planBytes([{ do: 'command', argv: [word] }]), { code: 'EINVAL' });
  });
});
