/** What a fork changes: in what the person has, since a checkpoint, by the last command alone. It must not be mounted. */
import { clashing } from './clashing.js';
import type { Stack } from './fork-meta.js';
import { treesOf } from './layer-pool.js';
import { pathWithin, shownPath } from './root-paths.js';
import type { Change, Content } from './tree.js';
import { isLiveTouched, type OpenFork } from './vault.js';

/** Changes by root, each path relative to its root. */
export type RootChanges = ReadonlyMap<string, readonly Change[]>;

/** Layers on both sides of a comparison, oldest first. */
interface Sides {
  readonly uppers: readonly string[];
  readonly lowers: readonly string[];
  /** Nothing is common: both sides are whole stacks. */
  readonly whole: boolean;
}

function startsWith(list: readonly string[], start: readonly string[]): boolean {
  return start.every((name, index) => list[index] === name);
}

/**
 * Since a moment of this fork: what the deltas above it changed. Where they have been merged since then, the two stacks are
 * compared in full, and edits of the person between the two show as well.
 */
function sidesSince({ meta }: OpenFork, since: Stack): Sides {
  if (startsWith(meta.deltas, since.deltas)) {
    const uppers = [...meta.deltas.slice(since.deltas.length), meta.live];
    return { uppers, lowers: [...meta.base, ...since.deltas], whole: false };
  }
  const uppers = [...meta.base, ...meta.deltas, meta.live];
  return { uppers, lowers: [...since.base, ...since.deltas], whole: true };
}

function allSides({ meta }: OpenFork): Sides {
  return { uppers: [...meta.deltas, meta.live], lowers: meta.base, whole: false };
}

/** Of the live layer alone: what was written since the last checkpoint. */
function liveSides({ meta }: OpenFork): Sides {
  return { uppers: [meta.live], lowers: [...meta.base, ...meta.deltas], whole: false };
}

/** A root that came after the moment is held against the trunk: how it was then, nobody knows. */
function sidesOfRoot(fork: OpenFork, sides: Sides, key: string): Sides {
  return sides.whole && treesOf(fork.paths, sides.lowers, key).length === 0 ? allSides(fork) : sides;
}

async function changesOf(fork: OpenFork, sides: Sides): Promise<RootChanges> {
  const { paths, tree, vault } = fork;
  const found = Object.keys(vault.roots).map(async (key): Promise<readonly [string, readonly Change[]]> => {
    const { uppers, lowers, whole } = sidesOfRoot(fork, sides, key);
    const above = treesOf(paths, uppers, key);
    if (above.length === 0) return [key, []];
    return [key, await tree.diff({ uppers: above, lowers: treesOf(paths, lowers, key), whole })];
  });
  return new Map(await Promise.all(found));
}

/** One list for people: paths of the workspace as they are in it, those of other roots in full. */
export function shownChanges({ vault }: OpenFork, changes: RootChanges): readonly Change[] {
  return [...changes].flatMap(([key, list]) =>
    list.map((change) => {
      const path = shownPath(vault.roots, key, change.path);
      return path === change.path ? change : { ...change, path };
    }),
  );
}

/** Every difference between the fork and the trunk it stands on; or since a moment of the fork. */
export async function forkChangesByRoot(fork: OpenFork, since?: Stack): Promise<RootChanges> {
  return changesOf(fork, since === undefined ? allSides(fork) : sidesSince(fork, since));
}

export async function forkChanges(fork: OpenFork, since?: Stack): Promise<readonly Change[]> {
  return shownChanges(fork, await forkChangesByRoot(fork, since));
}

/**
 * Of the clashes that were met, those that still are: where the fork no longer shows anything else than the person has, by a
 * rollback, a command or an edit of theirs, there is nothing left to choose between.
 */
export async function standingClashes(fork: OpenFork): Promise<readonly string[]> {
  const { meta, vault } = fork;
  if (meta.clashes.length === 0) return [];
  const standing = [...(await forkChangesByRoot(fork))].flatMap(([key, changes]) => {
    const met = meta.clashes.flatMap((path) => pathWithin(vault.roots, key, path) ?? []);
    return clashing(met, changes).map((path) => shownPath(vault.roots, key, path));
  });
  const found = new Set(standing);
  return meta.clashes.filter((path) => found.has(path));
}

/** A path that one command made, changed, deleted, or put back as the person has it. */
export type CommandChange = Change | (Omit<Change, 'kind'> & { readonly kind: 'restored' });

/** What was done since a moment, told with what is different from the trunk after it. Pure. */
export function commandChanges(done: readonly Change[], pending: readonly Change[]): readonly CommandChange[] {
  const different = new Set(pending.map(({ path }) => path));
  return done.map((change) => (different.has(change.path) ? change : { ...change, kind: 'restored' as const }));
}

export interface CommandReport {
  readonly changes: readonly CommandChange[];
  /** Everything that is different from the trunk. */
  readonly pending: readonly Change[];
}

/** What the command since the last checkpoint did. One that wrote nothing is known by that, without a look at the layers. */
export async function reportOf(fork: OpenFork, touched = isLiveTouched(fork)): Promise<CommandReport> {
  if (!touched) {
    const pending = fork.meta.deltas.length === 0 ? [] : await forkChanges(fork);
    return { changes: [], pending };
  }
  const shown = async (sides: Sides) => shownChanges(fork, await changesOf(fork, sides));
  const all = shown(allSides(fork));
  // The first command since the fork was made has done all that is different.
  if (fork.meta.deltas.length === 0) return { changes: await all, pending: await all };
  const [pending, done] = await Promise.all([all, shown(liveSides(fork))]);
  return { changes: commandChanges(done, pending), pending };
}

export interface TextChange {
  readonly change: Change;
  readonly before: Content;
  readonly after: Content;
}

/** The contents on both sides of each change, in their order. */
export async function readChanges(
  fork: OpenFork,
  changes: readonly Change[],
  since?: Stack,
): Promise<readonly TextChange[]> {
  const { paths, tree, vault } = fork;
  const sides = since === undefined ? allSides(fork) : sidesSince(fork, since);
  const nothing: Content = { type: 'missing', bytes: Buffer.alloc(0) };
  const texts = new Map<Change, TextChange>();
  for (const key of Object.keys(vault.roots)) {
    const own = changes.flatMap((change) => {
      const path = pathWithin(vault.roots, key, change.path);
      return path === undefined ? [] : [{ change, path }];
    });
    if (own.length === 0) continue;
    const wanted = own.map(({ path }) => path);
    const ofRoot = sidesOfRoot(fork, sides, key);
    const lowers = treesOf(paths, ofRoot.lowers, key);
    const stack = [...treesOf(paths, ofRoot.uppers, key), ...(ofRoot.whole ? [] : lowers)];
    const before = lowers.length === 0 ? [] : await tree.read({ layers: lowers, paths: wanted });
    const after = await tree.read({ layers: stack, paths: wanted });
    own.forEach(({ change }, index) => {
      texts.set(change, { change, before: before[index] ?? nothing, after: after[index] ?? nothing });
    });
  }
  return changes.flatMap((change) => texts.get(change) ?? []);
}
