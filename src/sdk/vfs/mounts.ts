/** Trees at directories of this machine, as `ctx vfs mount` and `ctx vfs unmount` have them. */
import { totalmem } from 'node:os';
import { type JailMount, serveJail, serveMount } from '../../fuse/served-mount.js';
import { unmount } from '../../fuse/unmount.js';
import { openEngine } from '../../vfs/open-engine.js';
import { parseSpecification } from '../../vfs/specification.js';
import type { TreePlace } from './trees.js';

export { mountPoint } from '../../fuse/mount.js';
export { unmount };

export interface Mounting extends TreePlace {
  readonly target: string;
  readonly writable: boolean;
  /** Path of `fuse.node`. */
  readonly library: string;
  readonly signal: AbortSignal;
  mounted(directory: string): void;
}

export interface JailMounting extends TreePlace, Omit<JailMount, 'specification' | 'open'> {}

/** EINVAL where the text is no tree. */
export function checkTreeText(place: Pick<TreePlace, 'specification' | 'directory'>): void {
  parseSpecification(place.specification, place.directory);
}

/** Serves it in this process, until it is unmounted or the signal aborts. */
export function mountTree({ target, specification, directory, lockLibrary, ...mounting }: Mounting): Promise<void> {
  const parsed = parseSpecification(specification, directory);
  const { writable } = mounting;
  return serveMount({
    ...mounting,
    specification: parsed,
    directory: target,
    open: () => openEngine(parsed, { writable, create: writable, lockLibrary }),
  });
}

/** Of this machine's memory that a tree in it may take, as of a jail's own /tmp. */
const memoryShare = 0.25;

/** Serves it in this process, to the jail at the other end of the channel, until that has ended. */
export function mountTreeInJail({ specification, directory, lockLibrary, ...mounting }: JailMounting): Promise<void> {
  const parsed = parseSpecification(specification, directory);
  const { writable } = mounting;
  const capacity = Math.floor(totalmem() * memoryShare);
  return serveJail({
    ...mounting,
    specification: parsed,
    open: () => openEngine(parsed, { writable, create: writable, capacity, lockLibrary }),
  });
}
