/**
 * Quota and lifetime: how much, how long, how often. In a value, a member left out means "no limit of ours"; in a
 * child's request it means "as my parent", so leaving one out never widens anything.
 */
import { refuse } from './syntax.js';

export interface Quota {
  /** Processors; fractions allowed. */
  readonly cpu?: number;
  /** Bytes. */
  readonly memory?: number;
  /** Processes and threads at one time. */
  readonly pids?: number;
  /** Bytes on disk of the fork and its private home. */
  readonly disk?: number;
  /** Files, directories and links of the same. */
  readonly inodes?: number;
  /** Milliseconds of one command. */
  readonly wallTime?: number;
}

export interface Lifetime {
  /** Milliseconds since 1970; refused at and after it. */
  readonly expiresAt?: number;
  /** Decisions it is good for. Code that counts also counts a child's uses against its parent. */
  readonly uses?: number;
}

export const quotaFields = Object.freeze(['cpu', 'memory', 'pids', 'disk', 'inodes', 'wallTime'] as const);
export type QuotaField = (typeof quotaFields)[number];
export const lifetimeFields = Object.freeze(['expiresAt', 'uses'] as const);
export type LifetimeField = (typeof lifetimeFields)[number];

function checkedNumbers<Field extends string>(
  operation: string,
  fields: readonly Field[],
  valid: (field: Field, value: number) => boolean,
  values: Readonly<Partial<Record<Field, number>>>,
): Readonly<Partial<Record<Field, number>>> {
  const surplus = Object.keys(values).find((key) => !fields.some((field) => field === key));
  if (surplus !== undefined) refuse(operation, `expected members ${fields.join(', ')}, got ${surplus}`);
  const checked: Partial<Record<Field, number>> = {};
  for (const field of fields) {
    const value = values[field];
    if (value === undefined) continue;
    if (!valid(field, value)) refuse(operation, `${field}: expected a positive number, got ${String(value)}`);
    checked[field] = value;
  }
  return Object.freeze(checked);
}

export function makeQuota(quota: Quota): Quota {
  const valid = (field: QuotaField, value: number) =>
    field === 'cpu' ? Number.isFinite(value) && value > 0 : Number.isSafeInteger(value) && value > 0;
  return checkedNumbers('quota', quotaFields, valid, quota);
}

export function makeLifetime(lifetime: Lifetime): Lifetime {
  const valid = (_field: LifetimeField, value: number) => Number.isSafeInteger(value) && value >= 0;
  return checkedNumbers('lifetime', lifetimeFields, valid, lifetime);
}

export interface NumberExcess<Field> {
  readonly field: Field;
  readonly asked: number;
  readonly held: number;
}

/** What a request asks for beyond what the parent holds; a member left out asks for nothing. */
export function numberExcess<Field extends string>(
  fields: readonly Field[],
  asked: Readonly<Partial<Record<Field, number>>>,
  held: Readonly<Partial<Record<Field, number>>>,
): readonly NumberExcess<Field>[] {
  return fields.flatMap((field) => {
    const wanted = asked[field];
    const limit = held[field];
    return wanted === undefined || limit === undefined || wanted <= limit
      ? []
      : [{ field, asked: wanted, held: limit }];
  });
}

/** Why an Authority is no longer good, or undefined while it is. */
export function lifetimeFault(lifetime: Lifetime, now: number, used: number): 'expired' | 'used up' | undefined {
  // Written so that a NaN clock or counter refuses.
  if (lifetime.expiresAt !== undefined && !(now < lifetime.expiresAt)) return 'expired';
  if (lifetime.uses !== undefined && !(used < lifetime.uses)) return 'used up';
  return undefined;
}
