/**
 * A root is a directory, not a name: the vault knows each by device and inode, and every job of `native/tree` that names one is
 * held to it. Another directory, a link or an empty mount point in its place is ESTALE until the person confirms it.
 */

import { currentBoot } from '../../base/boot.js';
import { type InodeIdentity, identityOf, isIdentity } from '../../base/directory-identity.js';
import { ErrnoError } from '../../base/errno.js';
import type { Tree } from '../tree/tree.js';

/** Disks get other device numbers when the machine starts again: until then the device counts, too. */
export interface KnownRoot {
  readonly is: InodeIdentity;
  readonly boot: string;
}

export type KnownRoots = Readonly<Record<string, KnownRoot>>;

type Roots = Readonly<Record<string, string>>;

export function isKnownRoots(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => isIdentity(each?.is) && typeof each?.boot === 'string');
}

const inodeOf = (identity: InodeIdentity) => identity.slice(identity.indexOf(':') + 1);

/** Without a device of its own a filesystem gets a number at each mount: overlay, tmpfs, btrfs, NFS. */
function isAnonymous(identity: InodeIdentity): boolean {
  const device = BigInt(identity.slice(0, identity.indexOf(':')));
  return (((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)) === 0n;
}

/** Pure. What counts as the root from now on. */
export function settledRoot(known: KnownRoot | undefined, found: InodeIdentity, boot: string): KnownRoot {
  const isRenumbered =
    known !== undefined &&
    inodeOf(known.is) === inodeOf(found) &&
    (known.boot !== boot || (isAnonymous(known.is) && isAnonymous(found)));
  return known === undefined || isRenumbered ? { is: found, boot } : known;
}

/** Whether a directory is still the one that was known. Pure. */
export function isStillRoot(known: KnownRoot, found: InodeIdentity, boot: string): boolean {
  return settledRoot(known, found, boot).is === found;
}

/** Nothing to look at: the number can only be another one for another directory. */
const isSettled = (known: KnownRoot) => known.boot === currentBoot() && !isAnonymous(known.is);

/** Looks at a directory that is about to become a root, and holds all that follows to it. */
export function knowRoot(tree: Tree, path: string): KnownRoot {
  const is = identityOf(path);
  tree.know(path, is);
  return { is, boot: currentBoot() };
}

/** Holds every job to the roots. The answer is what a store without them, or of an earlier start of the machine, has to record. */
export function knowRoots(tree: Tree, roots: Roots, known: KnownRoots = {}): KnownRoots | undefined {
  const settled: Record<string, KnownRoot> = { ...known };
  let isNews = false;
  for (const [key, path] of Object.entries(roots)) {
    const before = known[key];
    const now = before !== undefined && isSettled(before) ? before : lookedAt(before, path);
    if (now === undefined) continue;
    tree.know(path, now.is);
    settled[key] = now;
    isNews ||= now.is !== before?.is || now.boot !== before.boot;
  }
  return isNews ? settled : undefined;
}

/** A directory that is not there now stays what it was. */
function lookedAt(before: KnownRoot | undefined, path: string): KnownRoot | undefined {
  try {
    return settledRoot(before, identityOf(path), currentBoot());
  } catch (error) {
    if (error instanceof ErrnoError) return before;
    throw error;
  }
}

/** The directories that are there now, confirmed by the person. */
export function confirmedRoots(roots: Roots): KnownRoots {
  const boot = currentBoot();
  return Object.fromEntries(
    Object.entries(roots).map(([key, path]) => [key, { is: identityOf(path, 'ctx vault set --moved'), boot }]),
  );
}
