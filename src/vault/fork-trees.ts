/** Directories of a fork on the disk: what its commands see below what they write, and where they write. Made when they are missing. */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sharedCacheMilliseconds } from '../base/limits/store.js';
import { makeDirectory } from '../base/make-directory.js';
import { give, isTouched, makeDirectoryWhole, makeLiveTree, treesOf } from './store/layer-pool.js';
import { rootKey, storePaths } from './store/layout.js';
import type { Tree } from './tree/tree.js';
import type { OpenFork } from './vault.js';

/** Directories of the frozen layers of one root, topmost first: what lies below the live layer. */
export function frozenTrees({ paths, meta }: Pick<OpenFork, 'paths' | 'meta'>, root: string): string[] {
  return treesOf(paths, [...meta.base, ...meta.deltas], root);
}

/** What a command needs to write one root: made when it is missing. */
export function prepareRoot(fork: OpenFork, root: string): void {
  makeLiveTree(fork.paths, fork.meta.live, root, frozenTrees(fork, root), fork.owner);
}

/** Everything a fork's commands have written, for code that counts it. */
export function writtenTrees(fork: OpenFork): string[] {
  const layers = [...fork.meta.deltas, fork.meta.live];
  const trees = Object.keys(fork.vault.roots).flatMap((root) => treesOf(fork.paths, layers, root));
  const caches = existsSync(fork.place.caches) ? [fork.place.caches] : [];
  return [...trees, prepareHome(fork), prepareTemporary(fork), ...caches];
}

/** As much of a fork as says what is in its live layer. */
export type LiveLayer = Pick<OpenFork, 'paths' | 'meta' | 'vault'>;

/** Whether anything was written into the live layer. */
export function isLiveTouched(fork: LiveLayer): boolean {
  const { paths, meta } = fork;
  return Object.keys(fork.vault.roots).some((root) => isTouched(paths.tree(meta.live, root), frozenTrees(fork, root)));
}

/** The private home of the fork's commands. */
export function prepareHome({ place, owner }: OpenFork): string {
  makeDirectoryWhole(place.home, (draft) => give(draft, owner));
  return place.home;
}

/** The `/tmp` of the fork's commands: one for all, so that what one leaves there the next one finds. Its owner is root inside. */
export function prepareTemporary({ place, owner }: OpenFork): string {
  makeDirectoryWhole(place.temporary, (draft) => {
    give(draft, { ...owner, uid: 0, gid: 0 });
    chmodSync(draft, 0o1777);
  });
  return place.temporary;
}

/** `share`: for all forks of one user, whatever the directory; nothing but its deletion forgets it. */
export type CacheKeeping = 'fork' | 'share';

/** What the fork writes into one cache of the person's, and the kernel's directory beside it. Its top is as that of theirs. */
export function prepareCache(
  { place, owner, store, tree }: OpenFork,
  source: string,
  keeping: CacheKeeping,
): { readonly upper: string; readonly work: string } {
  const directory = keeping === 'share' ? join(storePaths(store.directory).caches, String(owner.uid)) : place.caches;
  const upper = join(directory, rootKey(source));
  const work = `${upper}.work`;
  if (existsSync(upper)) return { upper, work };
  makeDirectory(directory);
  const make = () => {
    makeDirectoryWhole(work, (draft) => give(draft, owner));
    makeDirectoryWhole(upper, (draft) => {
      const like = statSync(source);
      give(draft, { uid: like.uid, gid: like.gid, shift: owner.shift });
      chmodSync(draft, like.mode & 0o777);
    });
  };
  // The lock of this fork keeps commands of another one out of nothing that they share.
  if (keeping === 'share') alone(tree, `${directory}.lock`, make);
  else make();
  return { upper, work };
}

function alone(tree: Tree, path: string, act: () => void): void {
  const descriptor = openSync(path, 'a', 0o600);
  try {
    tree.fileLock(sharedCacheMilliseconds, 'shared cache')?.hold(descriptor, path);
    act();
  } finally {
    closeSync(descriptor);
  }
}
