/** What is in the way where a fork's changes are written onto a directory that the fork is not of. Pure. */
import { addParents, belowAny } from '../tree/clashing.js';
import { endsDirectory } from '../tree/staying.js';
import type { Change, EntryType, Problem, Step } from '../tree/tree.js';

/** What the directory holds, by path. */
export type Held = ReadonlyMap<string, EntryType>;

/** Directories the changes need that are not there, from the top down; `blocked` are those with something else in their place. */
function parentsWithout(paths: readonly string[], held: Held): { missing: string[]; blocked: string[] } {
  const parents = new Set<string>();
  for (const path of paths) addParents(path, parents);
  const missing = [...parents].filter((path) => held.get(path) !== 'directory').sort((a, b) => a.length - b.length);
  return { missing, blocked: missing.filter((path) => held.has(path)) };
}

const putPaths = (changes: readonly Change[]) =>
  changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);

/** Entries the fork knows nothing of, below a directory that it removes or replaces: never ours to delete. */
export function strangersBelow(changes: readonly Change[], held: Held): readonly string[] {
  const known = new Set(changes.map(({ path }) => path));
  const isBelow = belowAny(new Set(changes.filter(endsDirectory).map(({ path }) => path)));
  return [...held.keys()].filter((path) => !known.has(path) && isBelow(path));
}

/** Further clashes beside the changed paths at which the directory is not what the trunk had. */
export function obstacles(changes: readonly Change[], held: Held): readonly string[] {
  const changed = new Set(changes.map(({ path }) => path));
  const { blocked } = parentsWithout(putPaths(changes), held);
  return [...strangersBelow(changes, held), ...blocked.filter((path) => !changed.has(path))];
}

/** The steps, with the directories they need, and without those that would take a stranger along. */
export function fitSteps(
  steps: readonly Step[],
  changes: readonly Change[],
  held: Held,
): { readonly steps: readonly Step[]; readonly leftOut: readonly Problem[] } {
  const keeping = new Set<string>();
  for (const path of strangersBelow(changes, held)) addParents(path, keeping);
  const ending = new Set(changes.filter(endsDirectory).map(({ path }) => path));
  const stays = ({ path }: Step) => keeping.has(path) && ending.has(path);
  const fitting = steps.filter((step) => !stays(step));
  const removals = fitting.filter(({ action }) => action === 'remove');
  const puts = fitting.filter(({ action }) => action === 'put');
  const putting = new Set(puts.map(({ path }) => path));
  // Those that the fork made itself are put in their turn.
  const missing = parentsWithout([...putting], held).missing.filter((path) => !putting.has(path));
  return {
    steps: [...removals, ...missing.map((path): Step => ({ action: 'put', path })), ...puts],
    leftOut: steps.filter(stays).map(({ path }) => ({
      path,
      code: 'ENOTEMPTY',
      reason: 'the directory holds files that the fork does not know',
    })),
  };
}
