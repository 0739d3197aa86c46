/**
 * Where the programs of a person's PATH live, so that `ctx exec -- npm test` finds the node of nvm and the python of
 * pyenv. Read-only, and never a whole home or a directory in which tools keep their tokens.
 */

import { posix } from 'node:path';
import { contains } from './absolute-path.js';
import { systemDirectories } from './system-profile.js';

/** Version managers: their programs are small scripts that need the manager's whole tree, which holds no secret. */
const versionManagers = [
  '.asdf',
  '.bun',
  '.deno',
  '.fnm',
  '.nodenv',
  '.nvm',
  '.pyenv',
  '.rbenv',
  '.rustup',
  '.sdkman',
  '.volta',
];

/** Beside `PREFIX/bin`, what an installed program reads. `share` of `~/.local` is left out: keyrings live there. */
const prefixParts = ['include', 'lib', 'lib64', 'libexec'];

/** Where tools keep tokens and keys, below a home: parts of them may be shown, never the whole. */
const secretKeepers = ['.aws', '.config', '.docker', '.gnupg', '.kube', '.local/share', '.ssh'];

/** What a jail makes for itself: the host's own must not cover it. */
const madePlaces = ['/dev', '/etc', '/proc', '/run', '/sys', '/tmp', '/var'];

export interface ProgramPaths {
  /** PATH for the jail: the absolute entries, in order, without repeats. */
  readonly search: readonly string[];
  /** Read-only paths the entries need; a path that does not exist is skipped later. */
  readonly reads: readonly string[];
}

function readsFor(directory: string, home: string): readonly string[] {
  const manager = versionManagers.map((name) => posix.join(home, name)).find((root) => contains(root, directory));
  if (manager !== undefined) return [manager];
  const prefix = posix.dirname(directory);
  if (!/^s?bin$/.test(posix.basename(directory)) || prefix === '/' || prefix === home) return [directory];
  const parts = prefix === posix.join(home, '.local') ? prefixParts : [...prefixParts, 'share'];
  return [directory, ...parts.map((part) => posix.join(prefix, part))];
}

/** For a home: whether a directory is or holds that home, its secrets, or what a jail makes itself. */
export function showsTooMuchOf(home: string): (path: string) => boolean {
  const above = home === '/' ? '' : home;
  const kept = [home, ...secretKeepers.map((name) => `${above}/${name}`), ...madePlaces];
  return (path) => kept.some((directory) => contains(path, directory));
}

const defaultSearch = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** `path` is the PATH variable as it stands; relative and empty entries mean "here" and are dropped. */
export function programPaths(path: string | undefined, home: string): ProgramPaths {
  const given = (path ?? '').split(':').filter((entry) => entry.startsWith('/'));
  const search = [
    ...new Set([...given.map((entry) => posix.normalize(entry).replace(/(.)\/$/, '$1')), ...defaultSearch]),
  ];
  const beyondSystem = search.filter((entry) => !systemDirectories.some((directory) => contains(directory, entry)));
  const reads = new Set(beyondSystem.flatMap((entry) => readsFor(entry, home)));
  const showsTooMuch = showsTooMuchOf(home);
  const shown = [...reads].filter((read) => !showsTooMuch(read)).sort();
  return Object.freeze({ search: Object.freeze(search), reads: Object.freeze(shown) });
}
