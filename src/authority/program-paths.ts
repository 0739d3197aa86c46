/**
 * Where the programs of a person's PATH live, so that `ctx exec -- npm test` finds the node of nvm and the python of
 * pyenv. Read-only, and never a whole home or a directory in which tools keep their tokens.
 */

import { posix } from 'node:path';
import { isExactText } from '../base/path-bytes.js';
import { contains } from './absolute-path.js';
import { systemDirectories } from './system-profile.js';

/** Version managers: their programs are small scripts that need the manager's whole tree, which holds no secret. */
export const versionManagers = [
  '.asdf',
  '.bun',
  '.deno',
  '.fnm',
  '.ghcup',
  '.goenv',
  '.jenv',
  '.krew',
  '.local/share/fnm',
  '.local/share/mise',
  '.nodenv',
  '.nvm',
  '.phpenv',
  '.plenv',
  '.pyenv',
  '.rbenv',
  '.rustup',
  '.sdkman',
  '.volta',
];

/**
 * Beside `PREFIX/bin`, what an installed program reads. `pyvenv.cfg` makes PREFIX a virtual environment: without it its Python is silently the
 * system's; `pip.conf` beside it may hold a token. `share` of `~/.local` is left out: keyrings live there.
 */
export const prefixParts = ['conda-meta', 'include', 'lib', 'lib64', 'libexec', 'pyvenv.cfg'];

/** What a Java runtime reads besides. Only where it is one: another program's `conf` may hold passwords. */
export const javaParts = ['conf', 'jmods', 'release'];

/** Where tools keep tokens and keys, below a home: parts of them may be shown, never the whole. */
export const secretKeepers = ['.aws', '.config', '.docker', '.gnupg', '.kube', '.local/share', '.ssh'];

/** No program is installed here: a link of PATH that leads into one of these shows nothing. */
export const keptSecret = [
  '.aws',
  '.config',
  '.docker',
  '.gnupg',
  '.kube',
  '.local/share/keyrings',
  '.mozilla',
  '.ssh',
];

/** What a jail makes for itself: the host's own must not cover it. */
export const madePlaces = ['/dev', '/etc', '/proc', '/run', '/sys', '/tmp', '/var'];

export interface ProgramPaths {
  /** PATH for the jail: the absolute entries, in order, without repeats. */
  readonly search: readonly string[];
  /** Read-only paths the entries need; a path that does not exist is skipped later. */
  readonly reads: readonly string[];
}

/** Of packages that are installed side by side and read each other: their common directory. */
function packagesAround(directory: string): string | undefined {
  const found = /^(.*?\/node_modules)(?:\/|$)/.exec(directory) ?? /^(.*\/vendor)\/bin$/.exec(directory);
  return found?.[1];
}

/** What the programs in `directory` need of the host: read-only paths, which need not exist. */
function readsFor(directory: string, home: string): readonly string[] {
  const packages = packagesAround(directory);
  if (packages !== undefined) return [packages];
  const below = home === '/' ? '' : home;
  const manager = versionManagers.find((name) => contains(`${below}/${name}`, directory));
  if (manager !== undefined) return [`${below}/${manager}`];
  const prefix = posix.dirname(directory);
  if (!/^s?bin$/.test(posix.basename(directory)) || prefix === '/' || prefix === home) return [directory];
  const parts = prefix === `${below}/.local` ? prefixParts : [...prefixParts, 'share'];
  return [directory, ...parts.map((part) => `${prefix}/${part}`)];
}

/** Whether a path of a home is where keys and tokens are kept: nothing that merely names it shows it. */
export function isKeptSecret(path: string, home: string): boolean {
  const inGit = contains(posix.join(home, '.config/git'), path) && posix.basename(path) !== 'credentials';
  return !inGit && keptSecret.some((name) => contains(posix.join(home, name), path));
}

/**
 * What a program needs whose name on PATH is a link: pipx, uv and npm link what they installed elsewhere. `program` is
 * where the link leads in the end. A file that is in no one's `bin` is shown alone: what lies beside it may be
 * anything.
 */
export function linkedReads(program: string, home: string): readonly string[] {
  if (isKeptSecret(program, home)) return [];
  const directory = posix.dirname(program);
  const installed = /^s?bin$/.test(posix.basename(directory)) && posix.dirname(directory) !== home;
  return installed || packagesAround(directory) !== undefined ? readsFor(directory, home) : [program];
}

/** `exists` is asked of the host. */
export function javaReads(directory: string, exists: (path: string) => boolean): readonly string[] {
  const prefix = posix.dirname(directory);
  if (posix.basename(directory) !== 'bin' || !exists(posix.join(prefix, 'lib/modules'))) return [];
  return javaParts.map((part) => posix.join(prefix, part));
}

/** For a home: whether a directory is or holds that home, its secrets, or what a jail makes itself. */
export function showsTooMuchOf(home: string): (path: string) => boolean {
  const above = home === '/' ? '' : home;
  const kept = [home, ...secretKeepers.map((name) => `${above}/${name}`), ...madePlaces];
  return (path) => kept.some((directory) => contains(path, directory));
}

const defaultSearch = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** `path` is the PATH variable as it is; relative and empty entries mean "here" and are dropped. */
export function programPaths(path: string | undefined, home: string): ProgramPaths {
  const given = (path ?? '').split(':').filter((entry) => entry.startsWith('/') && isExactText(entry));
  const search = [
    ...new Set([...given.map((entry) => posix.normalize(entry).replace(/(.)\/$/, '$1')), ...defaultSearch]),
  ];
  const beyondSystem = search.filter((entry) => !systemDirectories.some((directory) => contains(directory, entry)));
  const reads = new Set(beyondSystem.flatMap((entry) => readsFor(entry, home)));
  const showsTooMuch = showsTooMuchOf(home);
  const shown = [...reads].filter((read) => !showsTooMuch(read)).sort();
  return Object.freeze({ search: Object.freeze(search), reads: Object.freeze(shown) });
}
