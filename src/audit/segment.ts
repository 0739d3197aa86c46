/** How lines are added to the file of a segment: whole, or not at all. */
import { fdatasyncSync, ftruncateSync, writeSync } from 'node:fs';
import { ErrnoError, isFull } from '../base/errno.js';

export interface SegmentEnd {
  readonly descriptor: number;
  /** Where the lines begin: what is longer than this is taken back. */
  readonly size: number;
  /** For the words of an error. */
  readonly directory: string;
}

export function appendLines(segment: SegmentEnd, bytes: Buffer): void {
  let written = 0;
  try {
    while (written < bytes.length) {
      const more = writeSync(segment.descriptor, bytes, written);
      if (more === 0) break;
      written += more;
    }
  } catch (error) {
    if (written > 0) takeBack(segment);
    if (!isFull(error)) throw error;
    throw new ErrnoError('ENOSPC', {
      operation: 'record',
      path: segment.directory,
      reason: `expected to write ${bytes.length} bytes, wrote ${written}`,
      remedy: 'make room on the filesystem of the store, for example: ctx drop',
      cause: error,
    });
  }
}

/**
 * What could not be made durable is taken back: it may be written again, and a record that is there twice breaks the
 * chain.
 */
export function makeDurable(segment: SegmentEnd): void {
  try {
    fdatasyncSync(segment.descriptor);
  } catch (error) {
    takeBack(segment);
    throw error;
  }
}

/** Where even that fails it is not to be tried again: the next look finds where the chain ends. */
function takeBack({ descriptor, size, directory }: SegmentEnd): void {
  try {
    ftruncateSync(descriptor, size);
  } catch (cause) {
    const reason = 'a partly written record could not be removed';
    throw new ErrnoError('EIO', { operation: 'record', path: directory, reason, cause });
  }
}
