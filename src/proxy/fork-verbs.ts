/** What a person does with a fork after a command: look, keep, forget. Each locks the fork, and is in the record. */
import { ErrnoError } from '../base/errno.js';
import { type Applied, type ApplyRequest, applyFork } from '../vault/apply.js';
import { refuseBothSides } from '../vault/apply-plan.js';
import { forkChanges, readChanges, standingClashes, type TextChange } from '../vault/changes.js';
import { findCheckpoint } from '../vault/checkpoint.js';
import { flattenTrunk } from '../vault/flatten.js';
import { dropFork } from '../vault/forks.js';
import { collectGarbage } from '../vault/gc.js';
import { refuseForeign } from '../vault/root-paths.js';
import { moveOnto } from '../vault/sync.js';
import type { Change } from '../vault/tree.js';
import { closeFork, type OpenFork, openExistingFork } from '../vault/vault.js';
import { readVaultMeta } from '../vault/vault-meta.js';
import { type Host, placeOf } from './host.js';
import { recordInterrupted } from './interrupted-run.js';

export interface ForkRequest {
  readonly cwd: string;
  readonly wait: boolean;
  /** By name; without one, the one in use. */
  readonly fork?: string | undefined;
}

export async function withFork<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (fork: OpenFork) => Promise<T>,
): Promise<T> {
  const place = placeOf(host, request.cwd);
  const { store, tree } = host;
  const fork = await openExistingFork({
    store,
    tree,
    origin: place.origin,
    owner: place.owner,
    fork: request.fork,
    wait: request.wait,
    purpose,
  });
  if (fork === undefined) {
    throw new ErrnoError('ENOENT', {
      operation: purpose,
      path: place.origin,
      reason: 'no command has run here yet, so there is no fork',
      remedy: 'ctx exec -- COMMAND makes one',
    });
  }
  try {
    await recordInterrupted(host, fork);
    return await use(fork);
  } finally {
    closeFork(fork);
  }
}

/** The name of a fork in the record. */
export const objectOf = ({ id, name }: OpenFork) => `fork/${id}/${name}`;

/** Many layers become few, and what nobody needs any more goes: of this fork too, since its lock is held. */
export async function tidy(fork: OpenFork): Promise<void> {
  await flattenTrunk(fork);
  await moveOnto(fork, { vault: readVaultMeta(fork.paths.meta) ?? fork.vault, problems: [] });
  await collectGarbage(fork, new Map([[fork.name, fork.lockDescriptor]]));
}

export interface ForkStatus {
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
  readonly layers: number;
  readonly changes: readonly Change[];
  readonly clashes: readonly string[];
  readonly checkpoints: number;
}

async function statusOf(fork: OpenFork, since: string | undefined): Promise<ForkStatus> {
  const { meta } = fork;
  return {
    origin: fork.vault.origin,
    vault: fork.id,
    fork: fork.name,
    layers: meta.base.length + meta.deltas.length,
    changes: await forkChanges(fork, since === undefined ? undefined : findCheckpoint(fork, since)),
    clashes: await standingClashes(fork),
    checkpoints: meta.checkpoints.length,
  };
}

export interface LookRequest extends ForkRequest {
  /** Shown paths that are asked for: those of no root are refused. */
  readonly about?: readonly string[] | undefined;
  /** A checkpoint: only what changed after it. */
  readonly since?: string | undefined;
}

export function lookAtFork(host: Host, request: LookRequest): Promise<ForkStatus> {
  return withFork(host, request, 'ctx status', (fork) => {
    refuseForeign(fork.vault.roots, request.about ?? [], 'look at the fork');
    return statusOf(fork, request.since);
  });
}

/** The status, and the contents on both sides of the changes that `choose` picks from it. */
export function readFork(
  host: Host,
  request: LookRequest,
  choose: (status: ForkStatus) => readonly Change[],
): Promise<{ readonly status: ForkStatus; readonly texts: readonly TextChange[] }> {
  return withFork(host, request, 'ctx diff', async (fork) => {
    const { since, about = [] } = request;
    refuseForeign(fork.vault.roots, about, 'ctx diff');
    const status = await statusOf(fork, since);
    const moment = since === undefined ? undefined : findCheckpoint(fork, since);
    return { status, texts: await readChanges(fork, choose(status), moment) };
  });
}

/** `confirm` is called with the fork locked, before anything is written; it throws where that must not be. */
export function keepFork(
  host: Host,
  request: ForkRequest,
  choices: ApplyRequest,
  confirm: (fork: OpenFork) => void = () => undefined,
): Promise<Omit<Applied, 'fork'>> {
  return withFork(host, request, 'ctx apply', async (fork) => {
    const { only = [], ours = [], theirs = [] } = choices;
    refuseForeign(fork.vault.roots, [...only, ...ours, ...theirs], 'ctx apply');
    refuseBothSides(choices);
    confirm(fork);
    const object = objectOf(fork);
    const { conflicts: choice, dryRun = false, allowSensitive } = choices;
    const facts = { origin: fork.vault.origin, choice, allowSensitive };
    // Your own files cannot be undone by the fork alone: that it was begun is on the disk first.
    if (!dryRun) host.recorder.append({ type: 'apply', object, status: 'begin', durable: true, facts });
    const { fork: after, ...applied } = await applyFork(fork, { ...choices, own: host.hidden });
    if (dryRun) return applied;
    host.recorder.append({
      type: 'apply',
      object,
      status: applied.done ? 'ok' : 'failed',
      facts: {
        ...facts,
        steps: applied.done ? applied.steps.map(({ action, path }) => `${action} ${path}`) : [],
        conflicts: applied.conflicts,
        heldBack: applied.heldBack,
      },
    });
    await tidy(after);
    return applied;
  });
}

export function forgetFork(host: Host, request: ForkRequest): Promise<{ readonly dropped: number }> {
  return withFork(host, request, 'ctx drop', async (fork) => {
    const changes = await forkChanges(fork);
    const facts = { origin: fork.vault.origin, changes: changes.length };
    host.recorder.append({ type: 'drop', object: objectOf(fork), status: 'begin', makesRoom: true, facts });
    await tidy(await dropFork(fork));
    return { dropped: changes.length };
  });
}
