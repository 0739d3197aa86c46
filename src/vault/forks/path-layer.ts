/**
 * A layer that, on top of one stack, shows at some paths what another stack shows there. By way of a plain directory: what is
 * wanted is written out, and taken over from there as the person's edits are.
 */
import { mkdirSync } from 'node:fs';
import { copyTop } from '../store/layer-pool.js';
import { inWalkOrder, topPath } from '../store/root-paths.js';
import { throwAway } from '../store/trash.js';
import { addParents, belowAny } from '../tree/clashing.js';
import { endsDirectory, makesDirectory } from '../tree/staying.js';
import type { Change, Problem, TreeStep } from '../tree/tree.js';
import type { VaultAccess } from '../vault.js';

export interface PathLayer {
  /** Trees of the stack whose content is wanted, topmost first. */
  readonly from: readonly string[];
  /** Trees of the stack it comes to lie on. */
  readonly over: readonly string[];
  /** Where the new layer's tree is made. */
  readonly into: string;
  /** Asked of every path at which the two stacks differ. */
  readonly isWanted: (path: string) => boolean;
  /** What is wanted changes now, and gets later times; with what those came after, these are counted in their order. */
  readonly forward?: { readonly after: 'now' | bigint; readonly among: readonly string[] } | undefined;
}

/** Paths, and whatever is below them; whole trees may have a slash at their end. */
export function atOrBelow(paths: readonly string[]): (path: string) => boolean {
  const tops = new Set(paths.map((path) => (path.endsWith('/') ? path.slice(0, -1) : path)));
  const isBelow = belowAny(tops);
  return (path) => tops.has(path) || isBelow(path);
}

export async function makePathLayer(access: VaultAccess, layer: PathLayer): Promise<readonly Problem[]> {
  const { tree } = access;
  const { from, over, into, isWanted, forward } = layer;
  const changes = await tree.diff({ uppers: from, lowers: over, whole: true });
  // A directory does not end where something in it stays.
  const holdingOn = new Set<string>();
  for (const { kind, path } of changes) if (kind === 'deleted' && !isWanted(path)) addParents(path, holdingOn);
  const stays = (change: Change) => endsDirectory(change) && holdingOn.has(change.path);
  const wanted = changes.filter((change) => change.path !== topPath && isWanted(change.path) && !stays(change));
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
  const plan = {
    from,
    over,
    into,
    forward,
    parents: present,
    put: [...made],
    mirrored: wanted.map(({ path }) => path),
  };
  return writeLayer(access, plan);
}

interface LayerPlan extends Pick<PathLayer, 'from' | 'over' | 'into' | 'forward'> {
  /** Directories as they are below. */
  readonly parents: readonly string[];
  readonly put: readonly string[];
  /** Paths that the layer decides: those that were put, and those that it deletes. */
  readonly mirrored: readonly string[];
}

async function writeLayer(access: VaultAccess, layer: LayerPlan): Promise<readonly Problem[]> {
  const { tree, store } = access;
  const { from, over, into, forward, parents, put, mirrored } = layer;
  // In the layer, which this fork's lock keeps: another directory's verbs may empty the trash meanwhile.
  const draft = `${into}.draft`;
  const sockets = true;
  mkdirSync(draft, { mode: 0o700 });
  try {
    const putting = (paths: Iterable<string>) =>
      [...paths].sort(inWalkOrder).map((path): TreeStep => ({ action: 'put', path }));
    await tree.apply({ uppers: over, root: draft, plan: putting(parents), sockets });
    const weighed = (forward?.among ?? []).map((path): TreeStep => ({ action: 'weigh', path }));
    const plan = [...putting(put), ...weighed];
    // Whole: names of one file stay names of one file.
    await tree.apply({ uppers: from, root: draft, plan, forward: forward?.after, sockets, whole: true });
    const problems = await tree.mirror({ root: draft, into, layers: over, paths: mirrored, sockets });
    copyTop(over[0], into);
    return problems;
  } finally {
    throwAway(store, draft);
  }
}

/** The same files with times of now, or just before a given one, in their order; on top of a stack that shows them as `from` does. */
export function makeTimedLayer(
  access: VaultAccess,
  timed: Pick<PathLayer, 'from' | 'over' | 'into'> & {
    readonly paths: readonly string[];
    readonly before?: bigint | undefined;
  },
): Promise<readonly Problem[]> {
  const { from, over, into, paths, before } = timed;
  const parents = new Set<string>();
  for (const path of paths) addParents(path, parents);
  // Each entry has at most one place in the order, and so has each directory that holds one, the top among them.
  const after = before === undefined ? 'now' : before - BigInt(paths.length + parents.size + 2);
  const forward = { after, among: [] } as const;
  return writeLayer(access, { from, over, into, forward, parents: [...parents], put: paths, mirrored: paths });
}
