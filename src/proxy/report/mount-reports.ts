/** What a report says of trees that a command had mounted, beside the fork. Pure. */
import type { AskedTree } from '../asked-tree.js';
import type { MountReport } from './envelope.js';

/** How the command ran: a kept jail's commands share its trees, and only one with a checkpoint of its own is undone by itself. */
export interface MountedFor {
  readonly isKept: boolean;
  readonly hasCheckpoint: boolean;
}

export function mountReports(
  trees: readonly AskedTree[],
  { isKept, hasCheckpoint }: MountedFor,
): readonly MountReport[] {
  return trees
    .filter(({ writable }) => writable)
    .map((tree) => {
      const { specification, target } = tree;
      const outcome = isKept ? undefined : tree.outcome();
      const undoable = hasCheckpoint && outcome?.undoable === true;
      return { specification, target, changes: outcome?.changes ?? null, more: outcome?.more ?? 0, undoable };
    });
}

/** How to go back by hand, where the tree can. */
function remedy(tree: AskedTree): string {
  const ways = (tree.outcome()?.undo ?? []).map(({ file, before }) => `ctx vfs restore chunked:${file} ${before}`);
  return ways.length === 0 ? '' : `; ${ways.join(' and ')} does`;
}

/** What is not undone, and servers that did not end well. A tree that nothing was changed in is not mentioned. */
export function mountWarnings(trees: readonly AskedTree[], how: MountedFor): readonly string[] {
  return trees.flatMap((tree) => {
    const { specification, target, writable, lasts } = tree;
    const problem = tree.problem();
    const problems = problem === undefined ? [] : [problem];
    const [report] = mountReports([tree], how);
    if (!writable || report === undefined) return problems;
    const isUnchanged = report.changes?.length === 0 && report.more === 0;
    if (isUnchanged || (lasts && report.undoable)) return problems;
    const text = lasts
      ? `what it changed in ${target} (${specification}) is not undone by ctx rollback or ctx drop${remedy(tree)}`
      : `what it wrote to ${target} (${specification}) ${how.isKept ? 'will be lost when the kept jail ends' : 'was lost when it ended'}`;
    return [...problems, text];
  });
}
