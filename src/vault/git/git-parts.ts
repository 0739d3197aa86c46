/**
 * What a path of a repository's own directory is, by its name there (gitrepository-layout(5), git 2.39). A list of what is known:
 * whatever is not in it is `other`, and does not come home unasked. Pure.
 */
import { isComingRef } from './git-refs.js';

export type Part =
  | 'head'
  | 'ref'
  | 'packed refs'
  | 'reflog'
  | 'index'
  | 'configuration'
  /** The text of a commit that was made, or is being made. */
  | 'message'
  /** One object by name. */
  | 'pseudo ref'
  | 'loose object'
  | 'pack'
  /** Git makes it again from the rest. */
  | 'derived'
  /** Of a merge, a rebase or the like that is under way: git goes on with what it says. */
  | 'state'
  | 'exclude'
  | 'description'
  | 'sample'
  | 'shallow'
  | 'other';

const files: Readonly<Record<string, Part>> = {
  HEAD: 'head',
  index: 'index',
  config: 'configuration',
  'packed-refs': 'packed refs',
  COMMIT_EDITMSG: 'message',
  MERGE_MSG: 'message',
  SQUASH_MSG: 'message',
  ORIG_HEAD: 'pseudo ref',
  AUTO_MERGE: 'pseudo ref',
  FETCH_HEAD: 'derived',
  'gc.log': 'derived',
  'gc.pid': 'derived',
  'info/refs': 'derived',
  'objects/info/packs': 'derived',
  MERGE_HEAD: 'state',
  MERGE_MODE: 'state',
  CHERRY_PICK_HEAD: 'state',
  REVERT_HEAD: 'state',
  MERGE_RR: 'state',
  'info/exclude': 'exclude',
  description: 'description',
  shallow: 'shallow',
};

const patterns: readonly (readonly [RegExp, Part])[] = [
  [/^objects\/[0-9a-f]{2}\/(?:[0-9a-f]{38}|[0-9a-f]{62})$/, 'loose object'],
  [/^objects\/pack\/pack-[0-9a-f]+\.pack$/, 'pack'],
  [/^objects\/pack\/(?:pack-[0-9a-f]+\.(?:idx|rev|bitmap|keep|mtimes)|tmp_[^/]*|multi-pack-index[^/]*)$/, 'derived'],
  [/^objects\/(?:[0-9a-f]{2}\/tmp_obj_[^/]*|info\/commit-graph|info\/commit-graphs\/[^/]+)$/, 'derived'],
  [/^(?:rebase-merge|rebase-apply|sequencer)(?:\/|$)/, 'state'],
  [/^BISECT_[A-Z_]+$/, 'state'],
  [/^hooks\/[^/]+\.sample$/, 'sample'],
];

/** `name` is the path below the repository's directory, one character a byte. */
export function partOf(name: string): Part {
  const known = Object.hasOwn(files, name) ? files[name] : undefined;
  if (known !== undefined) return known;
  if (isComingRef(name)) return 'ref';
  if (name === 'logs/HEAD' || (name.startsWith('logs/') && isComingRef(name.slice('logs/'.length)))) return 'reflog';
  return patterns.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/** Directories that hold nothing but what is judged by itself, and do nothing by being there. */
const plainDirectories =
  /^(?:(?:logs\/)?refs(?:\/(?:heads|tags|remotes)(?:\/[\s\S]*)?)?|logs|objects(?:\/(?:[0-9a-f]{2}|pack|info|info\/commit-graphs))?)$/;

/** Further ones, which git makes with a repository. */
const firstDirectories = new Set(['', 'branches', 'hooks', 'info']);

export function isPlainDirectory(name: string, isNew: boolean): boolean {
  return plainDirectories.test(name) || (isNew && firstDirectories.has(name));
}

/** What of `state` belongs together: of one operation all of it goes, or none. */
export function operationOf(name: string): string {
  const [first = ''] = name.split('/');
  return first.startsWith('BISECT_') ? 'BISECT' : first;
}
