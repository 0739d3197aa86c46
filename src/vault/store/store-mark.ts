/**
 * An extended attribute at the top of the store (`native/flock.node`). Layers need theirs: an opaque mark hides what was deleted below
 * it. Where this one was lost in a copy so were those, and deleted files would be back.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { loadFlock } from '../../base/file-lock.js';

export interface StoreMark {
  /** False where the filesystem has no such attributes. */
  put(directory: string): boolean;
  isOn(directory: string): boolean;
  /**
   * A directory of the store may be in one that gives what is made in it rights of its own (a default ACL) or its group (setgid). Files of
   * commands would have these rights instead of their umask's, and bring them home; and a jail makes nothing of what has a group that
   * its user is not in by default.
   */
  disown(directory: string): void;
  /** The kernel's lock, for who migrates the store: 0, or an errno. */
  hold(descriptor: number, milliseconds: number): number;
}

export function loadStoreMark(library: string): StoreMark {
  const flock = loadFlock(library, 'open the store');
  const at = (directory: string, act: (descriptor: number) => number) => {
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return act(descriptor) === 0;
    } finally {
      closeSync(descriptor);
    }
  };
  return {
    put: (directory) => at(directory, flock.mark),
    isOn: (directory) => at(directory, flock.marked),
    disown: (directory) => void at(directory, flock.disown),
    hold: (descriptor, milliseconds) => flock.lock(descriptor, milliseconds),
  };
}
