/**
 * What a task without an agent is granted in a directory: the same paths its jail would show there. The workspace
 * read-write, the system, the programs of PATH and tools' configuration read-only, the store never; no network, no
 * further tool.
 *
 * Beyond the jail, one thing is read-only here: what the harness itself, or git, runs outside of every jail. In a fork
 * such a change waits for `ctx apply`; here it would be in force at once, and could switch this hook off.
 */
import { realpath, stat, statSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { noNetwork } from '../authority/network.js';
import { makeSurface } from '../authority/surface.js';
import { systemDirectories } from '../authority/system-profile.js';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { workspaceOf } from '../proxy/workspace.js';
import { vaultId, vaultPaths } from '../vault/layout.js';
import type { Grants } from './grants.js';
import type { HookHost } from './hook-host.js';
import type { Resolve } from './resolve-path.js';

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
    realpath.native(path, (error, found) =>
      error === null ? settle(found) : fail(fromSystemError(error, 'open', path)),
    );
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

/** `workspaceOf`, with what it asks of the person's file systems gathered first and without blocking. */
async function originOf(host: HookHost, directory: string): Promise<string> {
  const repositories = new Set<string>();
  await Promise.all(
    upwards(directory).map(async (path) => {
      if (await exists(posix.join(path, '.git'))) repositories.add(path);
    }),
  );
  const hasVault = (path: string) =>
    statSync(vaultPaths(host.store, vaultId(path)).meta, { throwIfNoEntry: false }) !== undefined;
  return workspaceOf(directory, {
    home: host.home,
    store: host.store,
    hasVault,
    isRepository: (path) => repositories.has(path),
  });
}

async function placed(paths: readonly string[], base: string, resolve: Resolve): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolve(posix.resolve(base, path))));
  return resolved.map((each, index) => {
    if (each.ok) return each.path;
    throw new ErrnoError('EINVAL', { operation: 'hook', path: paths[index], reason: each.fault });
  });
}

/** Those of them that lie in the workspace: a link there must not make readable what it leads to. */
async function within(origin: string, paths: readonly string[], resolve: Resolve): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolve(path)));
  return resolved.flatMap((each) =>
    each.ok && each.path !== origin && contains(origin, each.path) ? [each.path] : [],
  );
}

/** Read-only paths that are not in the workspace: what tools and the system need. */
async function outsideReads(host: HookHost, origin: string, resolve: Resolve) {
  const [{ programPaths, showsTooMuchOf }, tooling, { systemView }] = await Promise.all([
    import('../authority/program-paths.js'),
    import('../authority/tooling-paths.js'),
    import('../jail/system-view.js'),
  ]);
  const { defaultToolingPaths, expandPaths, pathEnvironment } = tooling;
  const templates = expandPaths(defaultToolingPaths, pathEnvironment({ ...host.environment, HOME: host.home }));
  const named = [...programPaths(host.environment['PATH'], host.home).reads, ...templates.paths];
  const found = await Promise.all(named.map((path) => resolve(path)));
  const showsTooMuch = showsTooMuchOf(host.home);
  const toolingPaths = found.flatMap((each) =>
    each.ok && each.exists && !contains(origin, each.path) && !showsTooMuch(each.path) ? [each.path] : [],
  );
  return { toolingPaths, systemReads: systemView().shared.map(({ target }) => target) };
}

/**
 * In two extents. `workspace` leaves out what lies outside of it and costs a look at a dozen places; whatever it grants,
 * `everything` grants too, since that adds reads alone, and none inside of what may be written. Most calls need no more.
 */
export type Extent = 'workspace' | 'everything';

export interface AnonymousGrants extends Grants {
  readonly extent: Extent;
}

export async function anonymousGrants(
  host: HookHost,
  request: GrantRequest,
  resolve: Resolve,
  wanted: Extent,
): Promise<AnonymousGrants> {
  const directory = await canonical(request.directory);
  const origin = await originOf(host, directory);
  const harness = [origin, directory].flatMap((root) => runOutside.map((name) => posix.join(root, name)));
  // A workspace among the system's own files, or paths an operator added, may hold some of those reads.
  const mixed =
    request.reads.length + request.writes.length > 0 ||
    ['/etc', ...systemDirectories].some((place) => contains(place, origin));
  const extent = mixed ? 'everything' : wanted;
  const surface = makeSurface({
    cwd: origin,
    additionalWrites: await placed(request.writes, directory, resolve),
    workspaceMetadata: await within(origin, [posix.join(origin, '.ctx')], resolve),
    additionalReads: [
      ...(await within(origin, harness, resolve)),
      ...(await placed(request.reads, directory, resolve)),
    ],
    ...(extent === 'everything' ? await outsideReads(host, origin, resolve) : {}),
    hidden: [host.store],
  });
  const tools = new Set(request.tools);
  return Object.freeze({ extent, surface, network: noNetwork, mayExecute: (tool: string) => tools.has(tool) });
}
