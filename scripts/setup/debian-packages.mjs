/**
 * Debian packages: what is needed, found by probing for what each gives, so that another way of having it counts too.
 *
 * They are installed by root, or where `sudo` asks no password. Everybody else is told the one command to run.
 */

import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SetupFailure, unavailable } from './failure.mjs';
import { runQuietly } from './run.mjs';

/** `gives` is a program on PATH, or a list of files of which one has to exist. */
const packages = [
  { name: 'gcc', purpose: 'compiles the native programs', gives: 'gcc', neededBy: ['start', 'test', 'bench'] },
  {
    name: 'libc6-dev',
    purpose: 'the C library, for static linking',
    gives: [
      '/usr/lib/x86_64-linux-gnu/libc.a',
      '/usr/lib/aarch64-linux-gnu/libc.a',
      '/usr/lib64/libc.a',
      '/usr/lib/libc.a',
    ],
    neededBy: ['start', 'test', 'bench'],
  },
  { name: 'git', purpose: 'the sample project and the tests', gives: 'git', neededBy: ['start', 'test', 'bench'] },
  { name: 'python3', purpose: 'a program for tests to confine', gives: ['/usr/bin/python3'], neededBy: ['test'] },
  { name: 'curl', purpose: 'a program for tests to connect with', gives: 'curl', neededBy: ['test', 'bench'] },
  { name: 'attr', purpose: 'extended attributes for tests', gives: 'setfattr', neededBy: ['test'] },
  { name: 'redis-server', purpose: 'a server to run inside', gives: 'redis-server', neededBy: ['bench'] },
  { name: 'redis-tools', purpose: 'its load', gives: 'redis-benchmark', neededBy: ['test', 'bench'] },
  { name: 'ripgrep', purpose: 'a program for tests to confine', gives: 'rg', neededBy: ['test'] },
  { name: 'bubblewrap', purpose: 'what ctx is compared with', gives: 'bwrap', neededBy: ['test', 'bench'] },
];

export const debianPackages = {
  title: 'installing Debian packages',
  neededBy: ['start', 'test', 'bench'],

  staleness(level) {
    const missing = missingFor(level);
    return missing.length === 0 ? undefined : missing.map(({ name }) => name).join(', ');
  },

  async make(level) {
    const missing = missingFor(level);
    const names = missing.map(({ name }) => name);
    const prefix = isProgram('apt-get') ? await asRoot() : undefined;
    if (prefix === undefined) throw new SetupFailure(whatToRun(missing), unavailable);
    await install(prefix, names);
    const still = missingFor(level);
    if (still.length > 0) {
      throw new SetupFailure(`installed, yet not found:\n${whatToRun(still)}`, unavailable);
    }
  },
};

function missingFor(level) {
  return packages.filter(({ neededBy, gives }) => neededBy.includes(level) && !isPresent(gives));
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

async function install(prefix, names) {
  const aptGet = (...args) => {
    const words = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120'];
    return runQuietly(words[0], [...words.slice(1), ...args]);
  };
  const installNames = () => aptGet('install', '-y', '--no-install-recommends', ...names);
  if (!hasPackageLists()) await aptGet('update');
  try {
    await installNames();
  } catch {
    // Lists may be older than the mirror; what is really wrong shows in the second try.
    await aptGet('update');
    await installNames();
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
