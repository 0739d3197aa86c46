/** What becomes of a change in a repository's own directory, as far as its name and kind say. Pure. */
import { gitIndexBytes, gitListBytes, gitTextBytes } from '../../base/limits/store.js';
import { endsDirectory } from '../tree/staying.js';
import type { Change } from '../tree/tree.js';
import { isPlainDirectory, operationOf, type Part, partOf } from './git-parts.js';
import type { GitPlace } from './git-places.js';

export type GitVerdict =
  /** Held back: shown apart, and written only when allowed. */
  | { readonly is: 'sensitive'; readonly why: string }
  /** Neither written nor kept: git makes it again, or the person's own is as good. */
  | { readonly is: 'dropped' }
  /** Written as it is. */
  | { readonly is: 'passed' }
  /** Made by us, from what is in it. */
  | { readonly is: 'read'; readonly part: Part }
  | { readonly is: 'made' };

export interface JudgedChange {
  readonly change: Change;
  readonly place: GitPlace;
  /** Below the place's directory, one character a byte. */
  readonly name: string;
}

const mostBytes: Partial<Record<Part, number>> = {
  index: gitIndexBytes,
  'packed refs': gitListBytes,
  reflog: gitListBytes,
  'loose object': Number.POSITIVE_INFINITY,
  pack: Number.POSITIVE_INFINITY,
  description: 4096,
};

const sensitive = (why: string): GitVerdict => ({ is: 'sensitive', why });
const dropped: GitVerdict = { is: 'dropped' };
const passed: GitVerdict = { is: 'passed' };

const whyOther: readonly (readonly [RegExp, string])[] = [
  [/^hooks(\/|$)/, 'git runs it'],
  [/^(config\.worktree|info\/attributes)$/, 'git takes programs to run from it'],
  [/^(commondir|gitdir)$/, 'git takes its configuration from where it points'],
  [/^objects\/info\/(http-)?alternates$/, 'git takes objects from where it points'],
  [/^(info\/grafts|refs\/replace\/)/, 'it makes git show another history'],
  [/^info\/sparse-checkout$/, 'it makes git hide files'],
  [/^modules\//, 'it is the repository of a submodule, with programs to run'],
  [/^worktrees\//, 'it is a working tree of the repository elsewhere'],
  [/^(remotes|branches)\//, 'git pushes and fetches where it says'],
  [/\.lock$/, 'git waits for the process that holds it'],
];

const whyPart: Partial<Record<Part, string>> = {
  configuration: 'git takes programs to run from it',
  state: 'git continues what it says, and may run it',
  shallow: 'git takes history to end where it says',
  exclude: 'it makes git status hide files',
  head: 'without it there is no repository',
  index: 'without it git takes every file for deleted',
};

function reasonFor(name: string, part: Part): string {
  const other = whyOther.find(([pattern]) => pattern.test(name))?.[1];
  return other ?? whyPart[part] ?? 'git may obey it: it is not among what a commit needs';
}

function judgeDirectory({ change: { kind, content }, place, name }: JudgedChange): GitVerdict {
  const isObjects = /^objects(\/|$)/.test(name);
  const isFirst = !place.isEstablished;
  const isPlain = isPlainDirectory(name, isFirst);
  if (kind === 'deleted') {
    const mayGo = /^(?:logs\/)?refs\/(?:heads|tags|remotes)\/[\s\S]/.test(name);
    if (isObjects) return dropped;
    return mayGo || partOf(name) === 'state' ? passed : sensitive('what is in it belongs to the repository');
  }
  // Modes of a repository are the person's to set.
  if (kind === 'modified' && !content)
    return isPlain || name === '' ? dropped : sensitive(reasonFor(`${name}/`, 'other'));
  if (!isPlain) return sensitive(reasonFor(`${name}/`, partOf(name)));
  // Those of objects are made with what is in them; without the first of them a new repository is none to git.
  return isObjects && !(isFirst && /^objects(?:\/(?:info|pack))?$/.test(name)) ? dropped : { is: 'made' };
}

/** In a working tree's own directory there are fewer files that git knows. */
const ofWorktree: ReadonlySet<Part> = new Set(['head', 'index', 'reflog', 'message', 'pseudo ref', 'state', 'derived']);

function partIn({ place, name }: JudgedChange): Part {
  const part = partOf(name);
  return place.kind === 'worktree' && !ofWorktree.has(part) ? 'other' : part;
}

function judgeDeleted(name: string, part: Part, isLeft: (name: string) => boolean): GitVerdict {
  switch (part) {
    case 'ref':
    case 'message':
    case 'pseudo ref':
    case 'sample':
      return passed;
    case 'packed refs':
      return { is: 'read', part };
    case 'loose object':
    case 'pack':
    case 'derived':
    case 'description':
      return dropped;
    case 'reflog':
      return isLeft(name) ? sensitive('it says what a branch was before') : passed;
    case 'state':
      return isLeft(name) ? sensitive(reasonFor(name, part)) : passed;
    default:
      return sensitive(reasonFor(name, part));
  }
}

/** What of this goes on being there: the ref of a reflog, the rest of an operation. */
function stillThere(all: readonly JudgedChange[], hasRef: (name: string) => boolean): (name: string) => boolean {
  const kept = new Set<string>();
  const gone = new Set<string>();
  for (const { change, name } of all) {
    if (partOf(name) !== 'state') continue;
    if (change.kind !== 'deleted') kept.add(operationOf(name));
    else if (change.type === 'directory' || !name.includes('/')) gone.add(operationOf(name));
  }
  return (name) => {
    if (name.startsWith('logs/')) return name === 'logs/HEAD' || hasRef(name.slice('logs/'.length));
    const operation = operationOf(name);
    return kept.has(operation) || !gone.has(operation);
  };
}

function judge(judged: JudgedChange, isLeft: (name: string) => boolean): GitVerdict {
  const { change, place, name } = judged;
  const { kind, type, content, size } = change;
  if (type === 'directory') return judgeDirectory(judged);
  const part = partIn(judged);
  if (kind === 'deleted') return judgeDeleted(name, part, isLeft);
  if (type === 'symlink') return sensitive('git follows it to what it runs or obeys');
  if (type !== 'file') return sensitive(`a ${type} in its place makes git wait for ever`);
  if (part === 'derived') return dropped;
  const isNeverRead = part === 'other' || part === 'state' || (part === 'sample' && place.isEstablished);
  const isFirst = part === 'description' || part === 'shallow';
  if (isNeverRead || (isFirst && place.isEstablished)) return sensitive(reasonFor(name, part));
  if (part === 'sample') return passed;
  // Only its mode or owner is another: those are the person's to set.
  if (kind === 'modified' && !content) return part === 'configuration' ? sensitive(reasonFor(name, part)) : dropped;
  if (size > (mostBytes[part] ?? gitTextBytes)) return sensitive('it is too large to be looked at as a whole');
  return { is: 'read', part };
}

/** In the order given. `hasRef`: whether a ref is there, in the fork as it is now. All are of one repository. */
export function judgeAll(all: readonly JudgedChange[], hasRef: (name: string) => boolean): readonly GitVerdict[] {
  const isLeft = stillThere(all, hasRef);
  const isGone = all.some(({ change, place, name }) => name === '' && place.isEstablished && endsDirectory(change));
  if (isGone) return all.map(() => sensitive('the whole repository would go'));
  return all.map((each) => judge(each, isLeft));
}
