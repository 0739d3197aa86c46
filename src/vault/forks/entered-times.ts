/**
 * What the person changed while the fork was at work enters it after that, and a program that compares times would put both into
 * one order, though neither has seen the other. So such a source enters newer than all that the fork wrote, which may have been
 * built without it; and such a product older than every source that the fork changed, from which it was not built.
 * These times are in layers of the fork: the trunk has the person's own, and other forks have their own order.
 */

import { productsIn } from '../git/products.js';
import type { Stack } from '../store/fork-meta.js';
import { lastTime } from '../store/group.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import type { Roots } from '../store/root-paths.js';
import type { FileTime } from '../tree/tree.js';
import type { OpenFork, VaultAccess } from '../vault.js';
import { makeTimedLayer } from './path-layer.js';
import type { RootPaths } from './trunk.js';

type Timed = Pick<OpenFork, keyof VaultAccess | 'name' | 'place'>;

export interface EnteringPaths {
  readonly roots: Roots;
  /** Layers of the trunk that the fork had not seen. */
  readonly fresh: readonly string[];
  readonly paths: RootPaths;
}

export interface Entered {
  readonly root: string;
  /** Files that entered, and that the fork shows as the trunk does. */
  readonly files: readonly FileTime[];
  /** What the fork wrote. */
  readonly written: readonly FileTime[];
  /** When its last command ended, or began. */
  readonly end: bigint;
}

/** Files that need another time than the person's: just before a given one, else now. */
interface Shift {
  readonly paths: readonly string[];
  readonly before?: bigint | undefined;
}

const pathsOf = (files: readonly FileTime[]) => files.map(({ path }) => path);

/** Pure but for the rules of git in the directory. */
export function shiftsOf({ root, files, written, end }: Entered): readonly Shift[] {
  const isProduct = productsIn(root);
  const changed = written.filter(({ state, modified, before }) => state !== 'same' || modified !== before);
  const last = changed.reduce((latest, { modified }) => (modified > latest ? modified : latest), end);
  const sources = files.filter(({ path }) => !isProduct(path));
  const isLate = sources.some(({ modified }) => modified <= last);
  const first = changed
    .filter(({ path }) => !isProduct(path))
    .reduce<bigint | undefined>(
      (least, { modified }) => (least === undefined || modified < least ? modified : least),
      undefined,
    );
  const products = files.filter(({ path, modified }) => isProduct(path) && first !== undefined && modified >= first);
  return [
    ...(isLate ? [{ paths: pathsOf(sources) }] : []),
    ...(products.length > 0 ? [{ paths: pathsOf(products), before: first }] : []),
  ];
}

async function enteredIn(fork: Timed, stack: Stack, { roots, fresh, paths: entered }: EnteringPaths, key: string) {
  const root = roots[key];
  const uppers = treesOf(fork.paths, fresh, key);
  const paths = entered.get(key) ?? [];
  if (root === undefined || uppers.length === 0 || paths.length === 0) return undefined;
  const wanted = new Set(paths);
  const files = (await fork.tree.times({ uppers, lowers: [] })).filter(({ path }) => wanted.has(path));
  const layers = treesOf(fork.paths, stack.deltas, key);
  if (files.length === 0 || layers.length === 0) return undefined;
  const own = new Set(await fork.tree.held({ layers, paths: pathsOf(files) }));
  const written = await fork.tree.times({ uppers: layers, lowers: treesOf(fork.paths, stack.base, key) });
  return { root, files: files.filter(({ path }) => !own.has(path)), written, end: lastTime(fork.place) };
}

/** The stack with times of its own for what entered. */
export async function withOwnTimes(fork: Timed, stack: Stack, entering: EnteringPaths): Promise<Stack> {
  if (stack.deltas.length === 0) return stack;
  const layers: string[] = [];
  for (const key of entering.paths.keys()) {
    const found = await enteredIn(fork, stack, entering, key);
    for (const { paths, before } of found === undefined ? [] : shiftsOf(found)) {
      const layer = makeLayer(fork.paths, { fork: fork.name });
      const over = treesOf(fork.paths, [...stack.base, ...stack.deltas, ...layers], key);
      await makeTimedLayer(fork, { from: over, over, into: fork.paths.tree(layer, key), paths, before });
      layers.push(layer);
    }
  }
  return layers.length === 0 ? stack : { ...stack, deltas: [...stack.deltas, ...layers] };
}
