/**
 * A fork that others are at work on, made ready for one more command: it gets clones of their mounts, and nothing is frozen. What
 * the person edited since they began is put there, too. What it was before the group is one checkpoint for all of it.
 */
import { ErrnoError } from '../../base/errno.js';
import { commandsBesideNamed } from '../../base/limits/commands.js';
import { liveChanges } from '../../vault/forks/changes.js';
import { type EnteredLive, enterLive } from '../../vault/forks/enter-live.js';
import { addRoots } from '../../vault/forks/roots.js';
import type { Synced } from '../../vault/forks/sync.js';
import { lookAtRoots, type RootPaths } from '../../vault/forks/trunk.js';
import { type ForkMeta, restacked } from '../../vault/store/fork-meta.js';
import { busyWith, commandText } from '../../vault/store/group.js';
import { rootsOf, treesOf } from '../../vault/store/layer-pool.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import type { Worker } from '../../vault/store/worker-file.js';
import type { Change } from '../../vault/tree/tree.js';
import { type OpenFork, withMeta } from '../../vault/vault.js';
import type { Host } from '../host.js';
import type { Permitted } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { holdersOf, isUnsettled } from './group-part.js';
import { recordInterrupted } from './interrupted-run.js';

/** A fork that is ready for a command, and the checkpoint to go back to. */
export interface Ready extends Synced {
  readonly checkpoint: number | null;
  /** What others at work had written by then; undefined where there is nobody else. */
  readonly before?: readonly Change[] | undefined;
  /** Paths of the person's that enter when the others have ended: there are too many of them, or one was approved once. */
  readonly waiting?: readonly string[] | undefined;
}

/**
 * The trunk's layers of directories that the fork has not used yet. They come to its own, below nothing that is
 * mounted; where they hold edits of other directories too, those would change under the process that has them mounted.
 */
function layersOfNew(fork: OpenFork, keys: readonly string[]): readonly string[] {
  const { meta, paths, vault } = fork;
  const fresh = keys.filter((key) => treesOf(paths, meta.base, key).length === 0);
  const needed = vault.trunk.filter(
    (layer) => !meta.base.includes(layer) && rootsOf(paths, layer).some((key) => fresh.includes(key)),
  );
  const mixed = needed.some((layer) => rootsOf(paths, layer).some((key) => !fresh.includes(key)));
  if (mixed) throw busyWith(vault.origin, fork.others);
  return needed;
}

/** The checkpoint before a group names those that came to it: a rollback undoes, and names, them all. */
export function namedBeside(meta: ForkMeta, checkpoint: number | null, command: string): ForkMeta {
  const found = meta.checkpoints.find(({ id }) => id === checkpoint);
  if (found === undefined || (found.beside?.length ?? 0) >= commandsBesideNamed) return meta;
  const named = { ...found, beside: [...(found.beside ?? []), command] };
  return { ...meta, checkpoints: meta.checkpoints.map((each) => (each === found ? named : each)) };
}

/** What was approved once was approved for what it finds there: a command beside it could change that while it runs. */
export function refuseBound(origin: string, others: readonly Worker[]): void {
  const bound = others.filter((other) => other.bound === true);
  if (bound.length === 0) return;
  const busy = busyWith(origin, bound);
  throw new ErrnoError('EBUSY', {
    operation: busy.operation,
    path: origin,
    reason: `${busy.reason}; that command was approved once, for the fork exactly as it is, so no other command may write to it`,
    remedy: 'wait for it to end; a command approved with ctx approvals grant ID --for session does not block others',
  });
}

/**
 * A mount shows the fork's files as one user's: where an agent has a uid of its own, the process that joins must be
 * that agent. `writes`: it could change what others find.
 */
export function refuseOthers({ others, vault }: OpenFork, owners: string, writes: boolean): void {
  if (writes) refuseBound(vault.origin, others);
  const different = others.filter((other) => other.owners !== owners);
  if (different.length === 0) return;
  const busy = busyWith(vault.origin, different);
  throw new ErrnoError('EBUSY', {
    operation: busy.operation,
    path: vault.origin,
    reason: `${busy.reason}; that command runs with another uid, so the two cannot share the fork`,
    remedy: busy.remedy,
  });
}

export async function joinedFork(
  host: Host,
  opened: OpenFork,
  { permission, roots }: Permitted,
  request: Pick<ExecRequest, 'argv' | 'signal' | 'onProgress'>,
): Promise<Ready> {
  await permission.confirm({ ...opened, hasWriters: true });
  await recordInterrupted(host, opened);
  const rooted = await addRoots(opened, { ...request, paths: roots });
  const { meta } = rooted.fork;
  const added = layersOfNew(rooted.fork, rooted.keys);
  const based = added.length === 0 ? meta : restacked(meta, { ...meta, base: [...meta.base, ...added] });
  const after = namedBeside(based, opened.others[0]?.checkpoint ?? null, commandText(request.argv));
  const named = withMeta(rooted.fork, after, { durable: false });
  const used = [workspaceRoot, ...rooted.keys].filter((key) => !rooted.imported.includes(key));
  const { fork, entered, clashes, problems, waiting } = await enterBeside(named, used, request.signal);
  return {
    fork,
    entered,
    clashes,
    problems: [...rooted.problems, ...problems],
    // There is none before it alone.
    checkpoint: null,
    before: await liveChanges(fork),
    waiting,
  };
}

/** What the person edited in these directories, into the mounts of those at work. The fork's lock is held. */
export async function enterBeside(
  fork: OpenFork,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<EnteredLive> {
  const known: RootPaths | undefined =
    fork.drift === undefined ? undefined : new Map([[workspaceRoot, fork.drift.map(({ path }) => path)]]);
  const looked = await lookAtRoots(fork, keys, known);
  // What was approved once is run as it was shown.
  if (fork.others.some(({ bound }) => bound === true)) {
    const waiting = [...looked.values()].flat();
    return { fork, entered: [], clashes: fork.meta.clashes, problems: [], waiting };
  }
  const holders = (key: string) => (isUnsettled(fork.others, [key]) ? undefined : holdersOf(fork.others, key));
  return enterLive(fork, { looked, holders, signal });
}
