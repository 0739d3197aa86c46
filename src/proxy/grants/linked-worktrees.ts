/**
 * Other worktrees of a repository that a jail shows. Where their directories are hidden, git inside takes them for gone, and
 * `git gc` deletes what it knows of them with the commits that only they hold. So the one file by which git knows that a
 * worktree is there is shown, and nothing else of it. It holds the path of the repository, which the jail shows anyway.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { canonicalPath } from '../../base/canonical-path.js';
import { hasCode } from '../../base/errno.js';
import { smallFileAt } from '../../base/small-file.js';
import type { SharedPath } from '../../jail/plan.js';

/** Longer than any path, shorter than anything that is no such file. */
const mostBytes = 16 * 1024;

/** More than anybody has; a list that is longer was made by somebody else. */
const mostWorktrees = 256;

const expected = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'] as const;

function orUndefined<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (expected.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}

/** What names a worktree came with the repository: believed only where the worktree names the repository in turn. */
function fileOf(own: string): SharedPath | undefined {
  const text = (path: string) => smallFileAt(path, mostBytes)?.replace(/\n$/, '');
  const file = text(join(own, 'gitdir'));
  if (file === undefined || !posix.isAbsolute(file) || posix.basename(file) !== '.git') return undefined;
  if (canonicalPath(file) !== file) return undefined;
  const about = orUndefined(() => lstatSync(file, { bigint: true }));
  if (about?.isFile() !== true) return undefined;
  const named = /^gitdir: (\/.+)$/.exec(text(file) ?? '')?.[1];
  if (named === undefined || canonicalPath(named) !== canonicalPath(own)) return undefined;
  return { source: file, target: file, access: 'read only', identity: `${about.dev}:${about.ino}` };
}

/** Of the repositories at these directories, or in them. */
export function linkedWorktrees(roots: readonly string[]): readonly SharedPath[] {
  return roots
    .flatMap((root) => [join(root, '.git', 'worktrees'), join(root, 'worktrees')])
    .flatMap((directory) => {
      const names = orUndefined(() => readdirSync(directory)) ?? [];
      return names.slice(0, mostWorktrees).flatMap((name) => fileOf(join(directory, name)) ?? []);
    });
}
