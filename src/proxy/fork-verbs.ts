/** What a person does with a fork after a command: look, keep, forget. Each locks the fork, and is in the record. */
import { ErrnoError } from '../base/errno.js';
import { type Applied, applyFork } from '../vault/apply.js';
import type { ConflictChoice } from '../vault/apply-plan.js';
import { dropFork, forkChanges, readChanges, type TextChange } from '../vault/fork.js';
import { forkName } from '../vault/layout.js';
import { emptyTrash } from '../vault/trash.js';
import type { Change } from '../vault/tree.js';
import { closeVault, type OpenVault, openExistingVault } from '../vault/vault.js';
import { type Host, placeOf } from './host.js';

export interface ForkRequest {
  readonly cwd: string;
  readonly wait: boolean;
}

async function withFork<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (vault: OpenVault) => Promise<T>,
): Promise<T> {
  const place = placeOf(host, request.cwd);
  const { store, tree } = host;
  const vault = await openExistingVault({
    store,
    tree,
    origin: place.origin,
    owner: place.owner,
    wait: request.wait,
    purpose,
  });
  if (vault === undefined) {
    throw new ErrnoError('ENOENT', {
      operation: purpose,
      path: place.origin,
      reason: 'no command has run here yet, so there is no fork',
      remedy: 'ctx exec -- COMMAND makes one',
    });
  }
  try {
    return await use(vault);
  } finally {
    closeVault(vault);
  }
}

export interface ForkStatus {
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
  readonly layers: number;
  readonly changes: readonly Change[];
  readonly clashes: readonly string[];
}

async function statusOf(vault: OpenVault): Promise<ForkStatus> {
  return {
    origin: vault.meta.origin,
    vault: vault.id,
    fork: forkName,
    layers: vault.meta.layers.length,
    changes: await forkChanges(vault),
    clashes: vault.meta.clashes,
  };
}

export function lookAtFork(host: Host, request: ForkRequest): Promise<ForkStatus> {
  return withFork(host, request, 'ctx status', statusOf);
}

/** The status, and the contents on both sides of the changes that `choose` picks from it. */
export function readFork(
  host: Host,
  request: ForkRequest,
  choose: (status: ForkStatus) => readonly Change[],
): Promise<{ readonly status: ForkStatus; readonly texts: readonly TextChange[] }> {
  return withFork(host, request, 'ctx diff', async (vault) => {
    const status = await statusOf(vault);
    return { status, texts: await readChanges(vault, choose(status)) };
  });
}

export function keepFork(host: Host, request: ForkRequest, choice: ConflictChoice): Promise<Omit<Applied, 'vault'>> {
  return withFork(host, request, 'ctx apply', async (vault) => {
    const object = `fork/${vault.id}/${forkName}`;
    const facts = { origin: vault.meta.origin, choice };
    // Your own files cannot be undone: that it was begun is on the disk first.
    host.recorder.append({ type: 'apply', object, status: 'begin', durable: true, facts });
    const { vault: _after, ...applied } = await applyFork(vault, choice);
    host.recorder.append({
      type: 'apply',
      object,
      status: applied.done ? 'ok' : 'failed',
      facts: {
        ...facts,
        steps: applied.done ? applied.plan.steps.map(({ action, path }) => `${action} ${path}`) : [],
        conflicts: applied.plan.conflicts,
      },
    });
    await emptyTrash(host.store, host.tree);
    return applied;
  });
}

export function forgetFork(host: Host, request: ForkRequest): Promise<{ readonly dropped: number }> {
  return withFork(host, request, 'ctx drop', async (vault) => {
    const changes = await forkChanges(vault);
    const facts = { origin: vault.meta.origin, changes: changes.length };
    const object = `fork/${vault.id}/${forkName}`;
    host.recorder.append({ type: 'drop', object, status: 'begin', makesRoom: true, facts });
    dropFork(vault);
    await emptyTrash(host.store, host.tree);
    return { dropped: changes.length };
  });
}
