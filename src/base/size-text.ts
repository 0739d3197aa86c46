/** Sizes as people write them. Pure. */
import { ErrnoError } from './errno.js';

const sizeUnits: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** Bytes, above 0. */
export function parseSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([KMGT]?)$/i.exec(text);
  const bytes = Math.round(Number(match?.[1]) * (sizeUnits[(match?.[2] ?? '').toUpperCase()] ?? Number.NaN));
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new ErrnoError('EINVAL', { operation: 'size', reason: `expected a size such as 512M or 4G, got '${text}'` });
}

/** As a person would write it, and not rounded: what is shown to be confirmed is exactly what will hold. */
export function exactSize(bytes: number): string {
  const found = Object.entries(sizeUnits).findLast(([unit, size]) => unit !== '' && bytes % size === 0);
  return found === undefined ? `${bytes} bytes` : `${bytes / found[1]} ${found[0]}iB`;
}
