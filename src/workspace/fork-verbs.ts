/** What a person does with a fork after a command: look, keep, forget. Each locks the fork, and is in the record. */
import { ErrnoError, orSystemError } from '../base/errno.js';
import { countedChanges } from '../base/limits/store.js';
import { type Host, placeOf } from '../proxy/host.js';
import { recordInterrupted } from '../proxy/run/interrupted-run.js';
import type { ApplyRequest } from '../vault/apply/apply.js';
import * as vaultApply from '../vault/apply/apply.js';
import { refuseBothSides } from '../vault/apply/apply-plan.js';
import type { ApplyReport } from '../vault/apply/apply-report.js';
import { sweepBeforeDrop } from '../vault/apply/sweep-origin.js';
import { countForkChanges, forkChanges } from '../vault/forks/changes.js';
import { syncedFork } from '../vault/forks/durable.js';
import { flattenTrunk } from '../vault/forks/flatten.js';
import * as vaultForks from '../vault/forks/forks.js';
import { moveOnto } from '../vault/forks/sync.js';
import { refuseForeign } from '../vault/store/root-paths.js';
import { readVaultMeta } from '../vault/store/vault-meta.js';
import { countChanges } from '../vault/tree/too-deep.js';
import { collectGarbage } from '../vault/upkeep/gc.js';
import { closeFork, type OpenFork, openExistingFork } from '../vault/vault.js';
import { both, recordedVerb, toldSteps } from './recorded-verb.js';

export interface ForkRequest {
  readonly cwd: string;
  readonly wait: boolean;
  /** By name; without one, the one in use. */
  readonly fork?: string | undefined;
  /** Not even for the moment that another process has the fork's lock. */
  readonly atOnce?: boolean | undefined;
}

export function noForkHere(operation: string, path: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation,
    path,
    reason: 'no command has run here yet, so there is no fork',
    remedy: 'ctx exec -- COMMAND makes one',
  });
}

export async function withFork<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (fork: OpenFork) => Promise<T>,
  more: { readonly afresh?: boolean; readonly onlyLooks?: boolean } = {},
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
    onWait: host.warn,
    atOnce: request.atOnce,
    purpose,
    ...more,
  });
  if (fork === undefined) throw noForkHere(purpose, place.origin);
  try {
    for (const text of fork.warnings ?? []) host.warn?.(text);
    await recordInterrupted(host, fork);
    return await use(fork);
  } finally {
    closeFork(fork);
  }
}

/** The name of a fork in the record. */
export const objectOf = ({ id, name }: OpenFork) => `fork/${id}/${name}`;

/**
 * Many layers become few, and what no one needs any more goes: of this fork too, since its lock is held. A durable
 * point.
 */
export async function tidy(fork: OpenFork): Promise<void> {
  await flattenTrunk(fork);
  const moved = await moveOnto(fork, { vault: readVaultMeta(fork.paths.meta) ?? fork.vault, problems: [] });
  // What goes must not be what a power cut would go back to.
  await syncedFork(moved.fork);
  await collectGarbage(fork, new Map([[fork.name, fork.lockDescriptor]]), { later: true });
}

/**
 * After a verb whose work is done and on the disk. Where tidying up fails, what was done stays done, and is not to be reported as a
 * failure: a person would do it again.
 */
async function tidyAfter(host: Host, fork: OpenFork): Promise<void> {
  try {
    await tidy(fork);
  } catch (thrown) {
    const error = orSystemError(thrown);
    if (!(error instanceof ErrnoError)) throw error;
    const why = `${error.reason} (${error.code})`;
    host.warn?.(`done, but the store could not be tidied up: ${why}; run ctx gc once that is solved`);
  }
}

/** `confirm` is called with the fork locked, before anything is written; it throws where that must not be. */
export function applyFork(
  host: Host,
  request: ForkRequest,
  choices: ApplyRequest,
  confirm: (fork: OpenFork) => Promise<void> = async () => undefined,
): Promise<ApplyReport> {
  return withFork(host, request, 'ctx apply', async (fork) => {
    const { only = [], ours = [], theirs = [] } = choices;
    refuseForeign(fork.vault.roots, [...only, ...ours, ...theirs], 'ctx apply');
    refuseBothSides(choices);
    await confirm(fork);
    const object = objectOf(fork);
    const { conflicts: choice, dryRun = false, allowSensitive } = choices;
    const facts = { origin: fork.vault.origin, choice, allowSensitive };
    const apply = (more: Partial<ApplyRequest>) =>
      vaultApply.applyFork(fork, { ...choices, ...more, ...both(more, choices), own: host.hidden });
    if (dryRun) {
      const { fork: _fork, ...planned } = await apply({});
      return planned;
    }
    // Your own files cannot be undone by the fork alone: that it was begun is on the disk first.
    const verb = { type: 'apply', object, durable: true, facts };
    const { fork: after, ...applied } = await recordedVerb(host, verb, apply, (result) =>
      toldSteps(result, { heldBack: result.heldBack }),
    );
    await tidyAfter(host, after);
    return applied;
  });
}

export interface Dropped {
  /** How many changes; as many as were counted, where there are more. */
  readonly dropped: number;
  readonly more?: true;
}

async function pendingCount(fork: OpenFork): Promise<Dropped> {
  const dropped = await countForkChanges(fork, countedChanges);
  return dropped < countedChanges ? { dropped: countChanges(await forkChanges(fork)) } : { dropped, more: true };
}

export function dropFork(host: Host, request: ForkRequest): Promise<Dropped> {
  return withFork(
    host,
    request,
    'ctx drop',
    async (fork) => {
      const count = await pendingCount(fork);
      const more = count.more === undefined ? {} : { more: true };
      const facts = { origin: fork.vault.origin, changes: count.dropped, ...more };
      const verb = { type: 'drop', object: objectOf(fork), makesRoom: true, facts };
      const drop = async () => {
        await sweepBeforeDrop(fork);
        return vaultForks.dropFork(fork);
      };
      await tidyAfter(host, await recordedVerb(host, verb, drop));
      return count;
    },
    { afresh: true },
  );
}
