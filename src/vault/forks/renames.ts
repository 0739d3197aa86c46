/**
 * Which of the added files are deleted ones under another name: those of equal content, by digest. Both stay in the list, since each is
 * written, applied and rolled back by itself; the added one says what it was.
 */
import { basename } from 'node:path';
import { renamedBytes, renamedFiles } from '../../base/limits/store.js';
import type { Stack } from '../store/fork-meta.js';
import type { Change } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { type CommandChange, readChanges } from './changes.js';

/** Gone, or new; undefined for what is neither. What is gone and is not of the trunk either counts as put back, and has no stamp. */
function endOf({ kind, stamp }: CommandChange): 'gone' | 'new' | undefined {
  if (kind === 'added') return 'new';
  return kind === 'deleted' || (kind === 'restored' && stamp === '') ? 'gone' : undefined;
}

/** Files that may be of one content: empty ones and those of a size that the other side does not have are not. Pure. */
export function renameCandidates<Listed extends CommandChange>(changes: readonly Listed[]): readonly Listed[] {
  const files = changes.filter(
    (change) =>
      endOf(change) !== undefined && change.type === 'file' && change.size > 0 && change.unlisted === undefined,
  );
  const sizes = (end: 'gone' | 'new') =>
    new Set(files.filter((change) => endOf(change) === end).map(({ size }) => size));
  const [added, gone] = [sizes('new'), sizes('gone')];
  return files.filter((change) => (change.kind === 'added' ? gone : added).has(change.size));
}

export interface Digested<Listed> {
  readonly change: Listed;
  /** Empty where it is not known. */
  readonly digest: string;
}

/** Each deleted file is at most one added file: of equal ones that with the same last name before others, in their order. Pure. */
export function renamesAmong<Listed extends CommandChange>(files: readonly Digested<Listed>[]): Map<Listed, string> {
  const gone = new Map<string, string[]>();
  for (const { change, digest } of files)
    if (endOf(change) === 'gone' && digest !== '') gone.set(digest, [...(gone.get(digest) ?? []), change.path]);
  const added = files.filter(({ change, digest }) => change.kind === 'added' && gone.has(digest));
  const renamed = new Map<Listed, string>();
  for (const isWanted of [(was: string, is: string) => basename(was) === basename(is), () => true]) {
    for (const { change, digest } of added) {
      const left = gone.get(digest) ?? [];
      const at = renamed.has(change) ? -1 : left.findIndex((was) => isWanted(was, change.path));
      if (at < 0) continue;
      renamed.set(change, left[at] ?? '');
      left.splice(at, 1);
    }
  }
  return renamed;
}

/** `since`: what the changes are counted from; the trunk where it is undefined. Of too many or too large ones nothing is said. */
export async function withRenames<Listed extends CommandChange>(
  fork: OpenFork,
  changes: readonly Listed[],
  since?: Stack,
): Promise<readonly Listed[]> {
  const asked = renameCandidates(changes);
  const bytes = asked.reduce((sum, { size }) => sum + size, 0);
  if (asked.length === 0 || asked.length > renamedFiles || bytes > renamedBytes) return changes;
  const plain = asked.map((change: CommandChange): Change => {
    return { ...change, kind: change.kind === 'added' ? 'added' : 'deleted' };
  });
  const read = await readChanges(fork, plain, since, { most: 1, digests: true });
  const renamed = renamesAmong(
    asked.map((change, index) => {
      const side = change.kind === 'added' ? read[index]?.after : read[index]?.before;
      return { change, digest: side?.digest ?? '' };
    }),
  );
  return changes.map((change) => {
    const renamedFrom = renamed.get(change);
    return renamedFrom === undefined ? change : { ...change, renamedFrom };
  });
}
