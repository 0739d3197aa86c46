/**
 * Collects garbage in passing. A day of commands leaves a layer each: those that merges and forgotten checkpoints left behind go while the
 * day lasts, so that the store holds what its checkpoints need, and not every command since the last `ctx gc`.
 */
import { ErrnoError, orSystemError } from '../../base/errno.js';
import { checkpointsBetweenCollections } from '../../base/limits/store.js';
import type { OpenFork } from '../vault.js';

const turnOf = ({ meta }: OpenFork): number => Math.floor(meta.nextCheckpoint / checkpointsBetweenCollections);

/**
 * With the fork's lock held and nothing of it mounted, wherever a checkpoint was saved. By its number, so that a command which changes
 * nothing costs nothing.
 */
export async function collectInPassing(before: OpenFork, saved: OpenFork): Promise<void> {
  if (turnOf(before) === turnOf(saved)) return;
  const { collectGarbage } = await import('./gc.js');
  try {
    await collectGarbage(saved, new Map([[saved.name, saved.lockDescriptor]]), { later: true });
  } catch (error) {
    // Upkeep is no reason for a command to fail: `ctx gc` says what is wrong, and the next look tries again.
    if (!(orSystemError(error) instanceof ErrnoError)) throw error;
  }
}
