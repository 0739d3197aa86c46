/** A time as people write it: a day, a time of a day in UTC, or how long ago. Pure. */
import { ErrnoError } from '../../base/errno.js';
import { timeText } from '../../base/time-text.js';

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseWhen(text: string, now: Date): string {
  const ago = /^(\d{1,9})([smhd])$/.exec(text);
  if (ago !== null) return timeText(now.getTime() - Number(ago[1]) * (units[ago[2] ?? ''] ?? 0));
  const written = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z?)?$/.test(text);
  const date = new Date(/T.*[^Z]$/.test(text) ? `${text}Z` : text);
  // Of a day that a month has not, Date makes one of the next month.
  const isThere = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10));
  if (!written || !isThere) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit',
      reason: `expected a time such as 2026-01-31, 2026-01-31T12:00 (UTC) or 2h, got '${text}'`,
    });
  }
  return date.toISOString();
}
