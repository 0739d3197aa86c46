/**
 * The writing itself, onto the person's directories: for apply and its undo. What stood there was kept in a layer just before;
 * a path that holds anything else by now is left alone. While it goes on, and until the fork's state says that it was done
 * (`endWriting`), a mark stands beside the layer: after a kill the next one knows by it that files of ours may be left beside the
 * person's, and that this one did not come to its end.
 */
import { closeSync, openSync } from 'node:fs';
import { workspaceRoot } from '../store/layout.js';
import { type Roots, shownPath } from '../store/root-paths.js';
import { markOf } from '../store/writing-marks.js';
import type { Problem, Step } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import type { TimedPlan } from './apply-times.js';
import { inTrees, singleSteps } from './whole-trees.js';

/** As the report has it. */
export const lostList = (path: string): Problem => ({
  path,
  code: 'EPERM',
  reason:
    'only its access list (ACL), which names users that only root can set: the file is written without it, and without rights of its group',
});

export interface WriteOriginRequest {
  /** The apply's own layer, which is marked. */
  readonly layer: string;
  readonly roots: Readonly<Record<string, readonly Step[]>>;
  /** The trees of a root whose entries are put, topmost first. */
  readonly uppers: (key: string) => readonly string[];
  /** The trees show what was there before an apply. */
  readonly undoes?: boolean;
}

export interface Written {
  /** Steps that were done, by root. */
  readonly written: Readonly<Record<string, readonly Step[]>>;
  /** Shown paths at which the person saved meanwhile, and what they had saved just before that. */
  readonly clashes: readonly string[];
  readonly aside: readonly string[];
  /** Files that lost their list of rights. */
  readonly narrowed: readonly Problem[];
  /** By root, what the later times of its entries came after. */
  readonly times: ReadonlyMap<string, bigint>;
}

/** Whether a path is one of a removal, or in a tree of one. Without a list for each: they are many. */
function removedBy(steps: readonly Step[]): (path: string) => boolean {
  const paths = new Set<string>();
  const removals = steps.filter(({ action }) => action === 'remove');
  for (const { path } of removals) paths.add(path);
  const treeOf = inTrees(removals);
  return (path) => paths.has(path) || treeOf(path) !== undefined;
}

/** Steps as people name them, told as the program has done them. */
export function stepsDone(
  roots: Roots,
  key: string,
  steps: readonly Step[],
  tell: ((step: Step) => void) | undefined,
): ((path: string) => void) | undefined {
  if (tell === undefined) return undefined;
  const actions = new Set(steps.map(({ action }) => action));
  // Of a list of one kind nothing has to be looked up.
  const isRemoved = actions.size > 1 ? removedBy(steps) : () => actions.has('remove');
  let at = 0;
  return (path) => {
    // Most are told in the order of the list, which has them already. What is in a tree is told one by one.
    const next = steps[at];
    const known = next?.path === path && next.tree === undefined ? next : undefined;
    if (known !== undefined) at += 1;
    if (known !== undefined && key === workspaceRoot) tell(known);
    else tell({ action: isRemoved(path) ? 'remove' : 'put', path: shownPath(roots, key, path) });
  };
}

/** The caller ends it (`endWriting`). Everything is on the disk when this ends. The lock is held by the writing process too. */
export async function writeOrigin(
  fork: OpenFork,
  request: WriteOriginRequest & {
    /** Trees that show what stood at the paths, topmost first. */
    standing(key: string): readonly string[];
    readonly lock: number;
    readonly onStep?: ((step: Step) => void) | undefined;
    /** Stops it between two steps. */
    readonly signal?: AbortSignal | undefined;
    /** The steps with what their times ask for. */
    planOf(key: string, root: string, steps: readonly Step[]): Promise<TimedPlan>;
  },
): Promise<Written> {
  const { layer, standing, roots, uppers, planOf, lock, onStep, signal } = request;
  const mark = markOf(fork, layer);
  closeSync(openSync(mark, 'w', 0o600));
  const written: Record<string, readonly Step[]> = {};
  const clashes: string[] = [];
  const aside: string[] = [];
  const narrowed: Problem[] = [];
  const times = new Map<string, bigint>();
  // A tree of which not all was done is no step any more.
  const apart = async (key: string, met: readonly string[]): Promise<readonly Step[]> => {
    const steps = roots[key] ?? [];
    const treeOf = inTrees(steps);
    const trees = new Set(met.map(treeOf));
    return singleSteps(fork.tree, { put: uppers(key), remove: standing(key) }, steps, ({ path }) => trees.has(path));
  };
  for (const [key, steps] of Object.entries(roots)) {
    const root = fork.vault.roots[key];
    if (root === undefined) continue;
    const { plan, before } = await planOf(key, root, steps);
    if (plan.length === 0) continue;
    const met = await fork.tree.apply({
      uppers: uppers(key),
      root,
      shift: fork.owner.shift,
      plan,
      forward: 'now',
      before,
      expected: standing(key),
      durable: true,
      undoes: request.undoes,
      lock: { descriptor: lock, wait: false },
      onDone: stepsDone(fork.vault.roots, key, steps, onStep),
      signal,
    });
    const left = new Set(met.clashes);
    if (met.after !== undefined) times.set(key, met.after);
    written[key] = left.size === 0 ? steps : (await apart(key, met.clashes)).filter(({ path }) => !left.has(path));
    const shown = (path: string) => shownPath(fork.vault.roots, key, path);
    // One by one: a call takes no hundred thousand arguments.
    for (const path of met.clashes) clashes.push(shown(path));
    for (const path of met.aside) aside.push(shown(path));
    for (const path of met.narrowed) narrowed.push(lostList(shown(path)));
  }
  return { written, clashes, aside, narrowed, times };
}
