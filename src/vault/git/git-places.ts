/**
 * Which repository's own directory a path is in. By its name (`.git`), and by its shape in the person's directories: git takes any
 * directory with HEAD, objects and refs for one. Paths are absolute.
 */
import { lstatSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { encodePath } from '../../base/path-bytes.js';

export interface GitPlace {
  /** A whole repository, or what one of its linked worktrees has for itself. */
  readonly kind: 'repository' | 'worktree';
  readonly directory: string;
  /** Where objects and most refs are. */
  readonly common: string;
  /** False: the person has none there, and the fork made it. */
  readonly isEstablished: boolean;
}

export type IsThere = (path: string) => boolean;

/** Whatever is there, links to nothing included. */
export const isThere: IsThere = (path) => {
  try {
    // An error that is made and caught costs more than the question.
    return lstatSync(encodePath(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** Of whole paths without an end of slashes, as all are here: `posix.dirname` looks at each character. */
const parentOf = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf('/')));
const isGit = (path: string) => /\/\.git$/i.test(path);

const hasShape = (directory: string, has: IsThere) =>
  ['HEAD', 'objects', 'refs'].every((name) => has(posix.join(directory, name)));

function placeAt(directory: string, outer: GitPlace | undefined, has: IsThere): GitPlace | undefined {
  if (outer !== undefined && !isGit(directory)) {
    const above = parentOf(directory);
    const within = directory.slice(outer.directory.length + 1);
    if (above === posix.join(outer.directory, 'worktrees') && has(posix.join(directory, 'commondir'))) {
      const isEstablished = has(posix.join(directory, 'HEAD'));
      return { kind: 'worktree', directory, common: outer.directory, isEstablished };
    }
    // A branch may be called objects: nowhere else in a repository is there another one.
    if (!within.startsWith('modules/')) return undefined;
  }
  const isEstablished = hasShape(directory, has);
  if (!isEstablished && !isGit(directory)) return undefined;
  return { kind: 'repository', directory, common: directory, isEstablished };
}

/** Answers are kept by directory, so that the cost follows the number of directories and not the lengths of their paths. */
export function placesBy(has: IsThere = isThere): (path: string) => GitPlace | undefined {
  const known = new Map<string, GitPlace | undefined>();
  return (path) => {
    const unknown: string[] = [];
    let directory = parentOf(path);
    while (!known.has(directory)) {
      unknown.push(directory);
      if (directory === '/') break;
      directory = parentOf(directory);
    }
    let place = known.get(directory);
    for (const each of unknown.reverse()) {
      place = placeAt(each, place, has) ?? place;
      known.set(each, place);
    }
    return place;
  };
}

/** Outside of every repository: a change by which git would take the directory it is in for one. */
export function makesRepository(path: string, has: IsThere): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name === 'HEAD') return true;
  return /^(?:objects|refs|commondir)$/.test(name) && has(posix.join(parentOf(path), 'HEAD'));
}

/** Git would wait for whoever writes into it. */
export function isPipe(path: string): boolean {
  try {
    return statSync(encodePath(path)).isFIFO();
  } catch {
    return false; // not there, or not ours to see
  }
}
