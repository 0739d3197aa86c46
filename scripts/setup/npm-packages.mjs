/** npm packages: what `package-lock.json` asks for, against what npm says it put into `node_modules`. */

import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { inCheckout } from './checkout.mjs';
import { SetupFailure } from './failure.mjs';
import { runQuietly } from './run.mjs';

export const npmPackages = {
  title: 'installing npm packages',
  neededBy: ['start', 'test', 'bench', 'package'],

  staleness() {
    const wanted = readJson('package-lock.json');
    if (wanted === undefined) throw new SetupFailure('package-lock.json is missing: restore it with git.');
    const declared = readJson('package.json');
    if (!agree(declared, wanted.packages[''])) {
      throw new SetupFailure('package.json and package-lock.json disagree: run `npm install` and commit both.');
    }
    const installed = readJson('node_modules/.package-lock.json');
    if (installed === undefined) return 'node_modules is missing';
    return difference(wanted.packages, installed.packages, (path) => existsSync(inCheckout(path, 'package.json')));
  },

  make() {
    return runQuietly('npm', ['ci', '--no-audit', '--no-fund', '--include=dev', '--include=optional']);
  },
};

function agree(declared, locked = {}) {
  return ['dependencies', 'devDependencies', 'optionalDependencies'].every((kind) =>
    isDeepStrictEqual(declared[kind] ?? {}, locked[kind] ?? {}),
  );
}

/** The first difference between two package tables of lock files, in words; undefined where they say the same. */
export function difference(wanted, installed, isPresent, host = process) {
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    if (found === undefined) {
      if (entry.optional && !isFor(entry, host)) continue;
      return `${path} is missing`;
    }
    if (found.version !== entry.version) return `${path} is ${found.version} instead of ${entry.version}`;
    if (entry.integrity && found.integrity && found.integrity !== entry.integrity) return `${path} has other content`;
    if (!isPresent(path)) return `${path} is missing`;
  }
  const stray = Object.keys(installed).find((path) => !(path in wanted));
  return stray === undefined ? undefined : `${stray} is left over`;
}

/** npm leaves out optional packages that are for another system. Lists may exclude, too: `!win32`. */
function isFor(entry, host) {
  return (
    matches(entry.os, host.platform) &&
    matches(entry.cpu, host.arch) &&
    matches(entry.libc, hasGlibc ? 'glibc' : 'musl')
  );
}

const hasGlibc = !existsSync('/etc/alpine-release');

function matches(list, value) {
  if (list === undefined || list.length === 0) return true;
  if (list.includes(`!${value}`)) return false;
  const named = list.filter((item) => !item.startsWith('!'));
  return named.length === 0 || named.includes(value) || named.includes('any');
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(inCheckout(path), 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw new SetupFailure(`${path} cannot be read: ${error.message}`);
  }
}
