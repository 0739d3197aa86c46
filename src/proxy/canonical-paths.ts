/**
 * Paths as people and files name them, made canonical once, as the kernel would: `a/link/..` is the parent of where the
 * link leads. Whatever compares or mounts paths afterwards takes what comes out of here.
 */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import type { Link } from '../jail/plan.js';

export interface CanonicalPaths {
  readonly paths: readonly string[];
  /** The links that the names led through, so that the same names work in a jail. They grant nothing. */
  readonly links: readonly Link[];
  /** As they were given: missing, or not ours to see. */
  readonly skipped: readonly string[];
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES');
}

/** Undefined where nothing stands there that we may see. */
export function canonicalPath(path: string): string | undefined {
  try {
    // Most of what is asked for is not there, and an exception costs more than a look.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    // Not Node's own walk: that one takes `..` off the text before it looks at links.
    return realpathSync.native(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw fromSystemError(error, 'resolve the path', path);
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (isMissing(error) || hasCode(error, 'EINVAL')) return undefined;
    throw fromSystemError(error, 'readlink', path);
  }
}

/** As many as the kernel follows. */
const mostLinks = 40;

/**
 * The canonical path of what exists, and below it the rest as it was written; for files that are yet to be made. A link
 * that leads to nothing is followed too: writing to it makes what it leads to.
 */
export function canonicalAncestor(path: string, links = 0): string {
  if (links > mostLinks) {
    throw new ErrnoError('ELOOP', { operation: 'resolve the path', path, reason: 'it leads through too many links' });
  }
  let rest = '';
  for (let at = path; ; at = posix.dirname(at)) {
    const found = canonicalPath(at);
    if (found !== undefined) return rest === '' ? found : posix.join(found, rest);
    const target = linkTarget(at);
    if (target !== undefined) {
      const directory = canonicalPath(posix.dirname(at)) ?? posix.dirname(at);
      return canonicalAncestor(`${absolutePath(target, directory)}${rest === '' ? '' : `/${rest}`}`, links + 1);
    }
    if (at === '/') return path;
    rest = posix.join(posix.basename(at), rest);
  }
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
 * A link says where to go in the name of whoever made it: another user's may only lead to what is theirs, or root's ctx would
 * read and write for them where they may not. As the kernel's `protected_symlinks`, everywhere.
 */
export function refuseForeignLinks(path: string, uid: number): void {
  for (const { path: named, target } of linksOn(path)) {
    const { uid: maker } = lstatSync(named);
    if (maker === 0 || maker === uid || lstatSync(target, { throwIfNoEntry: false })?.uid === maker) continue;
    throw new ErrnoError('EACCES', {
      operation: 'resolve the path',
      path: named,
      reason: `this link of another user (uid ${maker}) leads to a place that is not theirs`,
      remedy: `name the place itself, if it is meant: ${target}`,
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
