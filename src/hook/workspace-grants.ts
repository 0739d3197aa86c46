/**
 * The quick answer: the workspace alone, for a task without an agent and without further paths, where no operator's file
 * has a say. Whatever this grants, the whole Authority grants too, since that adds reads outside of the workspace and
 * nothing else; whatever it does not grant is asked of the whole. Most calls need no more.
 */
import { lstat, realpath, statSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { noNetwork } from '../authority/network.js';
import { makeSurface } from '../authority/surface.js';
import { systemDirectories } from '../authority/system-profile.js';
import { fromSystemError } from '../base/errno.js';
import { isOwnRepository, workspaceOf } from '../proxy/workspace.js';
import { vaultId, vaultPaths } from '../vault/store/layout.js';
import { type HookGrants, surfaceGrants } from './grants.js';
import type { HookHost } from './hook-host.js';
import { protectedPaths, withProtected } from './protected-paths.js';
import type { HostResolver } from './resolve-path.js';

function canonical(path: string): Promise<string> {
  return new Promise((settle, fail) => {
    realpath.native(path, (error, found) =>
      error === null ? settle(found) : fail(fromSystemError(error, 'open', path)),
    );
  });
}

/** Of what is at the path itself, be it a link; undefined where there is nothing that we may see. */
function ownerOf(path: string): Promise<number | undefined> {
  return new Promise((settle, fail) => {
    lstat(path, (error, about) => {
      if (error === null) settle(about.uid);
      else if (error.code === 'ENOENT' || error.code === 'EACCES' || error.code === 'ENOTDIR') settle(undefined);
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
      const git = await ownerOf(posix.join(path, '.git'));
      if (git === undefined) return;
      const owners = { git, directory: (await ownerOf(path)) ?? git };
      if (isOwnRepository(owners, process.geteuid?.() ?? owners.directory)) repositories.add(path);
    }),
  );
  return workspaceOf(directory, {
    home: host.home,
    store: host.store,
    hasVault: (path) => statSync(vaultPaths(host.store, vaultId(path)).meta, { throwIfNoEntry: false }) !== undefined,
    isRepository: (path) => repositories.has(path),
  });
}

/** Places whose files the system profile shows: a workspace among them may hold some. */
const systemPlaces = ['/etc', ...systemDirectories];

async function operatorHasASay(host: HookHost): Promise<boolean> {
  const files = host.operatorDirectories.map((directory) => ownerOf(posix.join(directory, 'agents.toml')));
  return (await Promise.all(files)).some((owner) => owner !== undefined);
}

/** Undefined where only the whole Authority can say. */
export async function workspaceGrants(
  host: HookHost,
  start: string,
  tools: ReadonlySet<string>,
  resolver: HostResolver,
): Promise<HookGrants | undefined> {
  const directory = await canonical(start);
  resolver.know(directory);
  const [origin, hasASay] = await Promise.all([originOf(host, directory), operatorHasASay(host)]);
  if (hasASay || systemPlaces.some((place) => contains(place, origin))) return undefined;
  const surface = makeSurface({ cwd: origin, hidden: host.hidden });
  const grants = surfaceGrants(surface, {
    network: noNetwork,
    toolFault: (name) => (tools.has(name) ? undefined : 'no policy grants it'),
  });
  return withProtected(grants, await protectedPaths([origin, directory], resolver.resolve), []);
}
