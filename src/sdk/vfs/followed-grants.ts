/**
 * Grants in a file, as they are at each time: the file is looked at again and again, since an editor replaces it. Where it is gone or
 * wrong, nothing is granted until it is right again.
 */
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { grantsFileBytes, grantsLookMilliseconds, refusalsToldApart } from '../../base/limits/trees.js';
import { readSmallFile } from '../../base/small-file.js';
import { parseGrants } from '../../guard/grants-file.js';
import { Guard, type VfsGrants } from '../../guard/guard.js';
import { type CountedRefusal, RefusalCounter } from '../../guard/refusal-counter.js';

export interface FollowedGrants {
  readonly guard: Guard;
  end(): void;
}

/** ENOENT EINVAL where it is not there or wrong to begin with. `refused` is told soon. */
export function followGrants(path: string, refused: (refusal: CountedRefusal) => void): FollowedGrants {
  let text = readGrants(path);
  const counter = new RefusalCounter(refusalsToldApart);
  const guard = new Guard(parseGrants(text, path), (refusal) => counter.add(refusal));
  const tell = () => {
    for (const refusal of counter.take()) refused(refusal);
  };
  let changing = false;
  const look = async () => {
    if (changing) return;
    const now = readOrNothing(path);
    if (now === text) return;
    text = now;
    changing = true;
    try {
      await guard.grant(grantsOf(now, path));
    } finally {
      changing = false;
    }
  };
  const timer = setInterval(() => {
    tell();
    void look();
  }, grantsLookMilliseconds);
  const end = () => {
    clearInterval(timer);
    tell();
  };
  return { guard, end };
}

/** ENOENT EINVAL */
export function checkGrantsFile(path: string): void {
  parseGrants(readGrants(path), path);
}

function readGrants(path: string): string {
  try {
    return readSmallFile(path, grantsFileBytes);
  } catch (error) {
    throw fromSystemError(error, 'read grants', path);
  }
}

function readOrNothing(path: string): string {
  try {
    return readSmallFile(path, grantsFileBytes);
  } catch {
    return '';
  }
}

function grantsOf(text: string, path: string): VfsGrants {
  try {
    return parseGrants(text, path);
  } catch (error) {
    if (error instanceof ErrnoError) return {};
    throw error;
  }
}
