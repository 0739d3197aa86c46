/**
 * Shapes of values that come from outside: options of a program that uses us, requests of a client, files of ours that were read
 * back. A shape is closed: a member that it does not name is refused, since a misspelt `readonly` would be a grant. Pure.
 */
import type { Json } from './canonical-json.js';
import { ErrnoError, hasCode } from './errno.js';
import { isDeeperThan, JsonDepthError } from './json-depth.js';

/** Throws EINVAL where the value is not of this shape; `at` names it in the message. */
export type Shape = (value: unknown, at: string) => void;

export function refuseShape(at: string, expected: string, value: unknown, remedy?: string): never {
  throw new ErrnoError('EINVAL', { operation: at, reason: `expected ${expected}, got ${described(value)}`, remedy });
}

const shownCharacters = 40;

/** What it is, and never all of it: it may be long, or a secret. */
function described(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' || typeof value === 'bigint') return `the number ${value}`;
  if (typeof value === 'string') {
    return value.length > shownCharacters ? `a string of ${value.length} characters` : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && kindOf(value) !== 'Object'
    ? `an object of type ${kindOf(value)}`
    : `an ${typeof value}`;
}

const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice('[object '.length, -1);

/** A date, a map or a promise has no members of its own, and would pass for options that leave everything out. */
export function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && kindOf(value) === 'Object';
}

export const text: Shape = (value, at) => {
  if (typeof value !== 'string') refuseShape(at, 'a string', value);
};

/** A text that can be a path or a word of a command: the kernel ends it at a NUL. */
export const word: Shape = (value, at) => {
  text(value, at);
  if ((value as string).includes('\0')) refuseShape(at, 'a string without NUL', value);
};

export const flag: Shape = (value, at) => {
  if (typeof value !== 'boolean') refuseShape(at, 'true or false', value);
};

export const callback: Shape = (value, at) => {
  if (typeof value !== 'function') refuseShape(at, 'a function', value);
};

export const abortSignal: Shape = (value, at) => {
  if (!(value instanceof AbortSignal)) refuseShape(at, 'an AbortSignal', value);
};

export const bytes: Shape = (value, at) => {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) refuseShape(at, 'a string or a Uint8Array', value);
};

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): Shape {
  return (value, at) => {
    if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
      refuseShape(at, `a whole number from ${least} to ${most}`, value);
    }
  };
}

export function positive(most = Number.MAX_SAFE_INTEGER): Shape {
  return (value, at) => {
    if (typeof value !== 'number' || !(value > 0) || value > most) refuseShape(at, 'a number above 0', value);
  };
}

/** What a timer of Node's can wait for: beyond that it would fire at once. */
export const longestMilliseconds = 2 ** 31 - 1;

export const milliseconds: Shape = (value, at) => {
  if (typeof value !== 'number' || !(value >= 0) || value > longestMilliseconds) {
    refuseShape(at, `milliseconds from 0 to ${longestMilliseconds} (24 days)`, value);
  }
};

export function oneOf(...words: readonly string[]): Shape {
  return (value, at) => {
    if (!words.includes(value as string)) refuseShape(at, words.join(' or '), value);
  };
}

export function list(member: Shape): Shape {
  return (value, at) => {
    if (!Array.isArray(value)) refuseShape(at, 'an array', value);
    // Not forEach, which passes over what is missing.
    for (const [index, each] of Array.from(value as unknown[]).entries()) member(each, `${at}[${index}]`);
  };
}

export function optional(shape: Shape): Shape {
  return (value, at) => {
    if (value !== undefined) shape(value, at);
  };
}

/** `isFirst` says which of two a value is meant to be, so that the message is about that one. */
export function either(isFirst: (value: unknown) => boolean, first: Shape, second: Shape): Shape {
  return (value, at) => (isFirst(value) ? first : second)(value, at);
}

/** An object of exactly these members; those that may be left out are `optional`. A type's members have to be named all. */
export function closed<T>(members: { readonly [Name in keyof Required<T>]: Shape }): Shape {
  const names = Object.keys(members);
  return (value, at) => {
    if (!isRecord(value)) refuseShape(at, 'an object', value);
    const given = value as Record<string, unknown>;
    const unknown = Reflect.ownKeys(given).find((name) => typeof name === 'symbol' || !names.includes(name));
    if (unknown !== undefined) {
      const reason = `unknown member ${JSON.stringify(String(unknown).slice(0, shownCharacters))}`;
      throw new ErrnoError('EINVAL', { operation: at, reason, remedy: `valid members: ${names.join(', ')}` });
    }
    for (const [name, shape] of Object.entries(members) as [string, Shape][]) shape(given[name], `${at}.${name}`);
  };
}

/** A file of ours as it was read back: undefined where it is damaged, and not of this shape. */
export function ofShape<T>(value: unknown, shape: Shape): T | undefined {
  try {
    shape(value, 'file');
    return value as T;
  } catch (error) {
    if (hasCode(error, 'EINVAL')) return undefined;
    throw error;
  }
}

/** Deeper than anybody writes, and far from what exhausts a stack. */
const jsonLevels = 1_000;

/** The only place where JSON is parsed: what a text holds is known when it was looked at, and no sooner. Throws SyntaxError. */
export function parseJson(text: string): Json {
  if (isDeeperThan(text, jsonLevels)) throw new JsonDepthError(jsonLevels);
  return JSON.parse(text);
}

/** Undefined where the text is not JSON, or not of this shape. */
export function parsedAs<T>(text: string, shape: Shape): T | undefined {
  try {
    return ofShape<T>(parseJson(text), shape);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The members of an object, each to be looked at; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

export const anything: Shape = () => undefined;

export function nullable(shape: Shape): Shape {
  return (value, at) => {
    if (value !== null) shape(value, at);
  };
}

/** An object whose members have any names, and this shape. */
export function mapOf(member: Shape): Shape {
  return (value, at) => {
    if (!isRecord(value)) refuseShape(at, 'an object', value);
    for (const [name, each] of Object.entries(value as object)) member(each, `${at}.${name}`);
  };
}

/** An object with at least these members: others are another version's. */
export function having(members: Readonly<Record<string, Shape>>): Shape {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseShape(at, 'an object', value);
    for (const [name, shape] of Object.entries(members))
      shape((value as Record<string, unknown>)[name], `${at}.${name}`);
  };
}
