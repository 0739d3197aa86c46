/**
 * Git remembers inode and change time of every file. In a fork both are new, so the first `git status` would hash the
 * whole tree and write the index: slow, and a change no one made. So the index is refreshed once, inside a jail since
 * the repository's configuration can name programs, and kept as a layer of the trunk.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { launch } from '../../jail/launch.js';
import type { JailLayer } from '../../jail/plan.js';
import { prepareHome } from '../../vault/fork-trees.js';
import type { Synced } from '../../vault/forks/sync.js';
import { extendTrunk } from '../../vault/forks/trunk.js';
import { makeLayer, makeLiveTree, treesOf } from '../../vault/store/layer-pool.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { withVaultLock } from '../../vault/store/locks.js';
import { throwAway } from '../../vault/store/trash.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { type OpenFork, withMeta } from '../../vault/vault.js';
import { resolveAuthority } from '../grants/authority-of.js';
import { enforcedPlan } from '../grants/enforced-plan.js';
import type { Host, Place } from '../host.js';
import { overlayOf } from './fork-mounts.js';
import { viewOf } from './view.js';

const index = '.git/index';
/**
 * The system's git and no one else's, and no program that the repository's configuration names where git can be told
 * so.
 */
const command = ['/usr/bin/git', '-c', 'core.fsmonitor=false', 'update-index', '-q', '--refresh'];

/** A tree that takes longer is refreshed by the first `git status` instead. */
const patienceMilliseconds = 30_000;

/** Needed when the index in the trunk is the origin's own, and the fork has none of its own on top. */
function isNeeded({ fork, entered }: Synced): boolean {
  const { meta, paths, imported, vault } = fork;
  if (!imported && !entered.includes(index)) return false;
  if (!existsSync(join(vault.origin, index))) return false;
  return !treesOf(paths, [...meta.deltas, meta.live], workspaceRoot).some((tree) => existsSync(join(tree, index)));
}

/** Never fails the command it is done for: without git, or with a broken index, that command finds things as they are. */
export async function refreshGitIndex(
  host: Host,
  place: Place,
  synced: Synced,
  weakened: readonly JailLayer[],
  signal: AbortSignal | undefined,
): Promise<OpenFork> {
  const { fork } = synced;
  if (!isNeeded(synced)) return fork;
  const { paths, vault } = fork;
  // The fork's lock keeps it from being taken for garbage while git runs.
  const draft = makeLayer(paths, { fork: fork.name });
  makeLiveTree(paths, draft, workspaceRoot, treesOf(paths, vault.trunk, workspaceRoot), fork.owner);
  const here = { ...place, directory: place.origin };
  const overlay = overlayOf(paths, { target: place.origin, root: workspaceRoot, frozen: vault.trunk, live: draft });
  const view = viewOf({
    host,
    place: here,
    // No one's agent: it is ours, and needs the workspace alone.
    resolved: await resolveAuthority(host, { place: here }),
    mounts: { base: paths.directory, overlays: [overlay], home: prepareHome(fork) },
    argv: command,
    environmentAdditions: [],
    weakened,
  });
  const jail = launch({
    program: host.jailProgram,
    plan: enforcedPlan(view),
    streams: 'capture',
    input: 'nothing',
    lockDescriptor: fork.lockDescriptor,
  });
  const impatience = setTimeout(() => jail.kill(), patienceMilliseconds);
  const stop = () => jail.kill();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await jail.done;
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.operation !== 'exec') throw error;
    throwAway(host.store, paths.layer(draft));
    return fork;
  } finally {
    clearTimeout(impatience);
    signal?.removeEventListener('abort', stop);
  }
  if (await isIndexAlone(fork, draft)) return onTrunk(fork, draft);
  throwAway(host.store, paths.layer(draft));
  return fork;
}

/** The layer becomes the trunk's, unless the trunk has moved meanwhile: then it is of another tree. */
function onTrunk(fork: OpenFork, draft: string): Promise<OpenFork> {
  return withVaultLock(fork.tree, fork.paths.lock, 'refreshing the git index', () => {
    const vault = readVaultMeta(fork.paths.meta);
    if (vault?.position !== fork.vault.position) return fork;
    const after = extendTrunk(fork, vault, [draft], new Map());
    const meta = { ...fork.meta, position: after.position, base: after.trunk };
    return withMeta({ ...fork, vault: after }, meta, { durable: false });
  });
}

/**
 * What becomes a layer of the trunk is in no report and no diff. So it is the index or nothing: a filter that the repository
 * names can have run, and written anything.
 */
async function isIndexAlone({ tree, paths, vault }: OpenFork, draft: string): Promise<boolean> {
  const uppers = treesOf(paths, [draft], workspaceRoot);
  const changes = await tree.diff({ uppers, lowers: treesOf(paths, vault.trunk, workspaceRoot) });
  return changes.length === 1 && changes.every(({ path, type }) => path === index && type === 'file');
}
