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
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object') return refuse(`expected a JSON value, got ${typeof value}`);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse('expected a plain object');
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

/** A string that mostly stands for itself: JSON.stringify costs more than the look. */
export function quoted(text: string): string {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(text);
  }
  return `"${text}"`;
}

/**
 * What is canonical as it is: all plain, all defined, keys in order. Undefined where it is not, and `write` says or
 * sorts it.
 */
function asItStands(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || depth > maximumDepth) return undefined;
  let text = '';
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item = asItStands(value[index], depth + 1);
      if (item === undefined) return undefined;
      text += index === 0 ? item : `,${item}`;
    }
    return `[${text}]`;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && key <= before) return undefined;
    const member = asItStands((value as Readonly<Record<string, unknown>>)[key], depth + 1);
    if (member === undefined) return undefined;
    text += `${before === undefined ? '' : ','}${quoted(key)}:${member}`;
    before = key;
  }
  return `{${text}}`;
}

function canonical(value: unknown, depth: number): string {
  return asItStands(value, depth) ?? write(value, depth);
}

export function canonicalJson(value: Json): string {
  return canonical(value, 0);
}
