/**
 * What the person edited enters a fork that commands are at work on. Their mount cannot be given other layers, so the
 * edits are put into it, as any program of theirs would save them: whole files, in one step each, and only where the
 * fork still shows what the person had before. From then on the fork stands on the newer trunk. A path that the fork has
 * changed itself stays as it is there, and is a clash.
 */
import { mkdirSync } from 'node:fs';
import { posix } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { editsEnteredLive } from '../../base/limits/store.js';
import { productsIn } from '../git/products.js';
import { refreshedIndexes } from '../git/refreshed-indexes.js';
import { restacked } from '../store/fork-meta.js';
import { makeLayer, sameTop, treesOf } from '../store/layer-pool.js';
import { shownPath, topPath } from '../store/root-paths.js';
import { discard } from '../store/trash.js';
import type { VaultMeta } from '../store/vault-meta.js';
import type { Change, Tree, TreeStep } from '../tree/tree.js';
import { type OpenFork, withMeta } from '../vault.js';
import { standingClashes } from './changes.js';
import type { Synced } from './sync.js';
import { advanceTrunk, type RootPaths } from './trunk.js';

export interface LiveEntering {
  /** What was found changed in the person's directories. */
  readonly looked: RootPaths;
  /** Owners of jails that have this root mounted; none: it is not in use. Undefined: that is not settled yet. */
  holders(key: string): readonly number[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Without `waiting` they have entered. */
export interface EnteredLive extends Synced {
  readonly waiting: readonly string[];
}

/** Of what is no directory any more, what was one: an overlay takes none out of its place by a rename. */
async function formerDirectories(tree: Tree, before: readonly string[], changes: readonly Change[]) {
  const other = changes.filter(({ kind, type }) => kind === 'modified' && type !== 'directory');
  const paths = other.map(({ path }) => path);
  const contents = before.length === 0 ? [] : await tree.read({ layers: before, paths, most: 1 });
  return new Set(paths.filter((_path, at) => contents[at]?.type === 'directory'));
}

/** Removals from the deepest up, then the rest from the top down. Pure but for the rules of git in the directory. */
function stepsOf(root: string, changes: readonly Change[], former: ReadonlySet<string>) {
  const isProduct = productsIn(root);
  const removals = changes.filter(({ kind, path }) => kind === 'deleted' || former.has(path)).reverse();
  const puts = changes.filter(({ kind }) => kind !== 'deleted');
  // A source is newer than all that was built without it; of a product no one knows from what it was built.
  const put = ({ path }: Change): TreeStep => ({ action: isProduct(path) ? 'keep' : 'put', path });
  return {
    first: [
      ...removals.map(({ path }): TreeStep => ({ action: 'remove', path })),
      ...puts.filter(({ path }) => !former.has(path)).map(put),
    ],
    second: puts.filter(({ path }) => former.has(path)).map(put),
  };
}

/** What the trunk has become since the fork saw it. The top itself follows where the fork has left it as it was. */
async function newsOf({ paths, tree, meta }: OpenFork, { trunk }: VaultMeta, key: string): Promise<readonly Change[]> {
  const lowers = treesOf(paths, meta.base, key);
  const isLonger = meta.base.every((layer, at) => trunk[at] === layer);
  const uppers = treesOf(paths, isLonger ? trunk.slice(meta.base.length) : trunk, key);
  if (uppers.length === 0) return [];
  const changes = await tree.diff({ uppers, lowers, whole: !isLonger });
  const isTopOurs = sameTop(paths.tree(meta.live, key), lowers[0]);
  return changes.filter(({ path, unlisted }) => unlisted === undefined && (path !== topPath || isTopOurs));
}

interface Put {
  readonly clashes: readonly string[];
  readonly entered: readonly string[];
}

async function putIn(
  fork: OpenFork,
  vault: VaultMeta,
  key: string,
  changes: readonly Change[],
  holders: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Put> {
  const { paths, tree, meta } = fork;
  const root = vault.roots[key];
  if (root === undefined || changes.length === 0) return { clashes: [], entered: [] };
  const [before, now] = [treesOf(paths, meta.base, key), treesOf(paths, vault.trunk, key)];
  const shown = (path: string) => shownPath(vault.roots, key, path);
  const entered = changes.map(({ path }) => shown(path));
  if (holders.length === 0) return { clashes: [], entered };
  const mounted = { upper: posix.relative(paths.directory, paths.tree(meta.live, key)), holders };
  const put = async (plan: readonly TreeStep[], expected: readonly string[]): Promise<readonly string[]> =>
    (await tree.apply({ uppers: now, root, mounted, plan, expected, forward: 'now', signal })).clashes;
  const { first, second } = stepsOf(root, changes, await formerDirectories(tree, before, changes));
  const met = await put(first, before);
  const free = second.filter(({ path }) => !met.includes(path));
  const clashes = [...met, ...(free.length === 0 ? [] : await withNothing(fork, key, (nothing) => put(free, nothing)))];
  const refreshed = await refreshedIndexes(fork, before, now, clashes);
  return { clashes: clashes.filter((path) => !refreshed.has(path)).map(shown), entered };
}

/** A tree that shows nothing. */
async function withNothing<T>(fork: OpenFork, key: string, use: (trees: readonly string[]) => Promise<T>): Promise<T> {
  const { paths, store, tree, name } = fork;
  const layer = makeLayer(paths, { fork: name });
  try {
    mkdirSync(paths.tree(layer, key), { mode: 0o700 });
    return await use([paths.tree(layer, key)]);
  } finally {
    await discard(store, tree, [paths.layer(layer)]);
  }
}

/** The fork's lock is held, and commands are at work on it. */
export async function enterLive(fork: OpenFork, { looked, holders, signal }: LiveEntering): Promise<EnteredLive> {
  const { meta } = fork;
  const shown = (key: string, paths: readonly string[]) => paths.map((path) => shownPath(fork.vault.roots, key, path));
  const seen = [...looked].flatMap(([key, paths]) => shown(key, paths));
  const unchanged: EnteredLive = { fork, entered: [], clashes: meta.clashes, problems: [], waiting: seen };
  // What is not copied shows its edits as they are made.
  if (fork.vault.uncopied === true || seen.length > editsEnteredLive) return unchanged;
  const { vault, problems } = await advanceTrunk(fork, looked);
  if (vault.position === meta.position) return { ...unchanged, waiting: [], problems };
  const news = new Map<string, readonly Change[]>();
  for (const key of Object.keys(vault.roots)) news.set(key, await newsOf(fork, vault, key));
  // What an earlier look found, and could not enter, is no edit to the next look.
  const waiting = [...news].flatMap(([key, changes]) =>
    shown(
      key,
      changes.map(({ path }) => path),
    ),
  );
  const isUnsettled = [...news].some(([key, changes]) => changes.length > 0 && holders(key) === undefined);
  if (isUnsettled || waiting.length > editsEnteredLive) return { ...unchanged, problems, waiting };
  const clashes: string[] = [];
  const entered: string[] = [];
  try {
    for (const [key, changes] of news) {
      const put = await putIn(fork, vault, key, changes, holders(key) ?? [], signal);
      clashes.push(...put.clashes);
      entered.push(...put.entered);
    }
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.code === 'ECANCELED') throw error;
    // What was put is there, and the rest enters when they have ended; ESRCH: they just have.
    const { code, reason, path = fork.vault.origin } = error;
    const failed = code === 'ESRCH' ? [] : [{ path, code, reason }];
    return { ...unchanged, problems: [...problems, ...failed], waiting };
  }
  const mounted = meta.mounted ?? [...meta.base, ...meta.deltas];
  const all = [...new Set([...meta.clashes, ...clashes])].sort();
  const stack = { position: vault.position, base: vault.trunk, deltas: meta.deltas };
  const moved = { ...fork, vault, drift: undefined, meta: { ...restacked(meta, stack, all), mounted } };
  const standing = await standingClashes(moved);
  const after = withMeta(moved, { ...moved.meta, clashes: standing }, { durable: false });
  return { fork: after, entered, clashes: standing, problems, waiting: [] };
}
