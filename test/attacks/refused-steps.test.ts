/**
 * Steps of a jail that the kernel refuses, one at a time: the jail says which step it was, and its command does not run. A step that
 * failed and is passed over would be a wall that is missing.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import type { Operation } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { cannotCompile } from '../support/attack-program.js';
import { type BareJail, bareJail, type PlanOptions } from '../support/bare-jail.js';
import { type Argument, callRefuser, type RefusedCall } from '../support/refuse-call.js';

const { EACCES, EINVAL, EIO, ENOMEM, ENOSYS, EPERM } = constants.errno;
const isRoot = process.getuid?.() === 0;
const nothingDone = 0;

/** The call, the errno that it gets, the operation that the jail names, and which of the calls it is. */
type Step = readonly [call: string, error: number, operation: string, ...given: readonly Argument[]];

/** What openat, mount_setattr, prctl and the like are asked for: as the kernel's headers number it. */
const asked = {
  newUser: 0x7e020000 & ~0x40000000,
  newNetwork: 0x40000000,
  newShifted: 0x6e020000 & ~0x40000000,
  joinNetwork: [1, 0x40000000],
  joinUsers: [1, 0x10000000],
  allMounts: [2, 0x8000],
  allOfOne: [2, 0x9000],
  oneMount: [2, 0x1000],
  byPath: [2, 0],
  newFile: [2, 0o2_400_301],
  create: [1, 6],
  setText: [1, 1],
  here: [0, 0xffffff9c],
  emptyPath: [3, 0x1000],
  loopbackUp: [1, 0x8914],
  asDirectory: [2, 0x200],
} as const;
const prctl = (option: number) => [0, option] as const;
/** The first process gives up at the same time what the command does: either may be the first to say so. */
const either = '(?:user|pivot)';

const foundation: readonly Step[] = [
  ['close_range', ENOSYS, 'start', [2, 0]],
  ['close_range', ENOSYS, 'start', [2, 4]],
  ['dup3', EINVAL, 'start'],
  ['chdir', EACCES, 'base'],
  ['unshare', EPERM, 'namespaces', [0, asked.newUser]],
  ['unshare', ENOMEM, 'namespaces', [0, asked.newNetwork]],
  ['sethostname', EPERM, 'hostname'],
  ['ioctl', EPERM, 'loopback', asked.loopbackUp],
  ['mount_setattr', EPERM, 'root', asked.allMounts],
  ['mount', EPERM, 'root'],
  ['symlinkat', EACCES, 'symlink'],
  ['fchmodat', EPERM, 'directory'],
  ['openat', EACCES, 'file', asked.newFile],
  ['mknodat', EPERM, 'bind'],
  ['open_tree_attr', EINVAL, 'bind'],
  ['move_mount', EPERM, 'bind'],
  ['openat2', EACCES, 'bind', asked.here],
  ['newfstatat', EIO, 'bind', asked.emptyPath],
  ['fsopen', EPERM, 'tmpfs'],
  ['fsconfig', EINVAL, 'tmpfs', asked.setText],
  ['fsconfig', EPERM, 'tmpfs', asked.create],
  ['fsmount', EPERM, 'tmpfs'],
  ['mount_setattr', EPERM, 'overlay', asked.byPath],
  ['unlinkat', EPERM, 'overlay', asked.asDirectory],
  ['open_tree', EPERM, 'read-only'],
  ['statx', EIO, 'read-only'],
  ['mount_setattr', EPERM, 'read-only', asked.allOfOne],
  ['mount_setattr', EPERM, 'pivot', asked.oneMount],
  ['fchdir', EACCES, 'pivot'],
  ['pivot_root', EINVAL, 'pivot'],
  ['umount2', EINVAL, 'pivot'],
  ['setns', EPERM, 'pivot', asked.joinNetwork],
  ['prctl', EINVAL, 'pivot', prctl(4)],
];

const ofCommand: readonly Step[] = [
  ['setsid', EPERM, 'loopback'],
  ['close_range', ENOSYS, 'loopback', [1, 0xffffffff], [2, 4]],
  ...[6, 4, 7, 14].map((resource): Step => ['prlimit64', EPERM, 'limit', [1, resource]]),
  ['keyctl', EACCES, 'user'],
  ['capset', EPERM, either],
  ['prctl', EPERM, either, prctl(24)],
  ['prctl', EINVAL, either, prctl(24)],
  ...[0, 21, 39, 40].map((capability): Step => ['prctl', EINVAL, either, [1, capability]]),
  ['prctl', EPERM, either, prctl(28)],
  ['prctl', EINVAL, either, prctl(38)],
  ['prctl', EINVAL, either, prctl(1)],
  ['setresgid', EPERM, either],
  ['setresuid', EPERM, either],
  ['landlock_create_ruleset', EPERM, 'landlock'],
  ['landlock_create_ruleset', ENOSYS, 'landlock'],
  ['landlock_add_rule', EPERM, 'landlock-rule'],
  ['landlock_restrict_self', EPERM, 'command'],
  ['seccomp', EINVAL, 'seccomp'],
  ['sendmsg', EPERM, 'seccomp'],
];

function launcher(jail: BareJail) {
  const refusing = callRefuser(jail.base);
  const ran = join(jail.base, 'home', 'ran');
  const script = ['sh', '-c', ': > /home/user/ran'];
  const plan = (options: PlanOptions = { weakened: [] }) => jail.plan(script, options);
  return {
    plan,
    async launch(refused: readonly RefusedCall[], of: readonly Operation[] = plan()) {
      rmSync(ran, { force: true });
      const ended = await jail.run(of, refusing(...refused));
      return { ended, ran: existsSync(ran) };
    },
  };
}

function failed({ ended, ran }: { readonly ended: unknown; readonly ran: boolean }, step: Step): void {
  const [call, error, operation, ...given] = step;
  const what = `${call} ${given.join(' ')} answers ${error}: ${ended}`;
  assert.equal(ran, false, what);
  assert.match(String(ended), new RegExp(`^0 failed \\d+ ${operation} ${error} .`), what);
}

const refusedCall = ([call, error, , ...given]: Step): RefusedCall => ({ call, error, arguments: given });

describe('a step that the kernel refuses', { skip: cannotCompile }, () => {
  const jail = bareJail();
  const { plan, launch } = launcher(jail);
  const noLandlock = jail.landlock === 0;

  it('is none of an ordinary launch', async () => {
    assert.deepEqual(await launch([], plan()), { ended: 0, ran: true });
  });

  for (const [what, steps] of [
    ['of the jail', foundation],
    ['of its command', ofCommand],
  ] as const) {
    it(`${what} ends the launch, and is named`, async () => {
      for (const step of steps) {
        if (noLandlock && step[0].startsWith('landlock')) continue;
        failed(await launch([refusedCall(step)]), step);
      }
    });
  }

  it('is one of the plan’s: the index says which', async () => {
    const operations = plan();
    const hostname = operations.findIndex((operation) => operation.do === 'hostname');
    const { ended } = await launch([{ call: 'sethostname', error: EPERM }], operations);
    assert.equal(ended, `0 failed ${hostname} hostname ${EPERM} setting the host name\0`);
  });

  it('is noticed, too, where a call says that it worked and nothing was done', async () => {
    const cases: readonly Step[] = [
      ['pivot_root', nothingDone, 'pivot'],
      ['prctl', nothingDone, 'command', prctl(39)],
    ];
    for (const step of cases) {
      const { ended, ran } = await launch([refusedCall(step)]);
      assert.deepEqual([typeof ended, ran], ['string', false], `${step[0]}: ${ended}`);
    }
  });

  it('is done another way where the kernel is older', async () => {
    const older: readonly RefusedCall[][] = [
      [{ call: 'open_tree_attr', error: ENOSYS }],
      [{ call: 'open_tree_attr', error: EPERM }],
      [{ call: 'seccomp', error: EINVAL, arguments: [[1, 0x28]] }],
      [{ call: 'keyctl', error: ENOSYS }],
      [{ call: 'socket', error: EACCES, arguments: [[0, 16]] }],
    ];
    for (const refused of older) {
      assert.deepEqual(await launch(refused), { ended: 0, ran: true }, refused[0]?.call);
    }
    const both: readonly RefusedCall[] = [
      { call: 'open_tree_attr', error: ENOSYS },
      { call: 'open_tree', error: EPERM },
    ];
    failed(await launch(both), ['open_tree', EPERM, 'bind']);
    const attributes: readonly RefusedCall[] = [
      { call: 'open_tree_attr', error: ENOSYS },
      { call: 'mount_setattr', error: EPERM, arguments: [asked.allOfOne] },
    ];
    failed(await launch(attributes), ['mount_setattr', EPERM, 'bind']);
  });

  it('is not needed where nothing is at its place', async () => {
    const landlocked = plan({ weakened: ['seccomp'] });
    const more = (path: string): Operation[] =>
      landlocked.flatMap((operation): Operation[] =>
        operation.do === 'landlock' ? [operation, { do: 'landlock rule', path, rights: 1n }] : [operation],
      );
    if (!noLandlock) assert.deepEqual(await launch([], more('/nothing/here')), { ended: 0, ran: true });
    const absent: readonly Operation[] = [
      { do: 'mask', path: '/proc/nothing' },
      { do: 'make read only', path: '/proc/nothing/here' },
    ];
    const at = landlocked.findIndex((operation) => operation.do === 'pivot');
    assert.deepEqual(await launch([], [...landlocked.slice(0, at), ...absent, ...landlocked.slice(at)]), {
      ended: 0,
      ran: true,
    });
  });
});

describe('a step of root’s jails that the kernel refuses', {
  skip: cannotCompile ?? (isRoot ? false : 'needs root'),
}, () => {
  const jail = bareJail('shifted');
  const { plan, launch } = launcher(jail);
  const groups = { kind: 'shifted', uid: 0, gid: 0, shift: 0x70000000, groups: [7, 9] } as const;

  it('ends the launch, and is named', async () => {
    assert.deepEqual(await launch([]), { ended: 0, ran: true });
    const steps: readonly Step[] = [
      ['setns', EPERM, 'loopback', asked.joinUsers],
      ['setgroups', EPERM, '(?:loopback|pivot)', [0, 0]],
      ['fchownat', EIO, 'symlink'],
      ['unshare', EPERM, 'namespaces', [0, asked.newShifted]],
    ];
    for (const step of steps) failed(await launch([refusedCall(step)]), step);
    const more = plan({ weakened: [], more: { identity: groups } });
    assert.deepEqual(await launch([], more), { ended: 0, ran: true });
    const step: Step = ['setgroups', EPERM, 'groups', [0, 2]];
    failed(await launch([refusedCall(step)], more), step);
  });

  it('is none where a filesystem has no owners', async () => {
    for (const error of [EPERM, EINVAL]) {
      assert.deepEqual(await launch([{ call: 'fchownat', error }]), { ended: 0, ran: true }, String(error));
    }
  });
});

describe('a step of a kept jail that the kernel refuses', { skip: cannotCompile }, () => {
  const jail = bareJail();
  const refusing = callRefuser(jail.base);
  const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
  const { jail: plan, command } = jail.keptPlans(['true'], options);
  const start = (...refused: readonly RefusedCall[]) =>
    new AskedJail(jail, plan, { mode: 'serve', wrapper: refusing(...refused) });
  const newMounts = 0x20000;

  it('ends it before it takes a command, and is named', async () => {
    const steps: readonly Step[] = [
      ['socketpair', EPERM, 'start'],
      ['mount_setattr', EPERM, 'hostname', asked.allMounts],
      ['unshare', EPERM, 'hostname', [0, newMounts]],
      ['mount', EPERM, 'hostname'],
      ['mkdirat', EPERM, 'hostname'],
      ['open_tree', EPERM, 'hostname', [2, 0x81001]],
      ['move_mount', EPERM, 'hostname'],
      ['pivot_root', EPERM, 'hostname'],
      ['umount2', EPERM, 'hostname'],
      ['fchdir', EACCES, 'hostname'],
      ['setns', EPERM, 'hostname', [1, newMounts]],
      ['chroot', EPERM, 'hostname'],
    ];
    for (const step of steps) {
      const kept = start(refusedCall(step));
      const said = await kept.reported(/^0 (started|failed)/);
      await kept.closed;
      failed({ ended: said, ran: kept.said.some((report) => / started/.test(report)) }, step);
    }
  });

  it('leaves nothing of its fork mounted, and it goes on', async () => {
    const kept = start({ call: 'open_tree', error: EPERM, arguments: [[2, 0x80001]] });
    try {
      await kept.reported(/^0 started$/);
      const overlays = planBytes(plan.filter((operation) => operation.do === 'overlay'));
      kept.ask(1, request.release);
      assert.equal(await kept.reported(/^1 /), '1 released');
      for (const id of [2, 4]) {
        kept.ask(id, request.overlays, overlays);
        assert.match(
          await kept.reported(new RegExp(`^${id} `)),
          new RegExp(`^${id} failed \\d+ request ${EPERM} /workspace$`),
        );
        assert.equal(readFileSync(`/proc/${kept.pid}/mountinfo`, 'utf8').includes(' - overlay ctx-'), false);
        kept.ask(id + 1, request.command, planBytes(command));
        assert.match(await kept.reported(new RegExp(`^${id + 1} `)), / the fork is not mounted$/);
      }
    } finally {
      await kept.end();
    }
  });
});
