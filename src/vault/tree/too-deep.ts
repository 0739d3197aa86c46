/** Directories whose entries are not listed one by one: too many (`listedChanges`), or with paths too long together (`longPathBytes`). Pure. */
import { ErrnoError } from '../../base/errno.js';
import { unlistedShown } from '../../base/limits/store.js';
import type { Change } from './tree-jobs.js';

const shownCharacters = 200;

/** The path of a deep directory says nothing to anybody in full. */
const shortened = (path: string) => (path.length <= shownCharacters ? path : `${path.slice(0, shownCharacters)}...`);

export function tooDeep(operation: string, path: string, entries: number): ErrnoError {
  return new ErrnoError('E2BIG', {
    operation,
    path: shortened(path),
    reason: `${entries} or more entries below it are too many for the memory there is, or too deep, to be listed`,
    remedy: 'ctx exec -- rm -rf PATH removes them, ctx rollback goes back to before them, ctx drop forgets all changes',
  });
}

/** What is done to every change of a fork needs to know every change. */
export function refuseUnlisted(operation: string, changes: readonly Change[]): void {
  for (const { path, unlisted } of changes) if (unlisted !== undefined) throw tooDeep(operation, path, unlisted);
}

/** For reports: what their lists do not have. */
export function unlistedNotes(changes: readonly Pick<Change, 'path' | 'unlisted'>[]): readonly string[] {
  const found = changes.filter(({ unlisted }) => unlisted !== undefined);
  const notes = found
    .slice(0, unlistedShown)
    .map(
      ({ path, unlisted }) => `${unlisted} or more entries below ${shortened(path)} are too many or too deep to list`,
    );
  if (found.length > notes.length) {
    const rest = found.slice(notes.length);
    notes.push(
      `${countChanges(rest) - rest.length} or more entries below ${rest.length} other directories are not listed`,
    );
  }
  if (notes.length > 0) notes.push('ctx diff --names PATH lists what is in one of them');
  return notes;
}

/** Changes, those that are not listed included. */
export function countChanges(changes: readonly Pick<Change, 'unlisted'>[]): number {
  return changes.reduce((count, { unlisted = 0 }) => count + unlisted, changes.length);
}
