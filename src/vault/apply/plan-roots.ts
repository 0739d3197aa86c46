/** The plan of an apply, by root: what is written, what stands in its way, and the times that decide what its files are given. */
import type { FoldedChanges, TimedChanges } from '../forks/changes.js';
import { treesOf } from '../store/layer-pool.js';
import { pathWithin, type Roots, shownPath } from '../store/root-paths.js';
import type { FileTime } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { type ApplyChoices, type ApplyPlan, mayTouch, planApply } from './apply-plan.js';
import { countingTimes, sameContentOf, touchedOf } from './apply-times.js';

async function agreedPaths(fork: OpenFork, key: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const { meta, tree, owner, vault } = fork;
  const root = vault.roots[key];
  if (paths.length === 0 || root === undefined) return new Set();
  const layers = treesOf(fork.paths, [...meta.base, ...meta.deltas, meta.live], key);
  const compared = await tree.compare({ layers, root, shift: owner.shift, paths });
  return new Set(paths.filter((path) => compared.get(path) === 'same'));
}

const within = (roots: Roots, key: string, shown: readonly string[] | undefined) =>
  shown?.flatMap((path) => pathWithin(roots, key, path) ?? []);

/** Of an absolute path that lies in the root. */
export function relativeIn(root: string, path: string): readonly string[] {
  return path.startsWith(`${root}/`) ? [path.slice(root.length + 1)] : [];
}

export interface RootPlan extends ApplyPlan {
  /** Files that the fork has as the person does, but for their times: given later ones. */
  readonly touched: readonly string[];
  /** What their times were found to be, as far as they count. */
  readonly listed: readonly FileTime[];
  /** Paths whose content is as it was: only modes or owners are written. */
  readonly sameContent: ReadonlySet<string>;
}

export interface Plans {
  readonly byRoot: ReadonlyMap<string, RootPlan>;
  readonly undecided: readonly string[];
}

export const forkTrees = ({ paths, meta }: OpenFork, key: string) => treesOf(paths, [...meta.deltas, meta.live], key);

type Timed = Pick<RootPlan, 'touched' | 'listed'>;

/** `known`: the times of these trees, where they are. */
async function timesIn(
  fork: OpenFork,
  key: string,
  sameContent: ReadonlySet<string>,
  choices: ApplyChoices,
  known: readonly FileTime[] | undefined,
): Promise<Timed> {
  const [uppers, lowers] = [forkTrees(fork, key), treesOf(fork.paths, fork.meta.base, key)];
  if (uppers.length === 0) return { touched: [], listed: [] };
  const times = known ?? (await fork.tree.times({ uppers, lowers, known: true }));
  const touched = touchedOf(times).filter((path) => mayTouch(path, choices));
  return { touched, listed: lowers.length === 0 ? [] : countingTimes(times, sameContent) };
}

export async function planRoots(
  fork: OpenFork,
  changes: FoldedChanges,
  choices: ApplyChoices,
  times: TimedChanges['times'] | undefined,
): Promise<Plans> {
  const { roots } = fork.vault;
  const byRoot = new Map<string, RootPlan>();
  const open: string[] = [];
  for (const [key, list] of changes) {
    const clashes = within(roots, key, fork.meta.clashes) ?? [];
    const own: ApplyChoices = {
      conflicts: choices.conflicts,
      ours: within(roots, key, choices.ours),
      theirs: within(roots, key, choices.theirs),
      only: within(roots, key, choices.only),
      withheld: new Set(within(roots, key, [...(choices.withheld ?? [])])),
      own: choices.own?.flatMap((path) => relativeIn(roots[key] ?? '', path)),
    };
    const plan = planApply(list, clashes, await agreedPaths(fork, key, clashes), own);
    const sameContent = sameContentOf(list);
    byRoot.set(key, { ...plan, sameContent, ...(await timesIn(fork, key, sameContent, own, times?.get(key))) });
    for (const path of plan.undecided) open.push(shownPath(roots, key, path));
  }
  return { byRoot, undecided: open };
}
