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

/** Whether JSON.stringify, which is several times as quick, writes the same: all plain, all defined, keys in order. */
function isInOrder(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > maximumDepth) return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) if (!isInOrder(value[index], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && key <= before) return false;
    before = key;
    if (key === 'toJSON' || !isInOrder((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
  }
  return true;
}

export function canonicalJson(value: Json): string {
  return isInOrder(value, 0) ? JSON.stringify(value) : write(value, 0);
}
