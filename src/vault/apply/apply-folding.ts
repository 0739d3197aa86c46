/** Which directories of a fork an apply takes as one step: those of which nothing has to be looked at, decided or held back on its own. */
import { wholeTreeEntries } from '../../base/limits/store.js';
import { productsIn } from '../git/products.js';
import { workspaceRoot } from '../store/layout.js';
import { shownPath } from '../store/root-paths.js';
import type { Folding } from '../tree/fold-trees.js';
import type { OpenFork } from '../vault.js';
import { type ApplyChoices, reasonToLeaveOut } from './apply-plan.js';
import { appliedChangesNow } from './change-room.js';
import { relativeIn } from './plan-roots.js';
import { type Bench, isOrdinary } from './sensitive-changes.js';
import { isObject } from './undo-objects.js';

export interface FoldingRequest extends Pick<ApplyChoices, 'only' | 'ours' | 'theirs' | 'own'> {
  /** Entries from which a whole directory is one step; Infinity: none is. */
  readonly treesFrom?: number | undefined;
}

/** A choice of paths, or a clash, may be of one in the middle of a tree; what is not copied has no layers to ask later. */
function isFolding(fork: OpenFork, { only, ours = [], theirs = [], treesFrom }: FoldingRequest): boolean {
  const isChosen = only !== undefined || ours.length > 0 || theirs.length > 0;
  return (
    treesFrom !== Number.POSITIVE_INFINITY &&
    !isChosen &&
    fork.meta.clashes.length === 0 &&
    fork.vault.uncopied !== true
  );
}

/** Rules by root. Without a bench nothing is taken as one. */
export function foldingOf(fork: OpenFork, bench: Bench | undefined, request: FoldingRequest): (key: string) => Folding {
  const { roots } = fork.vault;
  const top = roots[workspaceRoot] ?? '/';
  const [least, most] = [request.treesFrom ?? wholeTreeEntries, appliedChangesNow()];
  const single = { least, most, isPlain: () => false, isProduct: () => false };
  return (key) => {
    const root = roots[key];
    if (bench === undefined || root === undefined || !isFolding(fork, request)) return single;
    const own = (request.own ?? []).flatMap((path) => relativeIn(root, path));
    const isProduct = productsIn(root);
    return {
      least,
      most,
      isProduct,
      isPlain: (change) => {
        if (isObject(change.path) || reasonToLeaveOut(change, own) !== undefined) return false;
        const path = shownPath(roots, key, change.path);
        return isOrdinary(bench, top, key === workspaceRoot ? change : { ...change, path });
      },
    };
  };
}
