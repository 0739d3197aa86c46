/**
 * A layer that, on top of one stack, shows at some paths what another stack shows there. By way of a plain directory: what is
 * wanted is written out, and taken over from there as the person's edits are.
 */
import { mkdirSync } from 'node:fs';
import { addParents, belowAny } from './clashing.js';
import { copyTop } from './layer-pool.js';
import { inWalkOrder, topPath } from './root-paths.js';
import { endsDirectory, makesDirectory } from './staying.js';
import { throwAway } from './trash.js';
import type { Problem } from './tree.js';
import type { VaultAccess } from './vault.js';

export interface PathLayer {
  /** Trees of the stack whose content is wanted, topmost first. */
  readonly from: readonly string[];
  /** Trees of the stack it comes to lie on. */
  readonly over: readonly string[];
  /** Where the new layer's tree is made. */
  readonly into: string;
  /** Asked of every path at which the two stacks differ. */
  readonly isWanted: (path: string) => boolean;
}

/** Paths, and whatever is below them. */
export function atOrBelow(paths: readonly string[]): (path: string) => boolean {
  const tops = new Set(paths);
  const isBelow = belowAny(tops);
  return (path) => tops.has(path) || isBelow(path);
}

export async function makePathLayer(access: VaultAccess, layer: PathLayer): Promise<readonly Problem[]> {
  const { tree, store } = access;
  const { from, over, into, isWanted } = layer;
  const changes = await tree.diff({ uppers: from, lowers: over, whole: true });
  const wanted = changes.filter(({ path }) => path !== topPath && isWanted(path));
  const put = wanted.filter(({ kind }) => kind !== 'deleted');
  // The directories that hold them are made too: as they are below, or, where there is none, as they were.
  const above = new Set<string>();
  for (const { path } of put) addParents(path, above);
  const lacking = changes.filter((change) => makesDirectory(change) && above.has(change.path));
  const made = new Set([...put, ...lacking].map(({ path }) => path));
  const holding = new Set<string>();
  for (const { path } of wanted) addParents(path, holding);
  const notBelow = new Set([...lacking, ...wanted.filter(endsDirectory)].map(({ path }) => path));
  const present = [...holding].filter((path) => !notBelow.has(path));
  // In the layer, which this fork's lock keeps: another directory's verbs may empty the trash meanwhile.
  const draft = `${into}.draft`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    const putFrom = (uppers: readonly string[], paths: readonly string[]) =>
      tree.apply({ uppers, root: draft, plan: paths.map((path) => ({ action: 'put', path })) });
    await putFrom(over, present.sort(inWalkOrder));
    await putFrom(from, [...made].sort(inWalkOrder));
    const problems = await tree.mirror({ root: draft, into, layers: over, paths: wanted.map(({ path }) => path) });
    copyTop(over[0], into);
    return problems;
  } finally {
    throwAway(store, draft);
  }
}
