/** A fork as its jail mounts it: each root an overlay at its own path, all named from the vault's directory. */
import { posix } from 'node:path';
import { lazily } from '../../base/lazily.js';
import type { CacheRoot, OverlayRoot } from '../../jail/plan.js';
import { type CacheKeeping, prepareCache, prepareHome, prepareRoot, prepareTemporary } from '../../vault/fork-trees.js';
import { treesOf } from '../../vault/store/layer-pool.js';
import { rootKey, type VaultPaths, workspaceRoot } from '../../vault/store/layout.js';
import { idleJailsOf } from '../../vault/store/worker-file.js';
import type { OpenFork } from '../../vault/vault.js';
import { holdersOf } from './group-part.js';

export interface ForkMounts {
  /** The directory that the overlays' layers are named relative to. */
  readonly base: string;
  readonly overlays: readonly OverlayRoot[];
  /** What stands for the person's home. */
  readonly home: string;
  /** What takes what is written into a cache of the person's; without it caches are read-only. */
  cache?(source: string): Pick<CacheRoot, 'upper' | 'work' | 'holders'>;
  /** What stands for `/tmp`; without it that ends with the command. */
  readonly temporary?: string;
}

export interface RootLayers {
  readonly target: string;
  readonly root: string;
  /** Frozen layers, oldest first. */
  readonly frozen: readonly string[];
  readonly live: string;
}

export function overlayOf(paths: VaultPaths, { target, root, frozen, live }: RootLayers): OverlayRoot {
  const inVault = (path: string) => posix.relative(paths.directory, path);
  return {
    target,
    lower: treesOf(paths, frozen, root).map(inVault),
    upper: inVault(paths.tree(live, root)),
    work: inVault(paths.work(live, root)),
  };
}

/** The workspace, and the further directories that are named. Makes what is missing for them to be mounted. */
export function mountsOf(
  fork: OpenFork,
  directories: readonly string[] = [],
  { home, cache = 'fork' }: { readonly home?: string | undefined; readonly cache?: CacheKeeping | undefined } = {},
): ForkMounts {
  const { paths, meta, vault } = fork;
  const overlays = [workspaceRoot, ...directories.map(rootKey)].flatMap((root) => {
    const target = vault.roots[root];
    if (target === undefined) return [];
    prepareRoot(fork, root);
    const overlay = overlayOf(paths, { target, root, frozen: [...meta.base, ...meta.deltas], live: meta.live });
    const holders = holdersOf(fork.others, root);
    return [holders.length === 0 ? overlay : { ...overlay, holders }];
  });
  const inVault = (path: string) => posix.relative(paths.directory, path);
  // A kept jail has them mounted between its commands, too.
  const havingCaches = lazily(() => [...fork.others.flatMap(({ jail }) => jail ?? []), ...idleJailsOf(fork.place)]);
  return {
    base: paths.directory,
    overlays,
    home: home ?? prepareHome(fork),
    temporary: prepareTemporary(fork),
    cache: (source) => {
      const { upper, work } = prepareCache(fork, source, cache);
      const holders = havingCaches();
      return { upper: inVault(upper), work: inVault(work), ...(holders.length === 0 ? {} : { holders }) };
    },
  };
}
