/**
 * The one walk along a path of the host's files: component by component, each link followed where it is found, `..` taken
 * after the link before it, as the kernel does. It reads nothing itself: it yields each place to look at, and whoever
 * runs it looks, at once or later, and may stop. (`vfs/resolve` walks trees by inode.)
 *
 * What does not exist yet is placed below its deepest existing ancestor; a dangling link leads to where its target would be made.
 */
import { ErrnoError } from './errno.js';

export interface WalkStep {
  /** Absolute, with its parents resolved. */
  readonly place: string;
  /** The components that follow, as they are written. */
  readonly rest: readonly string[];
}

/** What is at a place: a link's text, something else, or nothing. Below nothing there is no further look. */
export type AtPlace = { readonly link: string } | 'something' | 'nothing';

export interface Walked {
  readonly path: string;
  readonly exists: boolean;
}

/** As many as the kernel follows. */
const linksFollowed = 40;

/** `path` is absolute. ELOOP where there are more links than the kernel follows. */
export function* walkPath(path: string): Generator<WalkStep, Walked, AtPlace> {
  const rest = path.split('/');
  let at = '';
  /** The part of `at` that exists. */
  let existing = '';
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      at = at.slice(0, Math.max(at.lastIndexOf('/'), 0));
      if (at.length < existing.length) existing = at;
      continue;
    }
    const place = `${at}/${name}`;
    const found = at === existing ? yield { place, rest } : 'nothing';
    if (typeof found === 'object') {
      links += 1;
      if (links > linksFollowed) {
        const reason = `it leads through more than ${linksFollowed} links, or in a circle`;
        throw new ErrnoError('ELOOP', { operation: 'resolve the path', path, reason });
      }
      if (found.link.startsWith('/')) {
        at = '';
        existing = '';
      }
      rest.unshift(...found.link.split('/'));
      continue;
    }
    at = place;
    if (found === 'something') existing = place;
  }
  return { path: at === '' ? '/' : at, exists: at === existing };
}

/** Whether nothing but slashes and dots follows. */
export function isLast({ rest }: WalkStep): boolean {
  return rest.every((each) => each === '' || each === '.');
}
