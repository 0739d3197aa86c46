/**
 * Trees beside a fork, taken back with it: those that commands after a checkpoint changed, as far as no one changed
 * them since.
 */
import { ErrnoError } from '../base/errno.js';
import { uniqueName } from '../base/unique-name.js';
import type { Host } from '../proxy/host.js';
import type { Checkpoint, CheckpointTree } from '../vault/store/fork-meta.js';

export interface UndoneFile {
  /** Of the chunked tree. */
  readonly file: string;
  /** Why it was not taken back; null where it was. */
  readonly problem: string | null;
}

export interface UndoneTrees {
  readonly files: readonly UndoneFile[];
  /** How to take that back: for the checkpoint of what was before the rollback. */
  readonly redo: readonly CheckpointTree[];
}

/** What has to be gone back to: of each file, the oldest state, where it is still in the newest one. Pure. */
export function treesToUndo(checkpoints: readonly Checkpoint[], to: Checkpoint): readonly CheckpointTree[] {
  const found = new Map<string, CheckpointTree>();
  for (const { id, undone, trees = [] } of checkpoints) {
    if (id < to.id || (undone === true && id !== to.id)) continue;
    for (const tree of trees) {
      const known = found.get(tree.file);
      found.set(tree.file, { ...tree, before: known?.before ?? tree.before });
    }
  }
  return [...found.values()];
}

/** Each by itself: what one cannot do keeps no other from it. */
export async function undoTrees(host: Host, trees: readonly CheckpointTree[]): Promise<UndoneTrees> {
  if (trees.length === 0) return { files: [], redo: [] };
  const { restoreSnapshot } = await import('../vfs/engines/chunked/snapshots.js');
  const files: UndoneFile[] = [];
  const redo: CheckpointTree[] = [];
  for (const { file, before, after } of trees) {
    const keep = `before-${uniqueName()}`;
    try {
      const store = { file, lockLibrary: host.lockLibrary };
      const { edits } = await restoreSnapshot(store, { name: before, keep, expected: after });
      redo.push({ file, before: keep, after: edits });
      files.push({ file, problem: null });
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      files.push({ file, problem: `${error.reason} (${error.code})` });
    }
  }
  return { files, redo };
}
