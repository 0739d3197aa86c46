/**
 * What the harness itself, git or ctx obeys outside of every jail: settings, hooks, servers, the workspace file. In a fork
 * a change of these waits for `ctx apply`; here it would be in force at once, and could switch this hook off. So they are
 * read-only here, unless the operator names them with --write.
 */
import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { type HookGrants, isInside } from './grants.js';
import type { Resolve } from './resolve-path.js';

/**
 * `.git` whole: a file there leads git elsewhere, and configuration is in many places below. `HEAD`: it makes a
 * repository of its directory.
 */
const runOutside = ['.claude', '.mcp.json', '.git', 'HEAD', '.ctx'];

/** Of the workspace and of where the harness was started, links followed. */
export async function protectedPaths(roots: readonly string[], resolve: Resolve): Promise<readonly string[]> {
  const named = roots.flatMap((root) => runOutside.map((name) => posix.join(root, name)));
  const resolved = await Promise.all(named.map((path) => resolve(path)));
  return [...new Set(resolved.flatMap((each) => (each.ok ? [each.path] : [])))];
}

/** `writes`: what the operator named. Takes away only: a link there does not make readable what it leads to. */
export function withProtected(grants: HookGrants, paths: readonly string[], writes: readonly string[]): HookGrants {
  const kept = paths.filter((path) => !writes.some((write) => contains(write, path)));
  const around = (path: string) => kept.find((each) => contains(each, path));
  return Object.freeze({
    ...grants,
    accessTo: (path: string) => {
      const access = grants.accessTo(path);
      return access === 'write' && around(path) !== undefined ? 'read' : access;
    },
    deciding: (path: string) => around(path) ?? grants.deciding(path),
    readOnlyIn: (path: string) => kept.find((each) => isInside(each, path)) ?? grants.readOnlyIn(path),
  });
}
