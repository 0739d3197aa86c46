/** Values that cannot change after they were decided upon. Class instances freeze themselves; they are left alone. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFrozen(member);
  return value;
}

/** Sorted by code unit, each once: one order on every host, whatever its locale. */
export function sortedUnique(texts: Iterable<string>): readonly string[] {
  return Object.freeze([...new Set(texts)].sort());
}

export function sortedUniqueNumbers(numbers: Iterable<number>): readonly number[] {
  return Object.freeze([...new Set(numbers)].sort((a, b) => a - b));
}
