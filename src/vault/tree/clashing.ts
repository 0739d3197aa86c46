/** Which changes meet: two sides that changed one path, or a path and whether its directory is there. Pure. */
import type { Change } from './tree.js';

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

/** A directory that was one before and stays one: whatever it gets, what is in it is not touched. */
export const keepsDirectory = ({ kind, type, content }: Change): boolean =>
  type === 'directory' && kind === 'modified' && !content;

const pathsOf = (changes: readonly Change[]) => new Set(changes.map(({ path }) => path));

/**
 * Of the person's edits, those that a fork's change meets: at the path, or above it where the change decides whether the
 * path's directory is there. What the fork changed below an edit meets it only where the fork changed that path as well:
 * otherwise both have the same directory there. The cost follows the paths' lengths, not their number squared.
 */
export function clashing(entered: readonly string[], changes: readonly Change[]): string[] {
  const changed = pathsOf(changes);
  const isBelow = belowAny(pathsOf(changes.filter((change) => !keepsDirectory(change))));
  return entered.filter((path) => changed.has(path) || isBelow(path));
}

/** The changes that cannot be written without a decision of `open` clashes: those at them, and those that need them or end them. */
export function inConflict(changes: readonly Change[], open: readonly string[]): readonly Change[] {
  if (open.length === 0) return [];
  const undecided = new Set(open);
  const holding = new Set<string>();
  for (const path of undecided) addParents(path, holding);
  const kept = pathsOf(changes.filter(keepsDirectory));
  const isBelow = belowAny(new Set(open.filter((path) => !kept.has(path))));
  return changes.filter(({ path }) => undecided.has(path) || isBelow(path) || (holding.has(path) && !kept.has(path)));
}
