/**
 * The changes of a fork's workspace, written onto another directory: another clone, a copy, a release. A path is free to be
 * written where that directory has what the trunk had there; anything else is a conflict, and with one that nobody chose a
 * side for nothing is written. The fork stays as it is, and so does its own directory. What is replaced is not kept.
 */
import { type Applied, type ApplyRequest, unmatchedOf } from './apply.js';
import { type ApplyChoices, type ApplyPlan, planApply } from './apply-plan.js';
import { fitSteps, type Held, obstacles } from './apply-to-plan.js';
import { forkChangesByRoot, shownChanges } from './changes.js';
import { treesOf } from './layer-pool.js';
import { workspaceRoot } from './layout.js';
import { shownPath } from './root-paths.js';
import { sensitiveChanges } from './sensitive-changes.js';
import type { Problem } from './tree.js';
import type { OpenFork } from './vault.js';

export type AppliedTo = Omit<Applied, 'fork'>;

async function heldBy(fork: OpenFork, directory: string): Promise<Held> {
  const entries = await fork.tree.diff({ uppers: [directory], lowers: [], pastClosed: true });
  return new Map(entries.map(({ path, type }) => [path, type]));
}

/** Of these paths those at which the directory has what the layers show. */
async function agreeing(fork: OpenFork, layers: readonly string[], directory: string, paths: readonly string[]) {
  if (paths.length === 0) return new Set<string>();
  const { tree, owner, paths: places } = fork;
  const trees = treesOf(places, layers, workspaceRoot);
  const compared = await tree.compare({ layers: trees, root: directory, shift: owner.shift, paths });
  return new Set(paths.filter((path) => compared.get(path) === 'same'));
}

function inOtherRoots(fork: OpenFork, changes: Awaited<ReturnType<typeof forkChangesByRoot>>): readonly Problem[] {
  const reason = 'it is of another directory than the workspace';
  return [...changes].flatMap(([key, list]) =>
    key === workspaceRoot
      ? []
      : list.map(({ path }) => ({ path: shownPath(fork.vault.roots, key, path), code: 'ENOTSUP', reason })),
  );
}

/** The fork's lock is held. `directory` is canonical, and neither the fork's own nor the store's. */
export async function applyTo(fork: OpenFork, directory: string, request: ApplyRequest): Promise<AppliedTo> {
  const { base, deltas, live } = fork.meta;
  const whole = [...base, ...deltas, live];
  const byRoot = await forkChangesByRoot(fork);
  const changes = byRoot.get(workspaceRoot) ?? [];
  const paths = changes.map(({ path }) => path);
  const held = await heldBy(fork, directory);
  const untouched = await agreeing(fork, base, directory, paths);
  const differing = paths.filter((path) => !untouched.has(path));
  const agreed = await agreeing(fork, whole, directory, differing);
  const sensitive = await sensitiveChanges(fork, changes);
  const withheld = new Set(request.allowSensitive ? [] : sensitive.map(({ path }) => path));
  // A directory that holds files of ctx itself is none to be written.
  const choices: ApplyChoices = { ...request, withheld, own: [] };
  const plan: ApplyPlan = planApply(changes, [...differing, ...obstacles(changes, held)], agreed, choices);
  const open = plan.undecided;
  const { steps, leftOut } = fitSteps(plan.steps, changes, held);
  const done = open.length === 0 && request.dryRun !== true;
  if (done && steps.length > 0) {
    // Directories above a change may be the trunk's: the whole stack can be put.
    const uppers = treesOf(fork.paths, whole, workspaceRoot);
    const lock = { descriptor: fork.lockDescriptor, wait: false };
    await fork.tree.apply({ uppers, root: directory, shift: fork.owner.shift, plan: steps, lock });
  }
  return {
    changes: shownChanges(fork, new Map([[workspaceRoot, changes]])),
    steps,
    conflicts: plan.conflicts,
    undecided: open,
    sensitive,
    heldBack: plan.heldBack,
    unmatched: unmatchedOf(request.only, changes),
    done,
    problems: [...plan.leftOut, ...leftOut, ...inOtherRoots(fork, byRoot)],
  };
}
