/** Which directory a command works on. Pure: what is on the host is asked through `facts`. */

import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { ErrnoError } from '../base/errno.js';

export interface WorkspaceFacts {
  readonly home: string;
  readonly store: string;
  hasVault(directory: string): boolean;
  /** Whether it has a `.git` that counts (`isOwnRepository`). */
  isRepository(directory: string): boolean;
}

/** User ids of a `.git`, itself and not what it may lead to, and of the directory that it is in. */
export interface RepositoryOwners {
  readonly git: number;
  readonly directory: number;
}

/**
 * Whether a `.git` makes a directory the workspace of what is below it: one of the caller's, of root's, or of the owner of that directory.
 * Another user who can make files there (in a directory like `/tmp`) could else widen what the caller's commands see and write.
 */
export function isOwnRepository({ git, directory }: RepositoryOwners, uid: number): boolean {
  return git === uid || git === 0 || git === directory;
}

/** Directories of the system: a fork of one of them would be no project's. */
const systemRoots = [
  '/',
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/home',
  '/lib',
  '/lib64',
  '/media',
  '/nix',
  '/nix/store',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/snap',
  '/sys',
  '/tmp',
  '/usr',
  ...['/usr', '/usr/local'].flatMap((top) =>
    'bin etc games include lib lib32 lib64 libexec local man sbin share src'.split(' ').map((name) => `${top}/${name}`),
  ),
  '/var',
  ...['cache', 'lib', 'log', 'spool', 'tmp'].map((name) => `/var/${name}`),
];

/** What the kernel shows of itself looks like files and is none; copying it would never end. */
const kernelTrees = ['/proc', '/sys'];

function* upwards(directory: string): Iterable<string> {
  for (let at = directory; ; at = posix.dirname(at)) {
    yield at;
    if (at === '/') return;
  }
}

function refusal(directory: string, facts: WorkspaceFacts): string | undefined {
  if (contains(facts.store, directory)) return 'expected a project directory, got a part of the store of ctx itself';
  if (systemRoots.includes(directory) || kernelTrees.some((tree) => contains(tree, directory)))
    return 'expected a project directory, got a directory of the system';
  if (contains(directory, facts.home)) {
    return 'expected a project directory, got your home or a directory that holds it: the agent would see your keys';
  }
  return undefined;
}

/**
 * The nearest directory above `cwd` that has a vault already; else the repository `cwd` is in; else `cwd` itself. Never a
 * directory that would show more than a project.
 */
export function workspaceOf(cwd: string, facts: WorkspaceFacts): string {
  const usable = [...upwards(cwd)].filter((directory) => refusal(directory, facts) === undefined);
  const found =
    usable.find((directory) => facts.hasVault(directory)) ?? usable.find((directory) => facts.isRepository(directory));
  const chosen = found ?? cwd;
  const reason = refusal(chosen, facts);
  if (reason === undefined) return chosen;
  throw new ErrnoError('EINVAL', {
    operation: 'open the directory',
    path: chosen,
    reason,
    remedy: 'go to the project you want to work on and run the command there',
  });
}
