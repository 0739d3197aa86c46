/**
 * An extended attribute at the top of the store (`native/flock.node`). Layers need theirs: an opaque mark hides what was deleted below
 * it. Where this one was lost in a copy so were those, and deleted files would be back.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';

interface Library {
  /** 0 or an errno. */
  mark(descriptor: number): number;
  marked(descriptor: number): number;
  /** EAGAIN where another process still has it after so long. */
  lock(descriptor: number, milliseconds: number): number;
}

export interface StoreMark {
  /** False where the filesystem has no such attributes. */
  put(directory: string): boolean;
  isOn(directory: string): boolean;
  /** The kernel's lock, for who migrates the store: 0, or an errno. */
  hold(descriptor: number, milliseconds: number): number;
}

export function loadStoreMark(library: string): StoreMark {
  const module = { exports: {} as Library };
  try {
    process.dlopen(module, library);
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation: 'open the store',
      path: library,
      reason: 'the library that marks the store is missing',
      remedy: 'npm run setup -- start, in the checkout of ctxfs',
      cause,
    });
  }
  const at = (directory: string, act: (descriptor: number) => number) => {
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return act(descriptor) === 0;
    } finally {
      closeSync(descriptor);
    }
  };
  return {
    put: (directory) => at(directory, module.exports.mark),
    isOn: (directory) => at(directory, module.exports.marked),
    hold: (descriptor, milliseconds) => module.exports.lock(descriptor, milliseconds),
  };
}
