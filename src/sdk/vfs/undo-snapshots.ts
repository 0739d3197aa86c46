/** Snapshots that a command's mount leaves in chunked trees, so that what it changed can be undone. */
import { automaticSnapshots } from '../../base/limits/trees.js';
import type { UndoneTree } from '../../proxy/asked-tree.js';
import { deleteSnapshot, editsOf, listSnapshots } from '../../vfs/engines/chunked/snapshots.js';

export interface SettlingSnapshot {
  /** The snapshot that was taken first. */
  readonly before: string;
  /** Whether there is anything to undo: one that no one needs goes at once. */
  readonly isChanged: boolean;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
}

/** By `uniqueName`: a process, the milliseconds since 1970, the nanoseconds since the machine was started. `before-release` is a person's. */
const isAutomatic = (name: string) => /^before-[0-9a-z]{1,6}-[0-9a-z]{8}-[0-9a-z]{5,13}$/.test(name);

export async function settleSnapshots(
  files: readonly string[],
  { before, isChanged, lockLibrary }: SettlingSnapshot,
): Promise<readonly UndoneTree[]> {
  const undo: UndoneTree[] = [];
  for (const file of files) {
    const names = (await listSnapshots(file)).map(([name]) => name).filter(isAutomatic);
    const old = isChanged ? names.slice(0, Math.max(0, names.length - automaticSnapshots)) : [before];
    for (const name of old) await deleteSnapshot({ file, lockLibrary }, name);
    if (isChanged) undo.push({ file, before, after: await editsOf(file) });
  }
  return undo;
}
