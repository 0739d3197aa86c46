/** What this host offers a jail: asked of the kernel by trying, explained with the remedy for what is missing. */
import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants as osConstants, release } from 'node:os';
import { join } from 'node:path';
import { ErrnoError, hasCode } from '../base/errno.js';
import { installAgain } from '../base/native-program.js';
import { type Controller, holdableLimits } from './cgroup.js';

export interface HostFacts {
  readonly kernel: string;
  readonly root: boolean;
  readonly store: string;
  /** Errno of each attempt; 0 where it works. */
  readonly attempts: Readonly<
    Record<'user-namespace' | 'namespaces' | 'overlay' | 'proc' | 'seccomp' | 'owners', number>
  >;
  readonly landlock: number;
  readonly fuse: 'usable' | 'closed' | 'missing';
  readonly cgroup: { readonly version: 0 | 1 | 2; readonly controllers: readonly string[] };
  /** What this user's commands can be held to. */
  readonly limits: readonly Controller[];
  readonly appArmorRestriction: boolean;
}

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'optional';
  readonly found: string;
  readonly remedy?: string;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES')) return '';
    throw error;
  }
}

function fuseState(): HostFacts['fuse'] {
  if (!existsSync('/dev/fuse')) return 'missing';
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return 'usable';
  } catch (error) {
    if (hasCode(error, 'EACCES')) return 'closed';
    throw error;
  }
}

function cgroupFacts(): HostFacts['cgroup'] {
  const unified = readText('/sys/fs/cgroup/cgroup.controllers');
  if (unified !== '') return { version: 2, controllers: unified.split(' ') };
  const wanted = ['cpu', 'memory', 'pids'].filter((name) => existsSync(`/sys/fs/cgroup/${name}/cgroup.procs`));
  return wanted.length > 0 ? { version: 1, controllers: wanted } : { version: 0, controllers: [] };
}

/** Tries everything for real; what it makes in the store is gone when it returns. */
export function probeHost(program: string, store: string, lockLibrary: string): HostFacts {
  const directory = mkdtempSync(join(store, 'probe-'));
  try {
    for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(join(directory, name));
    const { stdout, error } = spawnSync(program, ['probe', directory], { encoding: 'utf8', env: {} });
    if (error !== undefined) {
      throw new ErrnoError('ENOENT', {
        operation: 'probe',
        path: program,
        reason: error.message,
        remedy: installAgain,
      });
    }
    const values = new Map(stdout.split('\n').map((line) => line.split(' ') as [string, string]));
    const attempt = (name: string) => Number(values.get(name) ?? osConstants.errno.EIO);
    return {
      kernel: release(),
      root: process.geteuid?.() === 0,
      store,
      attempts: {
        'user-namespace': attempt('user-namespace'),
        namespaces: attempt('namespaces'),
        overlay: attempt('overlay'),
        proc: attempt('proc'),
        seccomp: attempt('seccomp'),
        owners: attempt('owners'),
      },
      landlock: Number(values.get('landlock') ?? 0),
      fuse: fuseState(),
      cgroup: cgroupFacts(),
      limits: holdableLimits(lockLibrary),
      appArmorRestriction: readText('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1',
    };
  } finally {
    // An overlay leaves directories of mode 000 in its work directory, which only root may list as they are.
    for (const left of ['work/work', 'work/work/incompat', 'work/work/incompat/volatile']) {
      if (existsSync(join(directory, left))) chmodSync(join(directory, left), 0o700);
    }
    rmSync(directory, { recursive: true, force: true });
  }
}

const errnoNames = new Map(Object.entries(osConstants.errno).map(([name, number]) => [number, name]));

/** mount_setattr came with 5.12; overlay in a user namespace with 5.11. */
const oldestKernel = [5, 12] as const;

function kernelIsNewEnough(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major > oldestKernel[0] || (major === oldestKernel[0] && minor >= oldestKernel[1]);
}

function userNamespaceRemedy(facts: HostFacts): string {
  if (facts.appArmorRestriction)
    return 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for ctx';
  return 'sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1; in Docker: --security-opt seccomp=unconfined';
}

function attempted(facts: HostFacts, name: keyof HostFacts['attempts'], title: string, remedy: string): Check {
  const errno = facts.attempts[name];
  if (errno === 0) return { name: title, state: 'ok', found: 'works' };
  return { name: title, state: 'missing', found: errnoNames.get(errno) ?? `errno ${errno}`, remedy };
}

const limitOptions = { memory: '--memory', pids: '--processes', cpu: '--cpus' } as const;

/** What is promised here is what `ctx exec` does: it was tried as this user. */
function limitsCheck({ limits, root }: HostFacts): Check {
  const options = (held: boolean) =>
    (['memory', 'pids', 'cpu'] as const)
      .filter((limit) => limits.includes(limit) === held)
      .map((limit) => limitOptions[limit])
      .join(' ');
  if (options(false) === '') return { name: 'limits', state: 'ok', found: options(true) };
  return {
    name: 'limits',
    state: 'optional',
    found: `${options(true)}; ${options(false)} cannot be enforced for ${root ? 'root' : 'you'}, and are refused`,
    remedy: root
      ? 'mount cgroup2 at /sys/fs/cgroup, with the memory and cpu controllers'
      : 'run ctx under `systemd-run --user --scope -p Delegate=yes`, or as root',
  };
}

/** Pure: facts in, one check a line out, in the order a person would mend them. */
export function diagnose(facts: HostFacts): readonly Check[] {
  const { landlock, fuse, cgroup } = facts;
  return [
    kernelIsNewEnough(facts.kernel)
      ? { name: 'kernel', state: 'ok', found: facts.kernel }
      : { name: 'kernel', state: 'missing', found: facts.kernel, remedy: `Linux ${oldestKernel.join('.')} or newer` },
    attempted(facts, 'user-namespace', 'user namespaces', userNamespaceRemedy(facts)),
    attempted(facts, 'namespaces', 'all namespaces', userNamespaceRemedy(facts)),
    attempted(
      facts,
      'overlay',
      "overlay on the store's filesystem",
      `set CTX_DATA to a directory on ext4, xfs, btrfs or tmpfs; ${facts.store} cannot hold overlay layers (it may be an overlay itself, as in Docker)`,
    ),
    attempted(
      facts,
      'proc',
      'own /proc',
      'this /proc is masked, as in Docker: run the container with --security-opt systempaths=unconfined',
    ),
    attempted(facts, 'seccomp', 'seccomp', 'a kernel with CONFIG_SECCOMP_FILTER'),
    landlock > 0
      ? { name: 'Landlock', state: 'ok', found: `ABI ${landlock}` }
      : {
          name: 'Landlock',
          state: 'missing',
          found: 'none',
          remedy: 'a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in lsm=; `--weaken landlock` runs without it',
        },
    facts.attempts.owners === 0
      ? { name: 'idmapped mounts', state: 'ok', found: facts.root ? 'work' : 'only root needs them' }
      : {
          name: 'idmapped mounts',
          state: 'optional',
          found: errnoNames.get(facts.attempts.owners) ?? `errno ${facts.attempts.owners}`,
          remedy: 'for agents with iso uid: set CTX_DATA to a directory on ext4, xfs, btrfs or tmpfs',
        },
    fuse === 'usable'
      ? { name: 'FUSE', state: 'ok', found: '/dev/fuse' }
      : {
          name: 'FUSE',
          state: 'optional',
          found: fuse,
          remedy: fuse === 'missing' ? 'modprobe fuse' : 'chmod 666 /dev/fuse',
        },
    cgroup.version === 0
      ? { name: 'cgroup', state: 'optional', found: 'none', remedy: 'mount cgroup2 at /sys/fs/cgroup' }
      : { name: 'cgroup', state: 'ok', found: `v${cgroup.version}: ${cgroup.controllers.join(' ')}` },
    limitsCheck(facts),
  ];
}
