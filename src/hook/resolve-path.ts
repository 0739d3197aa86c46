/**
 * Where a path leads, as the kernel would walk it: component by component, each link followed where it stands, `..` taken
 * after the link before it. What does not exist yet is placed below its deepest existing ancestor; a dangling link leads
 * to where its target would be made. What cannot be known is refused, never guessed: a loop, a directory that may not be
 * searched, a name that is no text, and the kernel's own trees, whose links mean another thing to every process.
 *
 * Asynchronous throughout: a file system that does not answer must not keep the watchdog from running.
 */
import { lstat, readlink } from 'node:fs';
import { posix } from 'node:path';
import { pathBytes } from '../base/limits/objects.js';

export type Resolution =
  | { readonly ok: true; readonly path: string; readonly exists: boolean }
  | { readonly ok: false; readonly fault: string };

/** What stands at a path whose parents are resolved. */
export type Standing =
  | { readonly kind: 'directory' | 'other' | 'missing' }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'unknown'; readonly fault: string };

export type Look = (path: string) => Promise<Standing>;
export type Resolve = (path: string) => Promise<Resolution>;

/** As many as the kernel follows. */
const linksFollowed = 40;

const kernelTrees: readonly string[] = ['/proc', '/sys'];
const missing: Standing = Object.freeze({ kind: 'missing' });

function refused(fault: string): Resolution {
  return { ok: false, fault };
}

/** `path` is absolute. */
export async function resolvePath(path: string, look: Look): Promise<Resolution> {
  const pending = path.split('/').reverse();
  let at = '';
  /** The part of `at` that exists: below it, there is nothing to look at. */
  let existing = '';
  let links = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      at = at.slice(0, Math.max(at.lastIndexOf('/'), 0));
      if (at.length < existing.length) existing = at;
      continue;
    }
    const next = `${at}/${name}`;
    if (kernelTrees.includes(next)) return refused('it leads through files of the kernel (/proc)');
    const standing = at === existing ? await look(next) : missing;
    switch (standing.kind) {
      case 'unknown':
        return refused(standing.fault);
      case 'link':
        links += 1;
        if (links > linksFollowed) return refused(`it leads through more than ${linksFollowed} links, or in a circle`);
        if (Buffer.byteLength(standing.target) > pathBytes) return refused('a link on its way is too long');
        if (standing.target.startsWith('/')) {
          at = '';
          existing = '';
        }
        pending.push(...standing.target.split('/').reverse());
        break;
      case 'other':
        if (pending.some((rest) => rest !== '')) return refused('a part of the path is a file, not a directory');
        at = next;
        existing = next;
        break;
      case 'directory':
        at = next;
        existing = next;
        break;
      case 'missing':
        at = next;
    }
  }
  if (Buffer.byteLength(at) > pathBytes) return refused(`it leads to a path of more than ${pathBytes} bytes`);
  return { ok: true, path: at === '' ? '/' : at, exists: at === existing };
}

function readLink(path: string): Promise<Standing> {
  return new Promise((settle) => {
    readlink(path, 'buffer', (error, bytes) => {
      if (error !== null) return settle({ kind: 'unknown', fault: `a link on its way cannot be read (${error.code})` });
      const target = bytes.toString('utf8');
      if (!Buffer.from(target).equals(bytes))
        return settle({ kind: 'unknown', fault: 'a link on its way is not valid text' });
      settle({ kind: 'link', target });
    });
  });
}

/** This host's file system. */
export function lookAtHost(path: string): Promise<Standing> {
  return new Promise((settle) => {
    lstat(path, (error, about) => {
      if (error === null) {
        if (about.isSymbolicLink()) return settle(readLink(path));
        return settle({ kind: about.isDirectory() ? 'directory' : 'other' });
      }
      if (error.code === 'ENOENT') return settle(missing);
      settle({ kind: 'unknown', fault: `a part of the path cannot be read (${error.code})` });
    });
  });
}

/** For one decision: paths of one call share most of their way, and each place is looked at once. */
export class HostResolver {
  readonly #seen = new Map<string, Promise<Standing>>();

  /** A directory that was just found to be canonical: its parents need no second look. */
  know(directory: string): void {
    for (let at = directory; at !== '/' && !this.#seen.has(at); at = posix.dirname(at)) {
      this.#seen.set(at, Promise.resolve({ kind: 'directory' }));
    }
  }

  readonly resolve: Resolve = (path) => resolvePath(path, (place) => this.#look(place));

  #look(place: string): Promise<Standing> {
    const known = this.#seen.get(place) ?? lookAtHost(place);
    this.#seen.set(place, known);
    return known;
  }
}
