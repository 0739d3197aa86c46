/**
 * Canonical JSON: one text for one value, so that a digest of it means something. Keys sorted by code unit, no spaces,
 * `undefined` members left out; what JSON cannot say exactly (NaN, functions, cycles) is refused, never dropped.
 */
import { ErrnoError } from './errno.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

const maximumDepth = 64;

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'canonical-json', reason });
}

function write(value: unknown, depth: number): string {
  if (depth > maximumDepth) refuse(`expected at most ${maximumDepth} levels of nesting`);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(`expected a finite number, got ${value}`);
    return JSON.stringify(value);
  }
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object') return refuse(`expected a JSON value, got ${typeof value}`);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse('expected a plain object');
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${write(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

export function canonicalJson(value: Json): string {
  return write(value, 0);
}
