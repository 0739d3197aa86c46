/**
 * A linked git worktree keeps its commits in another directory: without it no command inside could commit. It is part of the
 * fork then, as the workspace is. A directory in which worktrees are pooled is a workspace, too, instead of the repository.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { fromSystemError } from '../../base/errno.js';
import { smallFileAt } from '../../base/small-file.js';

/** Longer than any path, shorter than anything that is no such file. */
const mostBytes = 16 * 1024;

const textOf = (path: string) => smallFileAt(path, mostBytes)?.replace(/\n$/, '');

const from = (base: string, path: string) => canonicalPath(posix.resolve(base, path));

/**
 * The common directory of the repository that `origin` is a linked worktree of. The `.git` file comes with the workspace,
 * and a command can have written it: it is believed only where the repository, which no command of this workspace could
 * write, points back to it.
 */
function commonGitDirectory(origin: string): string | undefined {
  const link = join(origin, '.git');
  const named = /^gitdir: (.+)$/.exec(textOf(link) ?? '')?.[1];
  const own = named === undefined ? undefined : from(origin, named);
  if (own === undefined) return undefined;
  const common = from(own, textOf(join(own, 'commondir')) ?? '');
  const back = textOf(join(own, 'gitdir'));
  if (common === undefined || back === undefined || from(own, back) !== canonicalPath(link)) return undefined;
  const isWorktree =
    posix.dirname(own) === join(common, 'worktrees') && canonicalPath(join(common, 'HEAD')) !== undefined;
  return isWorktree && !contains(common, origin) && !contains(origin, common) ? common : undefined;
}

/** More than anybody has in one pool; what comes after them has no repository inside. */
const mostWorktrees = 256;

/** Of a directory that is no repository itself: those of the linked worktrees right in it, each where the repository agrees. */
function commonOfPool(pool: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(pool, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    throw fromSystemError(error, 'look for worktrees in', pool);
  }
  const found = [...names].sort().slice(0, mostWorktrees);
  const common = new Set(found.flatMap((name) => commonGitDirectory(join(pool, name)) ?? []));
  return [...common].filter((path) => !contains(path, pool) && !contains(pool, path));
}

/** What a workspace needs besides so that git works in it: it may be a linked worktree, or a pool of them. */
export function commonGitDirectories(origin: string): readonly string[] {
  const own = commonGitDirectory(origin);
  if (own !== undefined) return [own];
  return lstatSync(join(origin, '.git'), { throwIfNoEntry: false }) === undefined ? commonOfPool(origin) : [];
}
