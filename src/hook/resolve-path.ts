/**
 * Where a path leads (`base/walk-path`), for a decision: what cannot be known is refused, never guessed. That is a loop, a directory
 * that may not be searched, a name that is not text, and the kernel's own trees, whose links mean another thing to every process.
 *
 * Asynchronous throughout: a file system that does not answer must not keep the watchdog from running.
 */
import { lstat, readlink } from 'node:fs';
import { posix } from 'node:path';
import { ErrnoError } from '../base/errno.js';
import { pathBytes } from '../base/limits/objects.js';
import { type AtPlace, type WalkStep, walkPath } from '../base/walk-path.js';

export type Resolution =
  | { readonly ok: true; readonly path: string; readonly exists: boolean }
  | { readonly ok: false; readonly fault: string };

/** What is at a path whose parents are resolved. */
export type FoundPlace =
  | { readonly kind: 'directory' | 'other' | 'missing' }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'unknown'; readonly fault: string };

export type Look = (path: string) => Promise<FoundPlace>;
export type Resolve = (path: string) => Promise<Resolution>;

const kernelTrees: readonly string[] = ['/proc', '/sys'];

function refused(fault: string): Resolution {
  return { ok: false, fault };
}

/** Why a walk must not go on from here. */
function faultOf(found: FoundPlace, step: WalkStep): string | undefined {
  if (found.kind === 'unknown') return found.fault;
  if (found.kind === 'link' && Buffer.byteLength(found.target) > pathBytes) return 'a link on its way is too long';
  const isFollowed = step.rest.some((each) => each !== '');
  return found.kind === 'other' && isFollowed ? 'a part of the path is a file, not a directory' : undefined;
}

function atPlace(found: FoundPlace): AtPlace {
  if (found.kind === 'link') return { link: found.target };
  return found.kind === 'missing' ? 'nothing' : 'something';
}

async function walked(path: string, look: Look): Promise<Resolution> {
  const walk = walkPath(path);
  let next = walk.next();
  while (next.done !== true) {
    if (kernelTrees.includes(next.value.place)) return refused('it leads through files of the kernel (/proc)');
    const found = await look(next.value.place);
    const fault = faultOf(found, next.value);
    if (fault !== undefined) return refused(fault);
    next = walk.next(atPlace(found));
  }
  if (Buffer.byteLength(next.value.path) <= pathBytes) return { ok: true, ...next.value };
  return refused(`it leads to a path of more than ${pathBytes} bytes`);
}

/** `path` is absolute. */
export async function resolvePath(path: string, look: Look): Promise<Resolution> {
  try {
    return await walked(path, look);
  } catch (error) {
    if (error instanceof ErrnoError && error.code === 'ELOOP') return refused(error.reason);
    throw error;
  }
}

function readLink(path: string): Promise<FoundPlace> {
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
export function lookAtHost(path: string): Promise<FoundPlace> {
  return new Promise((settle) => {
    lstat(path, (error, about) => {
      if (error === null) {
        if (about.isSymbolicLink()) return settle(readLink(path));
        return settle({ kind: about.isDirectory() ? 'directory' : 'other' });
      }
      if (error.code === 'ENOENT') return settle({ kind: 'missing' });
      settle({ kind: 'unknown', fault: `a part of the path cannot be read (${error.code})` });
    });
  });
}

/** For one decision: paths of one call share most of their way, and each place is looked at once. */
export class HostResolver {
  readonly #seen = new Map<string, Promise<FoundPlace>>();

  /** A directory that was just found to be canonical: its parents need no second look. */
  know(directory: string): void {
    for (let at = directory; at !== '/' && !this.#seen.has(at); at = posix.dirname(at)) {
      this.#seen.set(at, Promise.resolve({ kind: 'directory' }));
    }
  }

  readonly resolve: Resolve = (path) => resolvePath(path, (place) => this.#look(place));

  #look(place: string): Promise<FoundPlace> {
    const known = this.#seen.get(place) ?? lookAtHost(place);
    this.#seen.set(place, known);
    return known;
  }
}
