/** The end of an undo: the trunk takes over what is back in the person's directories, and the fork stands where it stood. */
import { rollBackFork } from '../forks/checkpoint.js';
import { syncLocked } from '../forks/durable.js';
import { takeWritten } from '../forks/take-written.js';
import { adoptScans, lookAtRoots } from '../forks/trunk.js';
import { type AppliedSteps, readSteps } from '../store/applied-steps.js';
import type { Checkpoint } from '../store/fork-meta.js';
import { shownPath } from '../store/root-paths.js';
import type { Step } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { inTrees, singleSteps, treesOfSteps, walkerPath } from './whole-trees.js';
import type { Written } from './write-origin.js';

/** Whether a path holds something else than the trunk, which has what the apply wrote: all that was put back or taken away. */
function broughtBack({ sameContent }: AppliedSteps, { home }: Settling) {
  if (sameContent === undefined) return undefined;
  const done = new Map(Object.entries(home.written).map(([key, steps]) => [key, new Set(steps.map(walkerPath))]));
  const same = new Map(Object.entries(sameContent).map(([key, paths]) => [key, new Set(paths)]));
  return (key: string, path: string) => done.get(key)?.has(path) === true && same.get(key)?.has(path) !== true;
}

export interface Settling {
  /** Shown paths that the person has changed: they stay theirs. */
  readonly left: readonly string[];
  /** By root: what was to be undone, trees of which something was left one by one. */
  readonly steps: ReadonlyMap<string, readonly Step[]>;
  readonly home: Written;
  /** Layers of what the apply wrote, and of what it replaced. */
  writtenIn(key: string): readonly string[];
  keptIn(key: string): readonly string[];
}

/** What the trunk takes over. A tree that clashed while it was written is none any more. */
async function settledSteps(fork: OpenFork, { steps, home, writtenIn, keptIn }: Settling) {
  const settled = [...steps].map(async ([key, list]): Promise<readonly [string, readonly Step[]]> => {
    const done = new Set((home.written[key] ?? []).map(walkerPath));
    const isMet = (step: Step) => !done.has(walkerPath(step));
    return [key, await singleSteps(fork.tree, { put: writtenIn(key), remove: keptIn(key) }, list, isMet)];
  });
  return new Map(await Promise.all(settled));
}

/** Whether a shown path is one of the steps, or in a tree of them. */
function broughtPaths({ vault }: OpenFork, steps: ReadonlyMap<string, readonly Step[]>): (shown: string) => boolean {
  const own = new Set<string>();
  const trees: Step[] = [];
  for (const [key, list] of steps)
    for (const step of list) {
      const path = shownPath(vault.roots, key, step.path);
      own.add(path);
      if (step.tree !== undefined) trees.push({ ...step, path });
    }
  const treeOf = inTrees(trees);
  return (path) => own.has(path) || treeOf(path) !== undefined;
}

/** What is brought back with it, by applies that it went on with: these are undone next. */
function stepsOfEarlier(fork: OpenFork, { after }: AppliedSteps): ReadonlyMap<string, readonly Step[]> {
  const found = new Map<string, Step[]>();
  for (let layer = after; layer !== undefined; ) {
    const earlier = readSteps(fork, layer);
    for (const [key, steps] of Object.entries(earlier?.roots ?? {})) {
      const list = found.get(key) ?? [];
      for (const step of steps) list.push(step);
      found.set(key, list);
    }
    layer = earlier?.after;
  }
  return found;
}

/** The trunk takes over what is back, and the fork stands where it stood. */
export async function settle(
  fork: OpenFork,
  layer: string,
  about: AppliedSteps,
  before: Checkpoint,
  settling: Settling,
) {
  const { writtenIn, keptIn } = settling;
  const steps = await settledSteps(fork, settling);
  const looked = await lookAtRoots(fork, Object.keys(about.roots), undefined, (key) => {
    const trees = treesOfSteps(steps.get(key) ?? []);
    return trees.length === 0 ? undefined : { trees, written: writtenIn(key), kept: keptIn(key) };
  });
  const left = new Set(settling.left);
  const isBack = (key: string, { path }: Step) => !left.has(shownPath(fork.vault.roots, key, path));
  const written = [...steps].map(
    ([key, list]) => [key, list.filter((step) => isBack(key, step)).map(walkerPath)] as const,
  );
  const taking = { isKnown: broughtBack(about, settling), shown: keptIn };
  const { vault } = await takeWritten(fork, looked, new Map(written), taking);
  adoptScans(fork, looked);
  const back = await rollBackFork({ ...fork, vault }, before);
  const applied = (back.meta.applied ?? []).filter((name) => name !== layer);
  const shownAgain = new Set(about.hidden ?? [before.id]);
  const checkpoints = back.meta.checkpoints.map((each) =>
    shownAgain.has(each.id) ? { ...each, undone: undefined } : each,
  );
  // What an apply or undo that was cut off had done already was seen as the person's: it is no clash, since all of it is back.
  const [isBrought, isBroughtNext] = [broughtPaths(fork, steps), broughtPaths(fork, stepsOfEarlier(fork, about))];
  const known = new Set(about.clashes ?? before.clashes);
  const isClash = (path: string) => known.has(path) || left.has(path) || !(isBrought(path) || isBroughtNext(path));
  const clashes = back.meta.clashes.filter(isClash);
  return syncLocked(back, { ...back.meta, applied, checkpoints, clashes });
}
