/** Checkpoints of a fork and forks of forks, for people and programs. Each change is in the record before it happens. */
import type { Json } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { isAtOrBelow, unmatchedOf } from '../vault/apply/apply-plan.js';
import { forkChanges, isComparedInFull, takenBack } from '../vault/forks/changes.js';
import * as vaultCheckpoints from '../vault/forks/checkpoint.js';
import { syncedFork } from '../vault/forks/durable.js';
import type { ForkSource, ForkSummary, MadeFork } from '../vault/forks/forks.js';
import * as vaultForks from '../vault/forks/forks.js';
import { restorePaths } from '../vault/forks/restore.js';
import type { Checkpoint } from '../vault/store/fork-meta.js';
import { refuseForeign } from '../vault/store/root-paths.js';
import { readVaultMeta } from '../vault/store/vault-meta.js';
import { countChanges } from '../vault/tree/too-deep.js';
import type { Change } from '../vault/tree/tree.js';
import { collectInPassing } from '../vault/upkeep/collect-in-passing.js';
import { collectGarbage } from '../vault/upkeep/gc.js';
import type { OpenFork, VaultAccess } from '../vault/vault.js';
import { createVault } from './create-vault.js';
import { type ForkRequest, objectOf, tidy, withFork } from './fork-verbs.js';
import { lookIntoFork } from './look-into-fork.js';
import { recordedVerb } from './recorded-verb.js';
import { treesToUndo, type UndoneFile, undoTrees } from './undo-trees.js';
import { accessAt } from './vault-at.js';

/** A checkpoint without the names of its layers. */
export type CheckpointSummary = Omit<Checkpoint, 'base' | 'deltas' | 'position' | 'trees'>;

function summaryOf(checkpoint: Checkpoint): CheckpointSummary {
  const { base: _base, deltas: _deltas, position: _position, trees: _trees, ...summary } = checkpoint;
  return summary;
}

export function saveCheckpoint(host: Host, request: ForkRequest, name: string | undefined): Promise<CheckpointSummary> {
  return withFork(host, request, 'ctx checkpoint save', async (fork) => {
    const facts = { name: name ?? null };
    const reason = 'ctx checkpoint save';
    return recordedVerb(host, { type: 'checkpoint', object: objectOf(fork), facts }, async () => {
      // First, so that a disk that is full leaves no checkpoint of which it was said that it failed.
      const synced = await syncedFork(fork);
      const saved = vaultCheckpoints.saveCheckpoint(synced, { name, automatic: false, reason, durable: true });
      await collectInPassing(fork, saved.fork);
      return summaryOf(saved.checkpoint);
    });
  });
}

export function listCheckpoints(host: Host, request: ForkRequest): Promise<readonly CheckpointSummary[]> {
  return lookIntoFork(host, request, 'ctx checkpoint list', async ({ meta }) => meta.checkpoints.map(summaryOf));
}

/** The checkpoint, and what the fork changed since then. */
export function lookAtCheckpoint(
  host: Host,
  request: ForkRequest,
  wanted: string,
): Promise<{ readonly checkpoint: CheckpointSummary; readonly changes: readonly Change[] }> {
  return lookIntoFork(host, request, 'ctx checkpoint info', async (fork) => {
    const found = vaultCheckpoints.findCheckpoint(fork, wanted);
    return { checkpoint: summaryOf(found), changes: await forkChanges(fork, found) };
  });
}

export function deleteCheckpoint(host: Host, request: ForkRequest, wanted: string): Promise<CheckpointSummary> {
  return withFork(host, request, 'ctx checkpoint delete', async (fork) => {
    const checkpoint = vaultCheckpoints.findCheckpoint(fork, wanted);
    const facts = { checkpoint: checkpoint.id };
    const object = objectOf(fork);
    const verb = { type: 'checkpoint delete', object, makesRoom: true, facts };
    await recordedVerb(host, verb, () => tidy(vaultCheckpoints.deleteCheckpoint(fork, checkpoint)));
    return summaryOf(checkpoint);
  });
}

export interface RollbackRequest extends ForkRequest {
  /** By number or name; without one, the one before the last command that changed anything. */
  readonly checkpoint?: string | undefined;
  /** Only these, as the fork's changes name them, and what is below them. */
  readonly paths: readonly string[];
}

export interface RolledBack {
  readonly to: CheckpointSummary;
  /** What the fork shows otherwise now: what was changed in it since then, applied or not. */
  readonly undone: readonly Change[];
  /** Paths that were asked for, at which nothing has changed since. */
  readonly unmatched: readonly string[];
  readonly pending: number;
  /** Trees beside the fork that the commands had mounted. */
  readonly trees: readonly UndoneFile[];
}

/**
 * What a rollback took back. What was applied since then is in the person's directory, and no change since the checkpoint; what they
 * edited since may be among these changes, and stays, or hide one of the fork's. Where that may be, what was shown is compared with what
 * is shown now, wherever one of the two is not as the person has it.
 */
async function undoneOf(
  fork: OpenFork,
  after: OpenFork,
  to: Checkpoint,
  { changes, paths }: { readonly changes: readonly Change[]; readonly paths: readonly string[] },
): Promise<readonly Change[]> {
  if (!vaultCheckpoints.isApplied(fork, to) && !isComparedInFull(fork, to)) return changes;
  const pending = paths.length > 0 ? [] : [...(await forkChanges(fork)), ...(await forkChanges(after))];
  return takenBack(fork, after, paths.length > 0 ? paths : [...new Set(pending.map(({ path }) => path))]);
}

export function rollBackFork(host: Host, request: RollbackRequest): Promise<RolledBack> {
  return withFork(host, request, 'ctx rollback', async (fork) => {
    const { checkpoint, paths } = request;
    refuseForeign(fork.vault.roots, paths, 'roll back');
    const { to, changes: known } =
      checkpoint === undefined
        ? await vaultCheckpoints.lastCheckpoint(fork)
        : { to: vaultCheckpoints.findCheckpoint(fork, checkpoint), changes: undefined };
    const about = paths.length === 0 ? undefined : paths;
    const all = (about === undefined ? known : undefined) ?? (await forkChanges(fork, to, about));
    const chosen = (path: string) => paths.length === 0 || isAtOrBelow(path, paths);
    const changes = all.filter(({ path }) => chosen(path));
    const trees = paths.length === 0 ? treesToUndo(fork.meta.checkpoints, to) : [];
    const named = trees.length === 0 ? {} : { trees: trees.map(({ file }) => file) };
    const facts: Record<string, Json> = { checkpoint: to.id, made: to.made, paths, ...named };
    const verb = { type: 'rollback', object: objectOf(fork), makesRoom: true, facts };
    const { after, undone } = await recordedVerb(
      host,
      verb,
      async () => {
        const back = await (paths.length === 0
          ? vaultCheckpoints.rollBackFork(fork, to)
          : restorePaths(fork, to, paths));
        const differing = await undoneOf(fork, back, to, { changes, paths });
        return { after: back, undone: differing.filter(({ path }) => chosen(path)) };
      },
      (done) => ({
        status: 'ok',
        facts: { undone: countChanges(done.undone), changes: done.undone.map(({ kind, path }) => `${kind} ${path}`) },
      }),
    );
    const { files, redo } = await undoTrees(host, trees);
    if (trees.length > 0) {
      const kept = after.meta.checkpoints.at(-1)?.id ?? to.id;
      vaultCheckpoints.noteTrees(vaultCheckpoints.noteTrees(after, to.id, []), kept, redo);
    }
    await collectInPassing(fork, after);
    const unmatched = unmatchedOf(paths, undone);
    return { to: summaryOf(to), undone, unmatched, pending: countChanges(await forkChanges(after)), trees: files };
  });
}

/** `FORK`, `FORK@CHECKPOINT`, `@CHECKPOINT` of the fork in use, or `origin`, which the vault's name means too: the person's directory without any changes. */
function sourceOf(access: VaultAccess, from: string | undefined): ForkSource {
  const { current, name } = vaultForks.existingVault(access);
  if (from === undefined) return { fork: current };
  if (from === vaultForks.originName) return 'trunk';
  const [fork = '', checkpoint, ...rest] = from.split('@');
  if (rest.length === 0 && vaultForks.forkNames(access).includes(fork === '' ? current : fork)) {
    return { fork: fork === '' ? current : fork, ...(checkpoint === undefined ? {} : { checkpoint }) };
  }
  if (from === name) return 'trunk';
  throw new ErrnoError('ENOENT', {
    operation: 'make a fork',
    reason: `expected --from to be a fork, FORK@CHECKPOINT, @CHECKPOINT, origin or this vault's name; got '${from}'`,
    remedy: 'ctx fork list and ctx checkpoint list show them',
  });
}

export async function createFork(
  host: Host,
  cwd: string,
  name: string | undefined,
  from: string | undefined,
): Promise<MadeFork> {
  const access = accessAt(host, cwd);
  // The first thing somebody does here may be to fork it.
  const isFirst = readVaultMeta(access.paths.meta) === undefined;
  if (isFirst && (from === undefined || from === vaultForks.originName)) await createVault(host, cwd);
  const verb = { type: 'fork', object: `vault/${access.id}`, facts: { name: name ?? null, from: from ?? null } };
  return recordedVerb(
    host,
    verb,
    () => vaultForks.createFork(access, name, sourceOf(access, from)),
    (made) => ({ status: 'ok', facts: { name: made.name } }),
  );
}

export function listForks(host: Host, cwd: string): readonly ForkSummary[] {
  return vaultForks.listForks(accessAt(host, cwd));
}

export function useFork(host: Host, cwd: string, name: string): Promise<void> {
  return vaultForks.useFork(accessAt(host, cwd), name);
}

export async function deleteFork(host: Host, cwd: string, name: string): Promise<void> {
  const access = accessAt(host, cwd);
  const object = `fork/${access.id}/${name}`;
  const verb = { type: 'fork delete', object, makesRoom: true, facts: {} };
  await recordedVerb(host, verb, () => vaultForks.deleteFork(access, name));
  await collectGarbage(access, new Map(), { later: true });
}
