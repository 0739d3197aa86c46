/**
 * What a fork holds, as a digest: the layers it is made of, which never change, and what the live one holds, which processes of
 * earlier commands may still be writing. Commands before this one changed it; those that only looked did not.
 */
import { existsSync } from 'node:fs';
import { canonicalJson } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import { stateDigestMostBytes } from '../../base/limits/store.js';
import { sha256 } from '../../base/sha256.js';
import { uniqueName } from '../../base/unique-name.js';
import { isLiveTouched, type LiveLayer } from '../../vault/fork-trees.js';
import { readForkMeta } from '../../vault/store/fork-meta.js';
import { treesOf } from '../../vault/store/layer-pool.js';
import { mainFork, vaultId, vaultPaths } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import type { Change, Tree } from '../../vault/tree/tree.js';
import type { Host, Place } from '../host.js';

/** Of a directory that was never used: the fork is yet to be made, of the directory as it is. */
export const noFork = 'none';

function stampsOf(changes: readonly Change[]): string {
  return sha256(changes.map((change) => Object.values(change).join('\0')).join('\0'));
}

/** By content; where that is more than is read at once, by inode and the kernel's own time of the last change. */
async function liveContent(tree: Tree, fork: LiveLayer): Promise<readonly string[]> {
  if (!isLiveTouched(fork)) return [];
  const { live, base, deltas } = fork.meta;
  const found = Object.keys(fork.vault.roots).map(async (key) => {
    const layers = treesOf(fork.paths, [live], key);
    if (layers.length === 0) return `${key} none`;
    const [digest] = await tree.digest({ layers, most: stateDigestMostBytes });
    if (digest !== undefined) return `${key} ${digest}`;
    const lowers = treesOf(fork.paths, [...base, ...deltas], key);
    return `${key} ${stampsOf(await tree.diff({ uppers: layers, lowers }))}`;
  });
  return Promise.all(found);
}

/** What is in a directory that programs obey, or find scripts in: a home, /tmp, caches. */
export async function directoryContent(
  tree: Tree,
  directory: string,
  isSeen: (path: string) => boolean = () => true,
): Promise<string> {
  const found = existsSync(directory) ? await tree.diff({ uppers: [directory], lowers: [] }) : [];
  const seen = found.filter(({ path }) => isSeen(path));
  return seen.length === 0 ? 'none' : stampsOf(seen);
}

/** Beside each cache is a directory of the kernel's, which changes with every mount. */
export const isOfCache = (path: string): boolean => !/^[^/]*\.work(\/|$)/.test(path);

async function stateOf(
  { tree }: Pick<Host, 'tree'>,
  name: string,
  fork: LiveLayer,
  otherHome: string | undefined,
): Promise<string> {
  const { position, base, deltas, live } = fork.meta;
  // What cannot be read, or changes while it is, is like no other state: whatever is approved on it does not hold.
  const { home, temporary, caches } = fork.paths.fork(name);
  const content = await Promise.all([
    liveContent(tree, fork),
    ...[otherHome ?? home, temporary].map((directory) => directoryContent(tree, directory)),
    directoryContent(tree, caches, isOfCache),
  ]).catch((error: unknown) => {
    if (error instanceof ErrnoError) return uniqueName();
    throw error;
  });
  return `sha256:${sha256(canonicalJson({ name, position, base, deltas, live, content }))}`;
}

/** Read without the fork's lock: a command that runs in it now is seen by anyone who looks again with the lock. */
export async function forkState(
  host: Pick<Host, 'store' | 'tree'>,
  { origin }: Pick<Place, 'origin'>,
  asked: string | undefined,
  home?: string,
): Promise<string> {
  const paths = vaultPaths(host.store.directory, vaultId(origin));
  const vault = readVaultMeta(paths.meta);
  if (vault === undefined) return noFork;
  const name = asked ?? vault.current ?? mainFork;
  const meta = readForkMeta(paths.fork(name).directory);
  return meta === undefined ? noFork : stateOf(host, name, { paths, meta, vault }, home);
}
