/**
 * Git remembers inode and change time of every file. In a fork both are new, so the first `git status` would hash the whole
 * tree and write the index: slow, and a change nobody made. So the index is refreshed once, inside a jail since the
 * repository's configuration can name programs, and kept as a layer below the fork.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError } from '../base/errno.js';
import { launch } from '../jail/launch.js';
import type { Layer } from '../jail/plan.js';
import { addLayer } from '../vault/fold.js';
import type { Synced } from '../vault/sync.js';
import { throwAway } from '../vault/trash.js';
import { layersFromTop, makeEmptyFork, type OpenVault } from '../vault/vault.js';
import { resolveAuthority } from './authority-of.js';
import { enforcedPlan } from './enforced-plan.js';
import type { Host, Place } from './host.js';
import { viewOf } from './view.js';

const index = '.git/index';
/** The system's git and nobody else's, and no program that the repository's configuration names where git can be told so. */
const command = ['/usr/bin/git', '-c', 'core.fsmonitor=false', 'update-index', '-q', '--refresh'];

/** A tree that takes longer is refreshed by the first `git status` instead. */
const patienceMilliseconds = 30_000;

/** Needed when the index in the layers is the origin's own, and the fork has none of its own on top. */
function isNeeded({ vault, entered }: Synced): boolean {
  const { meta, paths, imported } = vault;
  if (!imported && !entered.includes(index)) return false;
  return existsSync(join(meta.origin, index)) && !existsSync(join(paths.fork.upper, index));
}

/** Never fails the command it is done for: without git, or with a broken index, that command finds things as they are. */
export async function refreshGitIndex(
  host: Host,
  place: Place,
  synced: Synced,
  weakened: readonly Layer[],
  signal: AbortSignal | undefined,
): Promise<OpenVault> {
  const { vault } = synced;
  if (!isNeeded(synced)) return vault;
  const { gitIndex: fork } = vault.paths;
  throwAway(host.store, fork.directory);
  makeEmptyFork(fork, place.origin, place.owner);
  const here = { ...place, directory: place.origin };
  const view = viewOf({
    host,
    place: here,
    // Nobody's agent: it is ours, and needs the workspace alone.
    resolved: await resolveAuthority(host, { place: here }),
    vault,
    fork,
    argv: command,
    environmentAdditions: [],
    weakened,
  });
  const jail = launch({
    program: host.jailProgram,
    plan: enforcedPlan(view),
    streams: 'capture',
    input: 'nothing',
    lockDescriptor: vault.lockDescriptor,
  });
  const impatience = setTimeout(() => jail.kill(), patienceMilliseconds);
  const stop = () => jail.kill();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await jail.done;
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.operation !== 'exec') throw error;
    return vault;
  } finally {
    clearTimeout(impatience);
    signal?.removeEventListener('abort', stop);
  }
  return (await isIndexAlone(vault))
    ? { ...vault, meta: addLayer(host.store, vault.paths, vault.meta, fork.upper) }
    : vault;
}

/**
 * What becomes a layer below the fork is in no report and no diff. So it is the index or nothing: a filter that the repository
 * names can have run, and written anything.
 */
async function isIndexAlone({ tree, paths, ...vault }: OpenVault): Promise<boolean> {
  const changes = await tree.diff({ uppers: [paths.gitIndex.upper], lowers: layersFromTop({ tree, paths, ...vault }) });
  return changes.length === 1 && changes.every(({ path, type }) => path === index && type === 'file');
}
