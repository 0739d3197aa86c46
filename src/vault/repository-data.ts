/**
 * Git's bookkeeping: what a commit or a fetch writes, and nobody reads as text. Whatever else stands in `.git` is shown like
 * any file, known or not: hooks, configuration and attributes name programs that git runs the next time the person uses it.
 */
import type { CommandChange } from './changes.js';

const trees = /^\.git\/(?:objects\/(?!info\/alternates$)|refs\/|logs\/|hooks\/[^/]+\.sample$)/;

/** Of a submodule, only what no other reading makes a hook: a submodule may be called like a directory of another one. */
const moduleObjects = /^objects\/(?:[0-9a-f]{2}\/[0-9a-f]{38,62}|pack\/pack-[0-9a-f]+\.(?:pack|idx|rev))$/;

const files = new Set([
  'AUTO_MERGE',
  'CHERRY_PICK_HEAD',
  'COMMIT_EDITMSG',
  'FETCH_HEAD',
  'HEAD',
  'MERGE_HEAD',
  'MERGE_MODE',
  'MERGE_MSG',
  'ORIG_HEAD',
  'REVERT_HEAD',
  'SQUASH_MSG',
  'description',
  'gc.log',
  'gc.pid',
  'index',
  'info/exclude',
  'info/refs',
  'packed-refs',
  'shallow',
]);

function isDataOfModule(path: string): boolean {
  const [, within] = /^\.git\/modules\/[^/]+\/(.+)$/.exec(path) ?? [];
  return within !== undefined && (files.has(within) || moduleObjects.test(within));
}

/** Directories hold nothing of their own; what is in them is judged by itself. */
export function isRepositoryData({ path, type }: Pick<CommandChange, 'path' | 'type'>): boolean {
  if (!path.startsWith('.git/')) return false;
  return type === 'directory' || files.has(path.slice('.git/'.length)) || trees.test(path) || isDataOfModule(path);
}
