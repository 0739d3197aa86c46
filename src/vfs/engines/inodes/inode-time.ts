/** The clock of trees that keep times themselves. */
import type { Time } from '../../filesystem.js';

/** Milliseconds, as fine as the clock that the kernel stamps files with. */
export function now(): Time {
  return BigInt(Date.now()) * 1_000_000n;
}
