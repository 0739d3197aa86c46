/** Steps of whole trees: as the walker is told, counted, and one by one where that is asked for. */
import { listedChanges } from '../../base/limits/store.js';
import { countSteps } from '../tree/steps.js';
import type { Step, Tree } from '../tree/tree.js';

/** As the walker takes it: a slash at its end says that all below is meant, too. */
export const walkerPath = ({ path, tree }: Pick<Step, 'path' | 'tree'>): string =>
  tree === undefined ? path : `${path}/`;

export const treesOfSteps = (steps: readonly Step[]): readonly string[] =>
  steps.flatMap((step) => (step.tree === undefined ? [] : [walkerPath(step)]));

const isIn = (directory: string, path: string) =>
  path.length > directory.length && path.charAt(directory.length) === '/' && path.startsWith(directory);

/** Whether a path is that of a tree of the steps, or below one. */
export function inTrees(steps: readonly Step[]): (path: string) => string | undefined {
  const trees = new Set<string>();
  for (const { path, tree } of steps) if (tree !== undefined) trees.add(path);
  if (trees.size === 0) return () => undefined;
  return (path) => {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const directory = path.slice(0, end);
      if (trees.has(directory)) return directory;
    }
    return undefined;
  };
}

/** Where the names in trees are: of those that are put, and of those that are removed. */
export interface TreeLayers {
  readonly put: readonly string[];
  readonly remove: readonly string[];
}

async function singlesOf(tree: Tree, layers: readonly string[], trees: readonly Step[]) {
  const names = await tree.names(
    layers,
    trees.map(({ path }) => path),
  );
  const found = new Map<Step, readonly Step[]>();
  let at = 0;
  for (const step of trees) {
    const { action, path } = step;
    const singles: Step[] = [{ action, path }];
    if (names[at] === path) at += 1;
    for (let name = names[at]; name !== undefined && isIn(path, name); name = names[at]) {
      singles.push({ action, path: name });
      at += 1;
    }
    found.set(step, action === 'remove' ? singles.reverse() : singles);
  }
  return found;
}

/** The same steps, of which those trees that are wanted are one by one: as the layers show them. */
export async function singleSteps(
  tree: Tree,
  layers: TreeLayers,
  steps: readonly Step[],
  isWanted: (step: Step) => boolean = () => true,
): Promise<readonly Step[]> {
  const wanted = steps.filter((step) => step.tree !== undefined && isWanted(step));
  if (wanted.length === 0) return steps;
  const of = (action: Step['action']) => wanted.filter((step) => step.action === action);
  const puts = await singlesOf(tree, layers.put, of('put'));
  const removals = await singlesOf(tree, layers.remove, of('remove'));
  const single: Step[] = [];
  for (const step of steps) for (const each of puts.get(step) ?? removals.get(step) ?? [step]) single.push(each);
  return single;
}

/** For reports: one by one up to `listedChanges`; beyond that a tree is listed with how many it stands for. */
export async function reportedSteps(tree: Tree, layers: TreeLayers, steps: readonly Step[]): Promise<readonly Step[]> {
  if (countSteps(steps) <= listedChanges) return singleSteps(tree, layers, steps);
  return steps.map(({ action, path, tree: whole }): Step => {
    return whole === undefined ? { action, path } : { action, path, unlisted: whole.entries };
  });
}
