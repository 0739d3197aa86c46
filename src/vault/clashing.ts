/** Which paths meet: two sides that changed one path, or a path and what holds it. Pure. */

function* parentsOf(path: string): Iterable<string> {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    yield path.slice(0, slash);
}

/**
 * Adds the directories that hold a path. Each is added with all of its own, so the first that is there ends it: a tree of
 * thousands of levels, which an agent can make, would cost its depth to the third power otherwise.
 */
export function addParents(path: string, directories: Set<string>): void {
  for (const parent of parentsOf(path)) {
    if (directories.has(parent)) return;
    directories.add(parent);
  }
}

/** Whether something above a path is in the set. Answers are kept by directory, for the same reason. */
export function belowAny(changed: ReadonlySet<string>): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    const passed: string[] = [];
    let found = false;
    for (const parent of parentsOf(path)) {
      const before = known.get(parent);
      found = before ?? changed.has(parent);
      if (before !== undefined) break;
      passed.push(parent);
      if (found) break;
    }
    for (const parent of passed) known.set(parent, found);
    return found;
  };
}

/** A path clashes with a change at it, above it or below it. The cost follows the paths' lengths, not their number squared. */
export function clashing(entered: readonly string[], changes: readonly { readonly path: string }[]): string[] {
  const changed = new Set(changes.map(({ path }) => path));
  const holding = new Set<string>();
  for (const path of changed) addParents(path, holding);
  const isBelow = belowAny(changed);
  return entered.filter((path) => changed.has(path) || holding.has(path) || isBelow(path));
}
