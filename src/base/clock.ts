/** The time, as every file of ours can hold it, and waiting for it. */
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

/** The longest that a timer of Node can be, 24.8 days: one that is longer fires at once. */
const longestTimer = 2 ** 31 - 1;

/** Runs it after so many milliseconds, however many they are; what is returned takes that back. */
export function after(milliseconds: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (left: number) => {
    const now = Math.min(left, longestTimer);
    timer = setTimeout(() => (left > now ? wait(left - now) : run()), now);
  };
  wait(milliseconds);
  return () => clearTimeout(timer);
}
