/**
 * How far to read ahead in a remote file. Each part is a request, and the next one would wait for it: a file that is read in order is
 * asked for in several parts at once. One of which only the beginning is wanted costs one part. Pure.
 */
import { remoteBlockBytes, remotePartsAhead } from '../../../base/limits/trees.js';

/** The reading of one file so far. */
export interface Reading {
  /** Where it goes on, if it does. */
  readonly next: number;
  /** Parts behind the last one that are wanted now. */
  readonly ahead: number;
}

/** After a read. The kernel asks for neighbouring pieces at the same time, in any order. */
export function readOn(before: Reading | undefined, offset: number, end: number): Reading {
  const goesOn = before === undefined ? offset === 0 : Math.abs(offset - before.next) <= remoteBlockBytes;
  if (!goesOn) return { next: end, ahead: 0 };
  const { next, ahead } = before ?? { next: 0, ahead: 0 };
  const isPastMiddle = end - offset >= remoteBlockBytes || end % remoteBlockBytes >= remoteBlockBytes / 2;
  const more = isPastMiddle ? Math.min(Math.max(1, 2 * ahead), remotePartsAhead) : ahead;
  return { next: Math.max(next, end), ahead: more };
}
