/**
 * What an undo of an apply has to do: steps that bring back what was kept, which of them are done already, and what the person has changed
 * or put in their way.
 */
import { refreshedIndexes } from '../git/refreshed-indexes.js';
import type { AppliedSteps } from '../store/applied-steps.js';
import { treesOf } from '../store/layer-pool.js';
import { inWalkOrder, topPath } from '../store/root-paths.js';
import { addParents, belowAny } from '../tree/clashing.js';
import type { Step } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { isObject } from './undo-objects.js';
import { inTrees, singleSteps, treesOfSteps, walkerPath } from './whole-trees.js';

/** Written paths at which the directory is not what these trees show; of whole trees, what is in them. */
export async function differing(fork: OpenFork, key: string, trees: readonly string[], paths: readonly string[]) {
  const root = fork.vault.roots[key];
  if (root === undefined || paths.length === 0) return [];
  const asked = { layers: trees, root, shift: fork.owner.shift, paths, undoes: true, differing: true };
  return [...(await fork.tree.compare(asked)).keys()];
}

/**
 * The steps, without trees in which anything is not as the apply left it, or was added since: these are one by one, so that what stands
 * in the way is known by its path.
 */
async function clearSteps(fork: OpenFork, key: string, { trees, kept, steps }: Written): Promise<readonly Step[]> {
  const whole = steps.filter(({ tree }) => tree !== undefined);
  if (whole.length === 0) return steps;
  const paths = whole.map((step) => (step.action === 'put' ? walkerPath(step) : step.path));
  const treeOf = inTrees(whole);
  const met = new Set((await differing(fork, key, trees, paths)).map(treeOf));
  return singleSteps(fork.tree, { put: trees, remove: kept }, steps, ({ path }) => met.has(path));
}

/** Of one root. */
interface Written {
  /** What the apply wrote, and what it replaced. */
  readonly trees: readonly string[];
  readonly kept: readonly string[];
  readonly steps: readonly Step[];
}

/**
 * Paths that are not as the apply left them: `back` are as they were before it, since it was cut off, or an undo of it was; the others the
 * person has changed.
 */
async function changedSince(
  fork: OpenFork,
  key: string,
  kept: string,
  trees: readonly string[],
  different: readonly string[],
) {
  const changed = different.filter((path) => !isObject(path));
  const root = fork.vault.roots[key];
  const refreshed = await refreshedIndexes(fork, trees, root === undefined ? [] : [root], changed);
  const rest = changed.filter((path) => !refreshed.has(path));
  const theirs = await differing(fork, key, treesOf(fork.paths, [kept], key), rest);
  const back = new Set(rest);
  for (const path of theirs) back.delete(path);
  return { changed: theirs, back };
}

interface UndoPlan {
  /** What was not there goes, from the deepest up; the rest is put from the top down. */
  readonly plan: readonly Step[];
  /** Paths at which no directory is left by it. */
  readonly ends: readonly string[];
}

/** What brings the kept entries back. */
async function planOf(fork: OpenFork, key: string, layer: string, steps: readonly Step[]): Promise<UndoPlan> {
  const layers = treesOf(fork.paths, [layer], key);
  const paths = steps.map(({ path }) => path).filter((path) => path !== topPath);
  const closed = treesOfSteps(steps);
  const sides = { uppers: layers, lowers: [], stampless: true, closed };
  const entries = paths.length === 0 ? [] : await fork.tree.diff(sides);
  const kept = new Map(entries.map(({ path, type }) => [path, type]));
  const added = new Set(paths.filter((path) => !kept.has(path)));
  // With a repository that the apply made, its objects go.
  const isKept = (path: string) => isObject(path) && !added.has(path.replace(/\/(?:[0-9a-f]{2}|pack)\/[^/]*$/, ''));
  const objects = [...added].filter(isKept);
  const staying = new Set(objects);
  for (const path of objects) addParents(path, staying);
  const gone = [...added].filter((path) => !staying.has(path)).sort(inWalkOrder);
  const back = paths.filter((path) => kept.has(path)).sort(inWalkOrder);
  const top = steps.filter(({ path }) => path === topPath);
  const trees = new Map(steps.flatMap(({ path, tree }) => (tree === undefined ? [] : [[path, tree] as const])));
  const step = (action: Step['action'], path: string): Step => {
    const tree = trees.get(path);
    return tree === undefined ? { action, path } : { action, path, tree };
  };
  const plan = [
    ...gone.reverse().map((path) => step('remove', path)),
    ...back.map((path) => step('put', path)),
    ...top,
  ];
  return { plan, ends: paths.filter((path) => kept.get(path) !== 'directory' && !staying.has(path)) };
}

/** What the person has put where going back would end a directory, or taken away where it needs one. */
async function obstaclesOf(fork: OpenFork, key: string, steps: readonly Step[], { plan, ends }: UndoPlan) {
  const root = fork.vault.roots[key];
  if (root === undefined || plan.length === 0) return [];
  // In whole trees nothing else was found.
  const closed = treesOfSteps(steps);
  const sides = { uppers: [root], lowers: [], pastClosed: true, stampless: true, closed };
  const entries = await fork.tree.diff(sides);
  const directories = new Set(entries.filter(({ type }) => type === 'directory').map(({ path }) => path));
  const known = new Set(steps.map(({ path }) => path));
  const isInEnding = belowAny(new Set(ends));
  const strangers = entries.filter(({ path }) => !known.has(path) && isInEnding(path)).map(({ path }) => path);
  const lacking = plan.filter(({ action, path }) => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    return action === 'put' && parent !== '' && !known.has(parent) && !directories.has(parent);
  });
  return [...strangers, ...lacking.map(({ path }) => path)];
}

/** What stands right now at paths that are not as the apply left them, so that a save in the middle is seen, too. */
async function keepStanding(
  fork: OpenFork,
  standing: string,
  key: string,
  trees: readonly string[],
  paths: readonly string[],
) {
  const root = fork.vault.roots[key];
  if (root === undefined || paths.length === 0) return;
  const into = fork.paths.tree(standing, key);
  await fork.tree.mirror({ root, into, layers: trees, shift: fork.owner.shift, paths });
}

export interface Obstructed extends UndoPlan {
  /** Of the apply, as far as they are undone as they were done. */
  readonly steps: readonly Step[];
  /** Paths of the plan that the person has changed, and what they have put in its way. */
  readonly changed: readonly string[];
  /** Paths of the plan at which nothing is left to be done. */
  readonly back: ReadonlySet<string>;
  readonly obstacles: readonly string[];
}

/** What is asked of: an apply of the fork, its layer, and a new layer for what is to be replaced now. */
export interface AppliedLayer {
  readonly fork: OpenFork;
  readonly layer: string;
  readonly about: AppliedSteps;
  readonly standing: string;
}

/** By root. `writtenIn` are the trees that show what the apply wrote. */
export async function planUndo(
  { fork, about, layer, standing }: AppliedLayer,
  writtenIn: (key: string) => readonly string[],
) {
  const plans = new Map<string, Obstructed>();
  for (const [key, written] of Object.entries(about.roots)) {
    const trees = writtenIn(key);
    const kept = treesOf(fork.paths, [layer], key);
    const steps = await clearSteps(fork, key, { trees, kept, steps: written });
    const single = steps.filter(({ tree }) => tree === undefined);
    const different = await differing(
      fork,
      key,
      trees,
      single.map(({ path }) => path),
    );
    await keepStanding(fork, standing, key, trees, different);
    const undoing = await planOf(fork, key, layer, steps);
    const met = await changedSince(fork, key, layer, trees, different);
    plans.set(key, { ...undoing, ...met, steps, obstacles: await obstaclesOf(fork, key, steps, undoing) });
  }
  return plans;
}
