/** What a file of a repository's own directory becomes on its way home, by what is in it. Pure. */
import { visible } from '../../base/visible-text.js';
import type { ObjectFormat } from './git-index-file.js';
import { type IndexSides, originIndex } from './git-index-origin.js';
import type { Part } from './git-parts.js';
import { isComingRef, isReflog, mergePackedRefs, objectId, parsePackedRefs, symbolicTarget } from './git-refs.js';

/** An object that has to be there, and its kind where it matters. */
export interface Needed {
  readonly id: string;
  readonly kind?: 'commit' | undefined;
}

export type ContentOutcome =
  | {
      readonly is: 'file';
      readonly bytes: Buffer;
      readonly needs: readonly Needed[];
      /** What of it stays behind, for people. */
      readonly without?: string | undefined;
    }
  | { readonly is: 'dropped'; readonly without?: string | undefined }
  | { readonly is: 'sensitive'; readonly why: string };

export interface ContentSides {
  readonly part: Part;
  /** Below the repository's directory. */
  readonly name: string;
  /** Empty for what the fork deleted. */
  readonly fork: Buffer;
  readonly person: Buffer | undefined;
  readonly index: Pick<IndexSides, 'personTime' | 'changed'>;
  readonly format: ObjectFormat;
  readonly isNew: boolean;
  /** Git's index comes as it is, flags and all. */
  readonly keepsFlags: boolean;
}

const sensitive = (why: string): ContentOutcome => ({ is: 'sensitive', why });
const file = (bytes: Buffer | string, needs: readonly Needed[] = []): ContentOutcome => ({
  is: 'file',
  bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
  needs,
});

/** The first few of a list that may be long, as people read it. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => visible(Buffer.from(name, 'latin1').toString('utf8')));
  return `${shown.join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}

function headOf(text: string): ContentOutcome {
  const id = objectId(text);
  if (id !== undefined) return file(`${id}\n`, [{ id, kind: 'commit' }]);
  const target = symbolicTarget(text);
  return target?.startsWith('refs/heads/') === true
    ? file(`ref: ${target}\n`)
    : sensitive('it names no branch and no commit');
}

function refOf(name: string, text: string): ContentOutcome {
  const id = objectId(text);
  const isBranch = name.startsWith('refs/heads/') || name === 'refs/stash';
  if (id !== undefined) return file(`${id}\n`, [isBranch ? { id, kind: 'commit' } : { id }]);
  const target = symbolicTarget(text);
  const isRemoteHead = /^refs\/remotes\/[\s\S]+\/HEAD$/.test(name) && target?.startsWith('refs/remotes/') === true;
  return isRemoteHead ? file(`ref: ${target}\n`) : sensitive('it names no object');
}

function packedRefsOf(fork: string, person: string): ContentOutcome {
  const [theirs, mine] = [parsePackedRefs(fork), parsePackedRefs(person)];
  if (theirs === undefined || mine === undefined) return sensitive('it is not in a form that can be read whole');
  const { text, leftOut, ids } = mergePackedRefs(mine, theirs);
  const without = leftOut.length === 0 ? undefined : `refs that stay in the fork: ${someOf(leftOut)}`;
  const merged = parsePackedRefs(text);
  const isSame = merged?.size === mine.size && [...mine].every(([name, id]) => merged.get(name) === id);
  if (isSame) return { is: 'dropped', without };
  const needs = ids.map(([name, id]): Needed => (name.startsWith('refs/heads/') ? { id, kind: 'commit' } : { id }));
  return { is: 'file', bytes: Buffer.from(text, 'latin1'), needs, without };
}

function indexOf({ fork, person, index, format, keepsFlags }: ContentSides): ContentOutcome {
  const made = originIndex({ ...index, fork, person, format });
  if (typeof made === 'string') return sensitive(made);
  const { bytes, hidden, ids, isOwn } = made;
  const needs = ids.map((id) => ({ id }));
  const without = hidden.length === 0 ? undefined : `flags that would hide changes from git status: ${someOf(hidden)}`;
  if (without !== undefined && keepsFlags) return { is: 'file', bytes: fork, needs };
  // Who only looked made git write it again.
  if (isOwn) return { is: 'dropped', without };
  return { is: 'file', bytes, needs, without };
}

function excludeOf(fork: string, person: string): ContentOutcome {
  const rules = (text: string) => text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [now, before] = [rules(fork), new Set(rules(person))];
  const added = now.filter((rule) => !before.has(rule));
  const shows = rules(person).some((rule) => !now.includes(rule));
  if (now.length === 0 && before.size === 0) return file(fork);
  if (added.length > 0) return sensitive(`git status would no longer show ${someOf(added)}`);
  return sensitive(shows ? 'it removes rules of yours' : 'it makes git status hide files');
}

const isText = (text: string) => !/[\x00-\x08\x0e-\x1f\x7f]/.test(text);

export function contentOrigin(sides: ContentSides): ContentOutcome {
  const { part, name, fork, person, isNew } = sides;
  if (part === 'index') return indexOf(sides);
  const [text, mine] = [fork.toString('latin1'), person?.toString('latin1') ?? ''];
  switch (part) {
    case 'head':
      return headOf(text);
    case 'ref':
      return isComingRef(name) ? refOf(name, text) : sensitive('it is not the name of a ref');
    case 'packed refs':
      return packedRefsOf(text, mine);
    case 'pseudo ref': {
      const id = objectId(text);
      return id === undefined ? sensitive('it names no object') : file(`${id}\n`, [{ id }]);
    }
    case 'reflog':
      return isReflog(text) ? file(fork) : sensitive('its lines are not those that git writes');
    case 'message':
      return isText(text) ? file(fork) : sensitive('it is not a text');
    case 'description':
      return isNew && isText(text) ? file(fork) : sensitive('it is not a text');
    case 'shallow':
      return isNew &&
        text
          .split('\n')
          .slice(0, -1)
          .every((line) => objectId(line) !== undefined)
        ? file(fork)
        : sensitive('git takes history to end where it says');
    case 'exclude':
      return excludeOf(text, mine);
    default:
      return sensitive('git may obey it: it is not among what a commit needs');
  }
}
