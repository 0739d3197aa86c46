/** What a rename refuses. Pure but for the questions it asks. */

import { failure } from '../../failure.js';
import type { Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import type { InodeRecord } from './inode-store.js';

/** Whether `directory` is `moved` itself or below it. */
export function isWithin(
  moved: InodeRecord,
  directory: Inode,
  root: Inode,
  parentOf: (inode: Inode) => Inode,
): boolean {
  if (moved.kind !== 'directory') return false;
  for (let at = directory; ; at = parentOf(at)) {
    if (at === moved.inode) return true;
    if (at === root) return false;
  }
}

/** EISDIR ENOTDIR ENOTEMPTY */
export function checkReplaced(
  moved: InodeRecord,
  replaced: InodeRecord,
  name: Name,
  isEmpty: (directory: Inode) => boolean,
): void {
  if (replaced.kind === 'directory') {
    if (moved.kind !== 'directory') throw failure('EISDIR', 'rename', name);
    if (!isEmpty(replaced.inode)) throw failure('ENOTEMPTY', 'rename', name);
  } else if (moved.kind === 'directory') throw failure('ENOTDIR', 'rename', name);
}
