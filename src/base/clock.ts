/** The time, as every file of ours can hold it. */
import { ErrnoError } from './errno.js';

const lastYear = 9999;

/** Milliseconds that only go forward, for waiting. `performance` has them too, and is loaded when it is first named. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** EINVAL for a clock that is far off: a year of five digits is written in another form, which no reader of a record takes. */
export function writableTime(time: Date = new Date()): Date {
  const year = time.getUTCFullYear();
  if (year >= 0 && year <= lastYear) return time;
  throw new ErrnoError('EINVAL', {
    operation: 'read the clock',
    reason: `expected a year from 0 to ${lastYear}, got ${year}`,
    remedy: 'set the clock of this machine',
  });
}
