/**
 * What a task without an agent is granted in a directory: the same paths its jail would show there. The workspace
 * read-write, the system, the programs of PATH and tools' configuration read-only, the store never; no network, no
 * further tool.
 *
 * Beyond the jail, one thing is read-only here: what the harness itself, or git, runs outside of every jail. In a fork
 * such a change waits for `ctx apply`; here it would be in force at once, and could switch this hook off.
 */
import { realpath, stat } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { noNetwork } from '../authority/network.js';
import { programPaths, showsTooMuchOf } from '../authority/program-paths.js';
import { makeSurface } from '../authority/surface.js';
import { defaultToolingPaths, expandPaths, pathEnvironment } from '../authority/tooling-paths.js';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { readOnlyPaths, systemView } from '../jail/system-view.js';
import { workspaceOf } from '../proxy/workspace.js';
import { vaultId, vaultPaths } from '../vault/layout.js';
import type { Grants } from './grants.js';
import type { HookHost } from './hook-host.js';
import { resolveOnHost } from './resolve-path.js';

export interface GrantRequest {
  /** Where the harness was started. */
  readonly directory: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly tools: readonly string[];
}

const runOutside = ['.claude', '.mcp.json', '.git/hooks', '.git/config'];

function canonical(path: string): Promise<string> {
  return new Promise((settle, fail) => {
    realpath(path, (error, found) => (error === null ? settle(found) : fail(fromSystemError(error, 'open', path))));
  });
}

function exists(path: string): Promise<boolean> {
  return new Promise((settle, fail) => {
    stat(path, (error) => {
      if (error === null) settle(true);
      else if (error.code === 'ENOENT' || error.code === 'EACCES' || error.code === 'ENOTDIR') settle(false);
      else fail(fromSystemError(error, 'stat', path));
    });
  });
}

function upwards(directory: string): readonly string[] {
  const found = [directory];
  for (let at = directory; at !== '/'; found.push(at)) at = posix.dirname(at);
  return found;
}

/** `workspaceOf` with its facts gathered first, all at once and without blocking. */
async function originOf(host: HookHost, directory: string): Promise<string> {
  const facts = await Promise.all(
    upwards(directory).map(async (path) => {
      const [vault, repository] = await Promise.all([
        exists(vaultPaths(host.store, vaultId(path)).meta),
        exists(posix.join(path, '.git')),
      ]);
      return [path, { vault, repository }] as const;
    }),
  );
  const known = new Map(facts);
  return workspaceOf(directory, {
    home: host.home,
    store: host.store,
    hasVault: (path) => known.get(path)?.vault === true,
    isRepository: (path) => known.get(path)?.repository === true,
  });
}

async function placed(paths: readonly string[], base: string): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolveOnHost(posix.resolve(base, path))));
  return resolved.map((each, index) => {
    if (each.ok) return each.path;
    throw new ErrnoError('EINVAL', { operation: 'hook', path: paths[index], reason: each.fault });
  });
}

/** Those of them that lie in the workspace: a link there must not make readable what it leads to. */
async function within(origin: string, paths: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolveOnHost(path)));
  return resolved.flatMap((each) =>
    each.ok && each.path !== origin && contains(origin, each.path) ? [each.path] : [],
  );
}

export async function anonymousGrants(host: HookHost, request: GrantRequest): Promise<Grants> {
  const directory = await canonical(request.directory);
  const origin = await originOf(host, directory);
  const programs = programPaths(host.environment['PATH'], host.home);
  const tooling = expandPaths(defaultToolingPaths, pathEnvironment({ ...host.environment, HOME: host.home }));
  const more = readOnlyPaths([...programs.reads, ...tooling.paths]);
  const showsTooMuch = showsTooMuchOf(host.home);
  const outside = more.shared
    .map(({ target }) => target)
    .filter((path) => !contains(origin, path) && !showsTooMuch(path));
  const harness = [origin, directory].flatMap((root) => runOutside.map((name) => posix.join(root, name)));
  const surface = makeSurface({
    cwd: origin,
    additionalWrites: await placed(request.writes, directory),
    workspaceMetadata: await within(origin, [posix.join(origin, '.ctx')]),
    toolingPaths: outside,
    additionalReads: [...(await within(origin, harness)), ...(await placed(request.reads, directory))],
    systemReads: systemView().shared.map(({ target }) => target),
    hidden: [host.store],
  });
  const tools = new Set(request.tools);
  return Object.freeze({ surface, network: noNetwork, mayExecute: (tool: string) => tools.has(tool) });
}
