/**
 * The workspace file, `.ctx/workspace.json`: which repositories belong together, and where their worktrees are pooled.
 *
 *     { "version": 0, "repositories": [{ "path": "." }, { "path": "../api", "worktrees": "../api-trees" }] }
 *
 * It comes with the workspace, so it may be hostile: a clone must not name `~/.ssh` as its neighbour. A path is inside
 * the workspace root or one step beside it, has no hidden component, and code that uses it checks that a repository is
 * there (`resolveSurface` takes that fact). Anything wider is an operator's additional read.
 */

import { posix } from 'node:path';
import { workspaceRepositories } from '../base/limits/store.js';
import { parseJson } from '../base/shape.js';
import { contains, isNormalPath, normalPathRule } from './absolute-path.js';
import { deepFrozen } from './frozen.js';
import { quoted, refuseAt } from './syntax.js';

export interface WorkspaceRepository {
  /** Absolute; symlinks are not resolved yet. */
  readonly path: string;
  /** Directory in which each entry is a worktree of this repository. */
  readonly worktrees?: string;
}

export interface WorkspaceFile {
  readonly root: string;
  readonly repositories: readonly WorkspaceRepository[];
}

const visibleComponent = /^[^./\0][^/\0]*$/;

function isNearby(path: string): boolean {
  if (path === '.') return true;
  const components = path.split('/');
  const own = components[0] === '..' ? components.slice(1) : components;
  if (components[0] === '..' && own.length !== 1) return false;
  return own.every((component) => visibleComponent.test(component));
}

/** Whether what a listed path turned out to be, symlinks resolved, is still inside the workspace or beside it. */
export function isNearWorkspace(root: string, canonical: string): boolean {
  if (!isNormalPath(canonical) || canonical === '/') return false;
  if (contains(root, canonical)) return canonical === root || isNearby(posix.relative(root, canonical));
  return posix.dirname(canonical) === posix.dirname(root) && visibleComponent.test(posix.basename(canonical));
}

/** `root` is the canonical directory that holds `.ctx/`. */
export function parseWorkspace(text: string, file: string, root: string): WorkspaceFile {
  const fail = (reason: string): never => refuseAt('parse workspace', { file, line: 1, column: 1 }, reason);
  const record = (value: unknown, what: string, keys: readonly string[]): Readonly<Record<string, unknown>> => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return fail(`expected ${what} to be an object`);
    const surplus = Object.keys(value).find((key) => !keys.includes(key));
    if (surplus !== undefined) fail(`${what}: expected members ${keys.join(', ')}, got ${quoted(surplus)}`);
    return value as Readonly<Record<string, unknown>>;
  };
  const nearby = (value: unknown, what: string): string => {
    if (typeof value !== 'string' || !isNearby(value)) {
      const expected = 'a path inside the workspace or one step beside it (`../name`), without hidden components';
      return fail(`${what}: expected ${expected}, got ${quoted(String(JSON.stringify(value)))}`);
    }
    const path = posix.resolve(root, value);
    return isNormalPath(path) ? path : fail(`${what}: expected ${normalPathRule}`);
  };
  if (!isNormalPath(root)) return fail(`expected the root to be ${normalPathRule}`);
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return fail('expected JSON');
  }
  const { version, repositories } = record(parsed, 'the workspace', ['version', 'repositories']);
  if (version !== 0) fail(`version: expected 0, got ${quoted(String(JSON.stringify(version)))}`);
  if (!Array.isArray(repositories)) return fail('repositories: expected an array');
  if (repositories.length > workspaceRepositories) {
    fail(`repositories: expected at most ${workspaceRepositories}, got ${repositories.length}`);
  }
  return deepFrozen({
    root,
    repositories: repositories.map((entry: unknown, index) => {
      const what = `repositories[${index}]`;
      const { path, worktrees } = record(entry, what, ['path', 'worktrees']);
      return {
        path: nearby(path, `${what}.path`),
        ...(worktrees === undefined ? {} : { worktrees: nearby(worktrees, `${what}.worktrees`) }),
      };
    }),
  });
}
