/**
 * A fork moves onto a newer trunk: the person's edits come to lie below its deltas. Where the fork changed the same path,
 * the fork's version stays on top and the path is a clash: reported, never resolved silently, and refused by apply.
 *
 * A delta may hold a path without changing it: a file that was touched, or written again as it was. Such a copy would hide
 * the person's edit and, taken for a change, undo it. The deltas are then merged into one without these copies.
 */

import { refreshedIndexes } from '../git/refreshed-indexes.js';
import type { Stack } from '../store/fork-meta.js';
import { copyTop, makeLayer, rootsOf, sameTop, treesOf } from '../store/layer-pool.js';
import { shownPath, topPath } from '../store/root-paths.js';
import { stepsSince } from '../store/trunk-steps.js';
import type { VaultMeta } from '../store/vault-meta.js';
import { clashing } from '../tree/clashing.js';
import type { OpenFork, VaultAccess } from '../vault.js';
import { withOwnTimes } from './entered-times.js';
import { atOrBelow } from './path-layer.js';
import { enteredByLayers, enteredWith, pathCount, type RootPaths, touchedWith } from './trunk.js';

type Adopting = Pick<OpenFork, keyof VaultAccess | 'name' | 'place'>;

export interface Adopted {
  readonly stack: Stack;
  /** Shown paths of the trunk's changes that the stack had not seen. */
  readonly entered: readonly string[];
  /** Those of them that the stack changes too. */
  readonly clashes: readonly string[];
}

/** Entered paths that the deltas decide, changed or not. The top directory is always there: it counts where it is the base's. */
async function heldPaths(access: VaultAccess, stack: Stack, key: string, entered: readonly string[]) {
  const layers = treesOf(access.paths, stack.deltas, key);
  if (layers.length === 0 || entered.length === 0) return [];
  const below = treesOf(access.paths, stack.base, key);
  const top = entered.includes(topPath) && sameTop(layers[0], below[0]) ? [topPath] : [];
  const paths = entered.filter((path) => path !== topPath);
  return [...top, ...(paths.length === 0 ? [] : await access.tree.held({ layers, paths }))];
}

/** The deltas as one layer, without what they only repeat of the base at these paths. */
async function withoutRepetition(fork: Adopting, stack: Stack, held: RootPaths, base: readonly string[]) {
  const { paths, tree } = fork;
  const layer = makeLayer(paths, { fork: fork.name });
  for (const key of new Set(stack.deltas.flatMap((delta) => rootsOf(paths, delta)))) {
    const unrepeated = held.get(key) ?? [];
    await tree.merge({
      layers: treesOf(paths, stack.deltas, key),
      lowers: treesOf(paths, stack.base, key),
      below: treesOf(paths, base, key),
      into: paths.tree(layer, key),
      unrepeated,
    });
    if (unrepeated.includes(topPath)) copyTop(treesOf(paths, base, key)[0], paths.tree(layer, key));
  }
  return [layer];
}

const isTree = (path: string) => path.endsWith('/');

/** Whole trees that another fork applied, path by path: those at which the trunk of now is another than the one the stack lies on. */
async function singlePaths(
  access: VaultAccess,
  vault: VaultMeta,
  stack: Stack,
  entered: RootPaths,
): Promise<RootPaths> {
  if (![...entered.values()].some((list) => list.some(isTree))) return entered;
  const isLonger = stack.base.every((layer, at) => vault.trunk[at] === layer);
  const above = isLonger ? vault.trunk.slice(stack.base.length) : vault.trunk;
  const found = [...entered].map(async ([key, list]): Promise<readonly [string, readonly string[]]> => {
    const trees = list.filter(isTree);
    const uppers = treesOf(access.paths, above, key);
    if (trees.length === 0) return [key, list];
    const single = list.filter((path) => !isTree(path));
    if (uppers.length === 0) return [key, single];
    const lowers = treesOf(access.paths, stack.base, key);
    const changes = await access.tree.diff({ uppers, lowers, whole: !isLonger, stampless: true });
    const isEntered = atOrBelow(trees);
    const changed = changes.map(({ path }) => path).filter(isEntered);
    return [key, [...new Set([...single, ...changed])]];
  });
  return new Map(await Promise.all(found));
}

/** The stack on top of the trunk as it is now. Everything it names is frozen; the fork's lock is held. `steps`: since the stack's position. */
export async function adoptTrunk(
  fork: Adopting,
  vault: VaultMeta,
  stack: Stack,
  steps = stepsSince(fork, vault, stack.position),
): Promise<Adopted> {
  const base = { position: vault.position, base: vault.trunk };
  const isWhole = steps.every((step) => step !== undefined);
  const entered = isWhole
    ? await singlePaths(fork, vault, stack, enteredWith(steps, fork.name))
    : await enteredByLayers(fork, vault, stack);
  const shown = [...entered].flatMap(([key, list]) => list.map((path) => shownPath(vault.roots, key, path)));
  const held = new Map<string, readonly string[]>();
  for (const [key, list] of entered) held.set(key, await heldPaths(fork, stack, key, list));
  const met = pathCount(held) > 0;
  const deltas = met ? await withoutRepetition(fork, stack, held, base.base) : stack.deltas;
  const clashes: string[] = [];
  // Asked with the person's edits in place: whatever the fork shows otherwise there is a clash, however it came about.
  for (const [key, list] of met ? entered : []) {
    const uppers = treesOf(fork.paths, deltas, key);
    if (uppers.length === 0) continue;
    const lowers = treesOf(fork.paths, base.base, key);
    const found = clashing(list, await fork.tree.diff({ uppers, lowers, tellsUnlisted: true }));
    const refreshed = await refreshedIndexes(fork, treesOf(fork.paths, stack.base, key), lowers, found);
    // After a rollback to before an apply the stack may have the index that was applied, and the person the same.
    const others = found.filter((path) => !refreshed.has(path));
    const same = await refreshedIndexes(fork, treesOf(fork.paths, [...base.base, ...deltas], key), lowers, others);
    for (const path of others) if (!same.has(path)) clashes.push(shownPath(vault.roots, key, path));
  }
  const known = new Set(stack.base);
  const fresh = vault.trunk.filter((layer) => !known.has(layer));
  const touched = touchedWith(steps, fork.name);
  const paths = new Map(
    [...entered, ...touched].map(([key]) => [key, [...(entered.get(key) ?? []), ...(touched.get(key) ?? [])]]),
  );
  const timed = await withOwnTimes(fork, { ...base, deltas }, { roots: vault.roots, fresh, paths });
  return { stack: timed, entered: shown, clashes };
}
