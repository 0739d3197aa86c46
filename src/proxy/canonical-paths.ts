/**
 * Paths as people and files name them, made canonical once, as the kernel would: `a/link/..` is the parent of where the
 * link leads. Whatever compares or mounts paths afterwards takes what comes out of here.
 */
import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { canonicalPath } from '../base/canonical-path.js';
import { ErrnoError } from '../base/errno.js';
import { shellWord } from '../base/visible-text.js';
import type { Link } from '../jail/plan.js';

export interface CanonicalPaths {
  readonly paths: readonly string[];
  /** The links that the names led through, so that the same names work in a jail. They grant nothing. */
  readonly links: readonly Link[];
  /** As they were given: missing, or not ours to see. */
  readonly skipped: readonly string[];
}

function linksOn(path: string): Link[] {
  const links: Link[] = [];
  let at = '/';
  for (const component of path.split('/')) {
    if (component === '' || component === '.') continue;
    if (component === '..') {
      at = posix.dirname(at);
      continue;
    }
    const named = posix.join(at, component);
    at = canonicalPath(named) ?? named;
    if (at !== named && lstatSync(named).isSymbolicLink()) links.push({ path: named, target: at });
  }
  return links;
}

/**
 * A link of another user may only lead to what is theirs. Otherwise root's ctx would read and write for them what they may not:
 * the kernel's `protected_symlinks`, in every directory.
 */
export function refuseForeignLinks(path: string, uid: number): void {
  for (const { path: named, target } of linksOn(path)) {
    const { uid: maker } = lstatSync(named);
    if (maker === 0 || maker === uid || lstatSync(target, { throwIfNoEntry: false })?.uid === maker) continue;
    throw new ErrnoError('EACCES', {
      operation: 'resolve the path',
      path: named,
      reason: `this link of another user (uid ${maker}) leads to a place that is not theirs`,
      remedy: `name the place itself, if it is meant: ${shellWord(target)}`,
    });
  }
}

export function absolutePath(path: string, base: string): string {
  if (path === '' || path.includes('\0')) {
    throw new ErrnoError('EINVAL', { operation: 'resolve the path', path, reason: 'expected a path' });
  }
  return path.startsWith('/') ? path : `${base}/${path}`;
}

/** Relative paths are taken from `base`. */
export function canonicalPaths(given: readonly string[], base = '/'): CanonicalPaths {
  const paths = new Set<string>();
  const links = new Map<string, Link>();
  const skipped: string[] = [];
  for (const path of given) {
    const absolute = absolutePath(path, base);
    const found = canonicalPath(absolute);
    if (found === undefined) {
      skipped.push(path);
      continue;
    }
    paths.add(found);
    if (found !== absolute) for (const link of linksOn(absolute)) links.set(link.path, link);
  }
  return Object.freeze({
    paths: Object.freeze([...paths]),
    links: Object.freeze([...links.values()]),
    skipped: Object.freeze(skipped),
  });
}
