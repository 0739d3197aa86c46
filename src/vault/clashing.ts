/** Which paths meet: two sides that changed one path, or a path and what holds it. Pure. */

export function* parentsOf(path: string): Iterable<string> {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    yield path.slice(0, slash);
}

/** A path clashes with a change at it, above it or below it. The cost follows the paths' depth, not their number squared. */
export function clashing(entered: readonly string[], changes: readonly { readonly path: string }[]): string[] {
  const changed = new Set(changes.map(({ path }) => path));
  const withParents = new Set(changes.flatMap(({ path }) => [...parentsOf(path)]));
  return entered.filter(
    (path) => changed.has(path) || withParents.has(path) || [...parentsOf(path)].some((parent) => changed.has(parent)),
  );
}
