/**
 * Git's indexes that the person has changed since an apply, and that a rollback to before it takes back. Git writes an index again whenever
 * it is looked at, which is no edit; `git add` is one. By then the trunk has theirs, so each is held against what the applies wrote, and
 * replaced.
 */
import { refreshedIndexes } from '../git/refreshed-indexes.js';
import { readSteps, writtenTrees } from '../store/applied-steps.js';
import type { Checkpoint } from '../store/fork-meta.js';
import { treesOf } from '../store/layer-pool.js';
import type { Step } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';

interface TakenBack {
  readonly to: Checkpoint;
  /** What the rollback shows in the place of `now`: trees, topmost first. */
  readonly back: readonly string[];
  readonly now: readonly string[];
  readonly among: readonly string[];
}

const isIn = (path: string) => (step: Step) =>
  step.path === path || (step.tree !== undefined && path.startsWith(`${step.path}/`));

/** Of these paths the indexes that are as the fork's applies left them, or that come back as they are. */
export async function rewrittenIndexes(fork: OpenFork, key: string, { to, back, now, among }: TakenBack) {
  const { paths, meta } = fork;
  const found = new Set(await refreshedIndexes(fork, back, now, among));
  const open = new Set(among.filter((path) => /(^|\/)index$/.test(path) && !found.has(path)));
  const isSame = async (before: readonly string[], after: readonly string[], path: string) =>
    (await refreshedIndexes(fork, before, after, [path])).has(path);
  const left = new Map<string, readonly string[]>();
  for (const layer of open.size === 0 ? [] : (meta.applied ?? [])) {
    const about = readSteps(fork, layer);
    const before = meta.checkpoints.find(({ id }) => id === about?.checkpoint);
    if (about === undefined || before === undefined || before.id < to.id) continue;
    const written = writtenTrees(paths, layer, [...before.base, ...before.deltas], key);
    const replaced = treesOf(paths, [layer], key);
    for (const path of [...open].filter((each) => about.roots[key]?.some(isIn(each)))) {
      const earlier = left.get(path);
      if (earlier !== undefined && !(await isSame(earlier, replaced, path))) open.delete(path);
      left.set(path, written);
    }
  }
  for (const path of open) if (await isSame(left.get(path) ?? [], now, path)) found.add(path);
  return found;
}
