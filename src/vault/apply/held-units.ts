/**
 * What stays in the fork with a sensitive change. Half a package is worse than none: what is held back holds its whole unit, a
 * package that was installed, an environment or a repository that was made. Pure.
 */
import { addParents, belowAny } from '../tree/clashing.js';
import type { Change } from '../tree/tree.js';
import { isAtOrBelow } from './apply-plan.js';
import { packageOf } from './installed-packages.js';
import type { Sensitive } from './sensitive-changes.js';

export interface HeldUnit {
  /** The directory that stays behind whole. */
  readonly path: string;
  /** The sensitive changes in it. */
  readonly because: readonly string[];
}

export interface Holding {
  /** The sensitive changes that count. */
  readonly sensitive: readonly Sensitive[];
  /** Everything that stays in the fork because of them. */
  readonly withheld: ReadonlySet<string>;
  readonly units: readonly HeldUnit[];
}

/** Directories that were made as one: with the file that says so. */
function madeUnits(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(
    changes.flatMap(({ path, kind, type }) => {
      if (kind !== 'added') return [];
      if (type === 'file' && path.endsWith('/pyvenv.cfg')) return [path.slice(0, -'/pyvenv.cfg'.length)];
      return /(^|\/)\.git$/i.test(path) ? [path] : [];
    }),
  );
}

function unitOf(path: string, made: ReadonlySet<string>): string | undefined {
  const above = new Set<string>();
  addParents(path, above);
  // The outermost that was made as one; else the package.
  return [...above].reverse().find((each) => made.has(each)) ?? packageOf(path);
}

interface Asked {
  readonly allowSensitive?: boolean;
  /** Only these, and what is below them; all where it is undefined. */
  readonly only?: readonly string[] | undefined;
}

/** What is allowed, or not asked for, holds nothing. */
export function holdUnits(
  changes: readonly Change[],
  sensitive: readonly Sensitive[],
  { allowSensitive = false, only }: Asked = {},
): Holding {
  if (allowSensitive) return { sensitive, withheld: new Set(), units: [] };
  const isAsked = (path: string) => only === undefined || isAtOrBelow(path, only);
  const holding = sensitive.filter(({ path }) => isAsked(path));
  const made = madeUnits(changes);
  const units = new Map<string, string[]>();
  for (const { path } of holding) {
    const unit = unitOf(path, made);
    if (unit !== undefined) units.set(unit, [...(units.get(unit) ?? []), path]);
  }
  const withheld = new Set(holding.map(({ path }) => path));
  const isBelowUnit = belowAny(new Set(units.keys()));
  for (const { path } of changes) if (units.has(path) || isBelowUnit(path)) withheld.add(path);
  return { sensitive, withheld, units: [...units].map(([path, because]) => ({ path, because })) };
}

/** Whether all that was asked for is written. What stood for a process or for hardware is nothing to be missed. */
export function isComplete(
  changes: readonly Change[],
  { withheld }: Pick<Holding, 'withheld'>,
  leftOut: readonly Pick<Change, 'path'>[],
): boolean {
  const passing = new Set(changes.flatMap(({ path, type }) => (type === 'socket' || type === 'device' ? [path] : [])));
  return withheld.size === 0 && leftOut.every(({ path }) => passing.has(path));
}
