/**
 * Checkpoints: states of a fork to go back to. Saving one freezes the live layer by naming it; rolling back names the
 * layers of the checkpoint and a new live one. Neither looks at the tree, so both cost the same whatever it holds.
 *
 * The fork is locked and not mounted: a mounted layer that is named as frozen would keep changing.
 */
import { ErrnoError } from '../../base/errno.js';
import { automaticCheckpoints, checkpointReasonCharacters } from '../../base/limits/store.js';
import { isLiveTouched } from '../fork-trees.js';
import {
  type Checkpoint,
  type CheckpointTree,
  type ForkMeta,
  hasSameDeltas,
  isSameStack,
  readForkMeta,
  type Stack,
} from '../store/fork-meta.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { shownPath } from '../store/root-paths.js';
import { stepsSince } from '../store/trunk-steps.js';
import { isForkName, type VaultMeta } from '../store/vault-meta.js';
import { clashing } from '../tree/clashing.js';
import type { Change } from '../tree/tree.js';
import { type OpenFork, withMeta } from '../vault.js';
import { adoptTrunk } from './adopt.js';
import { forkChanges } from './changes.js';
import { atOrBelow, makePathLayer } from './path-layer.js';
import { rewrittenIndexes } from './rewritten-indexes.js';
import { appliedWith, enteredWith, pathCount } from './trunk.js';

export interface SaveOptions {
  /** For people; unique in its fork. */
  readonly name?: string | undefined;
  /** Made by itself before a command. */
  readonly automatic: boolean;
  /** The command that comes, or who asked. */
  readonly reason: string;
  /** The fork was synced just now, and nothing was written since (`durable`). */
  readonly durable?: boolean | undefined;
}

const stackOf = ({ position, base, deltas }: Stack): Stack => ({ position, base, deltas });

/** The live layer becomes the topmost delta, if anything was written into it. Not yet on disk. */
export function frozen(fork: OpenFork): ForkMeta {
  const { meta, paths, name } = fork;
  if (!isLiveTouched(fork)) return meta;
  return { ...meta, deltas: [...meta.deltas, meta.live], live: makeLayer(paths, { fork: name }) };
}

/** The oldest automatic ones go first; what a person saved stays. */
function pruned(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  let excess = checkpoints.filter(({ automatic }) => automatic).length - automaticCheckpoints;
  return checkpoints.filter(({ automatic }) => !automatic || excess-- <= 0);
}

function refuseTaken({ meta }: OpenFork, name: string): void {
  if (!isForkName(name) || /^\d+$/.test(name)) {
    throw new ErrnoError('EINVAL', {
      operation: 'save a checkpoint',
      reason: `expected a name that begins with a letter or digit and is not a number, got '${name}'`,
      remedy: 'letters, digits and . _ + - are fine, up to 64 of them',
    });
  }
  if (meta.checkpoints.some((checkpoint) => checkpoint.name === name)) {
    throw new ErrnoError('EEXIST', {
      operation: 'save a checkpoint',
      reason: `there is a checkpoint '${name}' already`,
      remedy: `ctx checkpoint delete ${name}`,
    });
  }
}

export interface Saved {
  readonly fork: OpenFork;
  readonly checkpoint: Checkpoint;
}

/** The record has the whole command; a state that is written with every command must not grow with its text. */
function shortened(reason: string): string {
  return reason.length <= checkpointReasonCharacters ? reason : `${reason.slice(0, checkpointReasonCharacters - 1)}…`;
}

/** An automatic one of the same state as the last takes its place: a command that changed nothing leaves no trace. */
export function saveCheckpoint(fork: OpenFork, { name, automatic, reason, durable }: SaveOptions): Saved {
  if (name !== undefined) refuseTaken(fork, name);
  const meta = frozen(fork);
  const last = meta.checkpoints.at(-1);
  const changedTrees = (last?.trees ?? []).length > 0;
  const repeated = last?.automatic === true && last.undone !== true && !changedTrees && isSameStack(last, meta);
  const checkpoint: Checkpoint = {
    id: repeated ? last.id : meta.nextCheckpoint,
    ...(name === undefined ? {} : { name }),
    made: new Date().toISOString(),
    automatic,
    reason: shortened(reason),
    clashes: meta.clashes,
    ...stackOf(meta),
  };
  const before = repeated ? meta.checkpoints.slice(0, -1) : meta.checkpoints;
  const after: ForkMeta = {
    ...meta,
    mounted: undefined,
    checkpoints: pruned([...before, checkpoint]),
    nextCheckpoint: repeated ? meta.nextCheckpoint : meta.nextCheckpoint + 1,
  };
  return { fork: withMeta(fork, after, { durable: durable === true }), checkpoint };
}

/** By number or name. */
export function findCheckpoint({ meta, name: fork }: Pick<OpenFork, 'meta' | 'name'>, wanted: string): Checkpoint {
  const found = meta.checkpoints.find(({ id, name }) => String(id) === wanted || name === wanted);
  if (found !== undefined) return found;
  throw new ErrnoError('ENOENT', {
    operation: 'find the checkpoint',
    reason: `fork '${fork}' has no checkpoint '${wanted}'`,
    remedy: 'ctx checkpoint list shows them',
  });
}

/** Whether this fork has applied something since then: going back takes it back in the fork. */
export function isApplied(fork: OpenFork, { position }: Checkpoint): boolean {
  return pathCount(appliedWith(stepsSince(fork, fork.vault, position), fork.name)) > 0;
}

/** Whether going back to a checkpoint, at these paths, changes nothing. What was applied since then would be taken back. */
export async function isBack(fork: OpenFork, to: Checkpoint, about: readonly string[]): Promise<boolean> {
  return !isApplied(fork, to) && (await forkChanges(fork, to, about)).length === 0;
}

export interface LastCheckpoint {
  readonly to: Checkpoint;
  /** What was changed since, where it had to be looked at. */
  readonly changes?: readonly Change[] | undefined;
}

/** The checkpoint before the last command that changed anything, as reports see it: a layer may hold files as they were. */
export async function lastCheckpoint(fork: OpenFork): Promise<LastCheckpoint> {
  const { meta } = fork;
  const touched = isLiveTouched(fork);
  for (const to of meta.checkpoints.toReversed()) {
    if (to.undone === true) continue;
    if ((to.trees ?? []).length > 0) return { to };
    if (!touched && hasSameDeltas(to, meta)) continue;
    const changes = await forkChanges(fork, to);
    if (changes.length > 0 || isApplied(fork, to)) return { to, changes };
  }
  throw new ErrnoError('ENOENT', {
    operation: 'roll back',
    reason: 'there is nothing to undo: no command has changed anything here since the fork was made or applied',
    remedy: 'ctx apply --undo takes the last apply back; ctx checkpoint list shows the checkpoints there are',
  });
}

/** Of what the person edited, what a layer of what was before an apply shows otherwise: the next apply would undo their edit. */
async function editsTakenBack(
  fork: OpenFork,
  to: Checkpoint,
  key: string,
  layer: string,
  over: readonly string[],
  edited: readonly string[],
): Promise<readonly string[]> {
  const { paths, tree } = fork;
  if (edited.length === 0) return [];
  const uppers = treesOf(paths, [layer], key);
  const changes = await tree.diff({ uppers, lowers: over, tellsUnlisted: true });
  const whole = edited.filter((path) => path.endsWith('/'));
  const inWhole = whole.length === 0 ? [] : changes.map(({ path }) => path).filter(atOrBelow(whole));
  const found = [...clashing(edited, changes), ...inWhole];
  const refreshed = await rewrittenIndexes(fork, key, { to, back: uppers, now: over, among: found });
  const others = found.filter((path) => !refreshed.has(path));
  // An index goes with the branch: after a commit of the person's both are theirs.
  const met = [...refreshed].filter((index) => {
    const repository = index.slice(0, index.lastIndexOf('/') + 1);
    return others.some((path) => path.startsWith(repository));
  });
  return [...others, ...met];
}

/**
 * The checkpoint's stack on the trunk of now. What this fork has applied since then shows as it was, so that applying it again
 * takes it back, and is a clash where the person edited it, too; what else they edited shows as they left it, and so does a
 * root that the fork had not used by then.
 */
export async function stackOfCheckpoint(
  fork: OpenFork,
  to: Checkpoint,
  vault: VaultMeta = fork.vault,
): Promise<readonly [stack: Stack, clashes: readonly string[]]> {
  const { paths } = fork;
  const steps = stepsSince(fork, vault, to.position);
  const { stack, clashes } = await adoptTrunk(fork, vault, to, steps);
  const applied = appliedWith(steps, fork.name);
  if (pathCount(applied) === 0) return [stack, clashes];
  const entered = enteredWith(steps, fork.name);
  // Where a step is lost, what was applied may have been edited.
  const met = steps.every((step) => step !== undefined) ? entered : applied;
  const open = new Set(clashes);
  const layer = makeLayer(paths, { fork: fork.name });
  for (const [key, list] of applied) {
    const from = treesOf(paths, [...to.base, ...to.deltas], key);
    // A root that came later: how it was then, no one knows.
    if (from.length === 0) continue;
    const over = treesOf(paths, [...stack.base, ...stack.deltas], key);
    // What the person has put into a directory of the fork's is theirs: it was not there then, and is none to be deleted.
    const [isApplied, isEdited, own] = [atOrBelow(list), atOrBelow(entered.get(key) ?? []), new Set(list)];
    const isWanted = (path: string) => own.has(path) || (isApplied(path) && !isEdited(path));
    await makePathLayer(fork, { from, over, into: paths.tree(layer, key), isWanted });
    for (const path of await editsTakenBack(fork, to, key, layer, over, met.get(key) ?? []))
      open.add(shownPath(vault.roots, key, path));
  }
  return [{ ...stack, deltas: [...stack.deltas, layer] }, [...open]];
}

const together = (...lists: readonly (readonly string[])[]) => [...new Set(lists.flat())].sort();

/**
 * Back to a checkpoint. What the person edited since then stays edited: their directory is theirs. Where the fork is
 * now is kept as an undone checkpoint, so that the rollback can be undone by its number.
 */
export async function rollBackFork(fork: OpenFork, to: Checkpoint): Promise<OpenFork> {
  const saved = saveCheckpoint(fork, { automatic: true, reason: `rollback to ${to.name ?? to.id}` });
  const { meta } = saved.fork;
  const [stack, clashes] = await stackOfCheckpoint(saved.fork, to);
  // Later checkpoints, saved by a person or not, are skipped by the next rollback.
  const undone = meta.checkpoints.map((each) =>
    each.id < to.id ? each : { ...each, undone: each.id > to.id ? true : undefined },
  );
  const after: ForkMeta = {
    ...meta,
    ...stackOf(stack),
    clashes: together(to.clashes, clashes),
    live: makeLayer(fork.paths, { fork: fork.name }),
    // Checkpoints of the state it was rolled back to are in the layers of now, and so are the conflicts: the next rollback to it finds none.
    checkpoints: undone.map((each) =>
      isSameStack(each, to) ? { ...each, ...stackOf(stack), clashes: together(each.clashes, clashes) } : each,
    ),
  };
  return withMeta(saved.fork, after, { durable: false });
}

/** Of the command after a checkpoint, or of no one any more. With the fork's lock held. */
export function noteTrees(fork: OpenFork, id: number, trees: readonly CheckpointTree[]): OpenFork {
  const meta = readForkMeta(fork.place.directory) ?? fork.meta;
  const checkpoints = meta.checkpoints.map(({ trees: known = [], ...each }) => {
    if (each.id !== id) return known.length === 0 ? each : { ...each, trees: known };
    return trees.length === 0 ? each : { ...each, trees: [...known, ...trees] };
  });
  return withMeta(fork, { ...meta, checkpoints }, { durable: false });
}

export function deleteCheckpoint(fork: OpenFork, checkpoint: Checkpoint): OpenFork {
  const checkpoints = fork.meta.checkpoints.filter(({ id }) => id !== checkpoint.id);
  return withMeta(fork, { ...fork.meta, checkpoints }, { durable: false });
}
