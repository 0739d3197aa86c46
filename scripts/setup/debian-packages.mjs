/**
 * Debian packages: what is needed, found by probing for what each gives, so that another way of having it counts too.
 *
 * They are installed by root, or where `sudo` asks no password. Everybody else is told the one command to run.
 */

import { accessSync, constants, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { inCheckout } from './checkout.mjs';
import { SetupFailure, unavailable } from './failure.mjs';
import { runQuietly } from './run.mjs';

/**
 * `gives` is a program on PATH, or a list of files of which one has to exist. What is `optional` (or that for one
 * level) makes a test better and its lack no failure: it is tried once, and a note of what could not be had is in
 * `dist` until that is removed.
 */
const packages = [
  {
    name: 'gcc',
    purpose: 'compiles the native programs',
    gives: 'gcc',
    neededBy: ['start', 'test', 'bench', 'package'],
  },
  ...crossCompiler(),
  {
    name: 'libc6-dev',
    purpose: 'the C library, for static linking',
    gives: [
      '/usr/lib/x86_64-linux-gnu/libc.a',
      '/usr/lib/aarch64-linux-gnu/libc.a',
      '/usr/lib64/libc.a',
      '/usr/lib/libc.a',
    ],
    neededBy: ['start', 'test', 'bench', 'package'],
  },
  {
    name: 'musl-dev',
    purpose: 'a C library that starts sooner, for the programs of every call',
    gives: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-musl/rcrt1.o`),
    neededBy: ['start', 'test', 'bench', 'package'],
    optional: true,
  },
  {
    name: 'git',
    purpose: 'the sample project, the tests, and the commit of a package',
    gives: 'git',
    neededBy: ['start', 'test', 'bench', 'package'],
  },
  { name: 'python3', purpose: 'a program for tests to confine', gives: ['/usr/bin/python3'], neededBy: ['test'] },
  { name: 'curl', purpose: 'a program for tests to connect with', gives: 'curl', neededBy: ['test', 'bench'] },
  { name: 'make', purpose: 'the judge of times in tests', gives: 'make', neededBy: ['test'] },
  { name: 'gdb', purpose: 'a debugger to run inside', gives: 'gdb', neededBy: ['test'], optional: true },
  { name: 'strace', purpose: 'a tracer to run inside', gives: 'strace', neededBy: ['test'], optional: true },
  { name: 'attr', purpose: 'extended attributes for tests', gives: 'setfattr', neededBy: ['test'] },
  { name: 'clang', purpose: 'a fuzzer that is guided', gives: 'clang', neededBy: ['test'], optional: true },
  {
    name: 'libclang-rt-dev',
    purpose: 'its runtime',
    gives: ['14/lib/clang/14.0.6', '16/lib/clang/16', '19/lib/clang/19'].flatMap((version) =>
      ['x86_64', 'aarch64'].map((machine) => `/usr/lib/llvm-${version}/lib/linux/libclang_rt.fuzzer-${machine}.a`),
    ),
    neededBy: ['test'],
    optional: true,
  },
  { name: 'redis-server', purpose: 'a server to run inside', gives: 'redis-server', neededBy: ['bench'] },
  { name: 'redis-tools', purpose: 'its load', gives: 'redis-benchmark', neededBy: ['test', 'bench'] },
  { name: 'ripgrep', purpose: 'a program for tests to confine', gives: 'rg', neededBy: ['test', 'bench'] },
  { name: 'tmux', purpose: 'a terminal for tests to type into', gives: 'tmux', neededBy: ['test'] },
  { name: 'vim', purpose: 'a program that fills it', gives: 'vim', neededBy: ['test'] },
  { name: 'swtpm', purpose: 'a TPM in software, for the record to be anchored in', gives: 'swtpm', neededBy: ['test'] },
  { name: 'tpm2-tools', purpose: 'speaks with a TPM', gives: 'tpm2_nvread', neededBy: ['test'] },
  { name: 'sqlite3', purpose: 'what the record is compared with', gives: 'sqlite3', neededBy: ['bench'] },
  {
    name: 'btrfs-progs',
    purpose: 'what forks are compared with',
    gives: 'mkfs.btrfs',
    neededBy: ['bench'],
    optional: true,
  },
  {
    name: 'fuse3',
    purpose: 'mounts trees of the VFS',
    gives: 'fusermount3',
    neededBy: ['test', 'bench'],
    optional: true,
  },
  { name: 'bindfs', purpose: 'what mounts are compared with', gives: 'bindfs', neededBy: ['bench'], optional: true },
  {
    name: 'fuse-overlayfs',
    purpose: 'what mounts are compared with',
    gives: 'fuse-overlayfs',
    neededBy: ['bench'],
    optional: true,
  },
  { name: 's3fs', purpose: 'what buckets are compared with', gives: 's3fs', neededBy: ['bench'], optional: true },
  {
    name: 'radosgw',
    purpose: 'an object store for tests',
    gives: 'radosgw',
    neededBy: ['test', 'bench'],
    optional: true,
  },
  { name: 'ceph-mon', purpose: 'its monitor', gives: 'ceph-mon', neededBy: ['test', 'bench'], optional: true },
  { name: 'ceph-osd', purpose: 'its storage', gives: 'ceph-osd', neededBy: ['test', 'bench'], optional: true },
  {
    name: 'rclone',
    purpose: 'trees of clouds, by WebDAV',
    gives: 'rclone',
    neededBy: ['test', 'bench'],
    optional: true,
  },
  { name: 'bubblewrap', purpose: 'what ctx is compared with', gives: 'bwrap', neededBy: ['test', 'bench'] },
];

/** For the machine that this is not: a package has programs for both. Tests that build one are skipped without. */
function crossCompiler() {
  const [machine, debian] = process.arch === 'x64' ? ['aarch64', 'arm64'] : ['x86-64', 'amd64'];
  const triplet = `${machine.replace('-', '_')}-linux-gnu`;
  const facts = { purpose: 'compiles programs for the other machine', neededBy: ['test', 'package'] };
  return [
    { name: `gcc-${machine}-linux-gnu`, gives: `${triplet}-gcc`, ...facts, optional: 'test' },
    { name: `libc6-dev-${debian}-cross`, gives: [`/usr/${triplet}/lib/libc.a`], ...facts, optional: 'test' },
  ];
}

export const debianPackages = {
  title: 'installing Debian packages',
  neededBy: ['start', 'test', 'bench', 'package'],

  staleness(level) {
    const missing = [...missingFor(level), ...wantedFor(level)];
    return missing.length === 0 ? undefined : missing.map(({ name }) => name).join(', ');
  },

  async make(level) {
    const missing = missingFor(level);
    const prefix = isProgram('apt-get') ? await asRoot() : undefined;
    if (missing.length > 0) {
      if (prefix === undefined) throw new SetupFailure(whatToRun(missing), unavailable);
      await install(prefix, namesOf(missing));
      const still = missingFor(level);
      if (still.length > 0) {
        throw new SetupFailure(`installed, yet not found:\n${whatToRun(still)}`, unavailable);
      }
    }
    await tryToInstall(prefix, wantedFor(level));
  },
};

function namesOf(some) {
  return some.map(({ name }) => name);
}

function isOptional({ optional }, level) {
  return optional === true || optional === level;
}

function missingFor(level) {
  return packages.filter((each) => !isOptional(each, level) && each.neededBy.includes(level) && !isPresent(each.gives));
}

/** What would be nice to have and has not been tried yet. */
function wantedFor(level) {
  const failed = triedInVain();
  return packages.filter(
    (each) =>
      isOptional(each, level) && each.neededBy.includes(level) && !isPresent(each.gives) && !failed.includes(each.name),
  );
}

const noteOfFailures = () => inCheckout('dist', 'packages-not-to-be-had');

function triedInVain() {
  try {
    return readFileSync(noteOfFailures(), 'utf8').split('\n');
  } catch {
    return []; // No note: nothing has failed.
  }
}

async function tryToInstall(prefix, wanted) {
  if (wanted.length === 0) return;
  if (prefix !== undefined && !(await canInstall(() => install(prefix, namesOf(wanted))))) {
    // One that this system does not have must not keep the others away.
    for (const { name } of wanted) await canInstall(() => installOnly(prefix, [name]));
  }
  const still = wanted.filter(({ gives }) => !isPresent(gives));
  if (still.length === 0) return;
  mkdirSync(inCheckout('dist'), { recursive: true });
  writeFileSync(
    noteOfFailures(),
    `${[...triedInVain(), ...namesOf(still)].filter((name) => name !== '').join('\n')}\n`,
  );
}

/** Of what is only wanted: a failure is in the note, and the tests that would use it say what they do without. */
async function canInstall(act) {
  try {
    await act();
    return true;
  } catch {
    return false;
  }
}

function isPresent(gives) {
  return typeof gives === 'string' ? isProgram(gives) : gives.some((path) => isAccessible(path, constants.R_OK));
}

function isProgram(name) {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
  return directories.some((directory) => isAccessible(join(directory, name), constants.X_OK));
}

function isAccessible(path, mode) {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** The words to put before `apt-get`, or undefined where this user may not install anything. */
async function asRoot() {
  if (process.getuid() === 0) return [];
  if (!isProgram('sudo')) return undefined;
  try {
    await runQuietly('sudo', ['-n', 'true']);
    return ['sudo', '-n'];
  } catch {
    return undefined; // It would ask for a password: the person runs the command instead.
  }
}

function aptGet(prefix, ...args) {
  const words = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120'];
  return runQuietly(words[0], [...words.slice(1), ...args]);
}

const installOnly = (prefix, names) => aptGet(prefix, 'install', '-y', '--no-install-recommends', ...names);

async function install(prefix, names) {
  if (!hasPackageLists()) await aptGet(prefix, 'update');
  try {
    await installOnly(prefix, names);
  } catch {
    // Lists may be older than the mirror; what is really wrong shows in the second try.
    await aptGet(prefix, 'update');
    await installOnly(prefix, names);
  }
}

function hasPackageLists() {
  try {
    return readdirSync('/var/lib/apt/lists').some((name) => name.includes('_Packages'));
  } catch {
    return false;
  }
}

function whatToRun(missing) {
  const lines = missing.map(({ name, purpose }) => `  ${name}: ${purpose}`);
  const command = `apt-get install -y --no-install-recommends ${missing.map(({ name }) => name).join(' ')}`;
  const advice = isProgram('apt-get')
    ? `Run this once, then try again:\n\n  ${process.getuid() === 0 ? '' : 'sudo '}${command}`
    : 'This system has no apt-get: install what corresponds to these packages, then try again.';
  return `these packages are missing:\n${lines.join('\n')}\n\n${advice}`;
}
