/**
 * Git's bookkeeping: what a commit or a fetch writes, and no one reads as text. Whatever else is in `.git` is shown
 * like any file, known or not: hooks, configuration, rules and attributes say what git does the next time the person
 * uses it.
 */
import { encodePath } from '../../base/path-bytes.js';
import { type Part, partOf } from '../git/git-parts.js';
import type { CommandChange } from './changes.js';

const shown: ReadonlySet<Part> = new Set(['configuration', 'state', 'exclude', 'shallow', 'other']);

/** Directories hold nothing of their own; what is in them is judged by itself. */
export function isRepositoryData({ path, type }: Pick<CommandChange, 'path' | 'type'>): boolean {
  if (!path.startsWith('.git/')) return false;
  // A submodule's has the same files.
  const name = path.slice('.git/'.length).replace(/^modules\/[^/]+\//, '');
  return type === 'directory' || !shown.has(partOf(encodePath(name).toString('latin1')));
}
