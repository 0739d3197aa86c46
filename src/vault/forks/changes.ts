/** What a fork changes: in what the person has, since a checkpoint, by the last command alone. It must not be mounted. */
import { listedChanges } from '../../base/limits/store.js';
import { isLiveTouched } from '../fork-trees.js';
import { refreshedIndexes } from '../git/refreshed-indexes.js';
import type { Stack } from '../store/fork-meta.js';
import { treesOf } from '../store/layer-pool.js';
import { pathWithin, shownPath, topPath } from '../store/root-paths.js';
import { belowAny, clashing } from '../tree/clashing.js';
import { type Folding, TreeFolder } from '../tree/fold-trees.js';
import type { Change, FileTime, FoldedChange, TreeContent, TreeReadOptions } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';

/** Changes by root, each path relative to its root. */
export type RootChanges = ReadonlyMap<string, readonly Change[]>;

export type FoldedChanges = ReadonlyMap<string, readonly FoldedChange[]>;

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
 * Since a checkpoint of this fork: what the deltas above it changed. Where they have been merged since then, the two
 * stacks are compared in full, and edits of the person between the two show as well.
 */
function sidesSince({ meta }: OpenFork, since: Stack): Sides {
  if (startsWith(meta.deltas, since.deltas)) {
    const uppers = [...meta.deltas.slice(since.deltas.length), meta.live];
    return { uppers, lowers: [...meta.base, ...since.deltas], whole: false };
  }
  const uppers = [...meta.base, ...meta.deltas, meta.live];
  return { uppers, lowers: [...since.base, ...since.deltas], whole: true };
}

/** Whether more is among the changes since a checkpoint than what the fork did: edits of the person between the two. */
export function isComparedInFull({ meta }: OpenFork, since: Stack): boolean {
  return !startsWith(meta.deltas, since.deltas);
}

function allSides({ meta }: OpenFork): Sides {
  return { uppers: [...meta.deltas, meta.live], lowers: meta.base, whole: false };
}

/** Of the live layer alone: what was written since the last checkpoint. */
function liveSides({ meta }: OpenFork): Sides {
  return { uppers: [meta.live], lowers: [...meta.base, ...meta.deltas], whole: false };
}

/** A root that came after the checkpoint is held against the trunk: how it was then, no one knows. */
function sidesOfRoot(fork: OpenFork, sides: Sides, key: string): Sides {
  return sides.whole && treesOf(fork.paths, sides.lowers, key).length === 0 ? allSides(fork) : sides;
}

/** How much of a list is wanted: for a report, entries up to a number, and shown paths that it is about. */
interface Part {
  readonly entries?: number | undefined;
  readonly about?: readonly string[] | undefined;
}

const forReport: Part = { entries: listedChanges };

/** Undefined where all of a root is meant. */
function underOf({ vault }: OpenFork, key: string, about: readonly string[] = []): readonly string[] | undefined {
  const within = about.flatMap((path) => pathWithin(vault.roots, key, path) ?? []);
  return within.length < about.length || within.includes(topPath) ? undefined : within;
}

async function changesOf(fork: OpenFork, sides: Sides, { entries, about }: Part): Promise<RootChanges> {
  const { paths, tree, vault } = fork;
  const found = Object.keys(vault.roots).map(async (key): Promise<readonly [string, readonly Change[]]> => {
    const { uppers, lowers, whole } = sidesOfRoot(fork, sides, key);
    const above = treesOf(paths, uppers, key);
    if (above.length === 0) return [key, []];
    const below = treesOf(paths, lowers, key);
    const under = underOf(fork, key, about);
    return [key, await tree.diff({ uppers: above, lowers: below, whole, entries, under, tellsUnlisted: true })];
  });
  return new Map(await Promise.all(found));
}

/** One list for people: paths of the workspace as they are in it, those of other roots in full. */
export function shownChanges({ vault }: OpenFork, changes: FoldedChanges): readonly FoldedChange[] {
  return [...changes].flatMap(([key, list]) =>
    list.map((change) => {
      const path = shownPath(vault.roots, key, change.path);
      return path === change.path ? change : { ...change, path };
    }),
  );
}

/** Every difference between the fork and the trunk it is on; or since a checkpoint of the fork. */
export async function forkChangesByRoot(fork: OpenFork, since?: Stack, part: Part = {}): Promise<RootChanges> {
  return changesOf(fork, since === undefined ? allSides(fork) : sidesSince(fork, since), part);
}

export interface TimedChanges {
  readonly changes: FoldedChanges;
  /** Of files that the trunk has, too, and of names of one file, by root. */
  readonly times: ReadonlyMap<string, readonly FileTime[]>;
}

/** Lists that are read again because of what was let go: after so many none is. */
const foldedReads = 3;

/** Every difference between the fork and the trunk it stands on, whole trees as one (`TreeFolder`), and the times of the files. */
export async function timedForkChanges(fork: OpenFork, folding: (key: string) => Folding): Promise<TimedChanges> {
  const changes = new Map<string, readonly FoldedChange[]>();
  const times = new Map<string, readonly FileTime[]>();
  const { uppers, lowers } = allSides(fork);
  for (const key of Object.keys(fork.vault.roots)) {
    const above = treesOf(fork.paths, uppers, key);
    const sides = { uppers: above, lowers: treesOf(fork.paths, lowers, key), stampless: true };
    const mixed = new Set<string>();
    for (let read = 1; above.length > 0; read += 1) {
      const rules = folding(key);
      const folder = new TreeFolder(read < foldedReads ? rules : { ...rules, isPlain: () => false }, mixed);
      times.set(key, await fork.tree.diffWithTimes(sides, (change) => folder.take(change)));
      changes.set(key, folder.end());
      if (folder.lost.size === 0) break;
      for (const path of folder.lost) mixed.add(path);
    }
    if (above.length === 0) changes.set(key, []);
  }
  return { changes, times };
}

/**
 * An index of git's that was only written again, because somebody looked at the repository, is not a change to people.
 */
async function withoutRefreshed(fork: OpenFork, found: RootChanges): Promise<RootChanges> {
  const { base, deltas, live } = fork.meta;
  const left = [...found].map(async ([key, list]): Promise<readonly [string, readonly Change[]]> => {
    const among = list.filter(({ kind, type }) => kind === 'modified' && type === 'file').map(({ path }) => path);
    const now = treesOf(fork.paths, [...base, ...deltas, live], key);
    const refreshed = await refreshedIndexes(fork, treesOf(fork.paths, base, key), now, among);
    return [key, refreshed.size === 0 ? list : list.filter(({ path }) => !refreshed.has(path))];
  });
  return new Map(await Promise.all(left));
}

/**
 * The trunk is ahead while edits of the person's enter a fork in which commands run: what is there already, as the person has it, is no
 * change of the fork's.
 */
async function withoutEntering(fork: OpenFork, found: RootChanges): Promise<RootChanges> {
  const { meta, vault, paths, tree } = fork;
  if (vault.position <= meta.position) return found;
  const left = [...found].map(async ([key, list]): Promise<readonly [string, readonly Change[]]> => {
    const uppers = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], key);
    const lowers = treesOf(paths, vault.trunk, key);
    const under = list.filter(({ unlisted }) => unlisted === undefined).map(({ path }) => path);
    if (under.length === 0) return [key, list];
    const different = new Set((await tree.diff({ uppers, lowers, whole: true, under })).map(({ path }) => path));
    return [key, list.filter(({ path, unlisted }) => unlisted !== undefined || different.has(path))];
  });
  return new Map(await Promise.all(left));
}

/** For reports: up to `listedChanges`; `about` are shown paths, and what is above them may be among the changes. */
export async function forkChanges(
  fork: OpenFork,
  since?: Stack,
  about?: readonly string[],
): Promise<readonly Change[]> {
  const found = await forkChangesByRoot(fork, since, { ...forReport, about });
  return shownChanges(
    fork,
    since === undefined ? await withoutEntering(fork, await withoutRefreshed(fork, found)) : found,
  );
}

/** How what a fork showed differs from what it shows now, at these shown paths, above and below them: what a rollback took back. */
export async function takenBack(before: OpenFork, now: OpenFork, among: readonly string[]): Promise<readonly Change[]> {
  const { paths, tree, vault } = now;
  const treesIn = ({ meta }: OpenFork, key: string) => treesOf(paths, [...meta.base, ...meta.deltas, meta.live], key);
  const found = new Map<string, readonly Change[]>();
  for (const key of Object.keys(vault.roots)) {
    const within = among.flatMap((path) => pathWithin(vault.roots, key, path) ?? []);
    const [uppers, lowers] = [treesIn(before, key), treesIn(now, key)];
    if (within.length === 0 || uppers.length === 0 || lowers.length === 0) continue;
    const under = within.includes(topPath) ? undefined : within;
    found.set(
      key,
      await tree.diff({ uppers, lowers, whole: true, entries: listedChanges, under, tellsUnlisted: true }),
    );
  }
  return shownChanges(now, found);
}

/** How many changes there are, without a list of them: counted up to `most`. Indexes that git only refreshed count. */
export async function countForkChanges(fork: OpenFork, most: number): Promise<number> {
  const { uppers, lowers } = allSides(fork);
  const counts = Object.keys(fork.vault.roots).map(async (key) => {
    const above = treesOf(fork.paths, uppers, key);
    return above.length === 0 ? 0 : fork.tree.count({ uppers: above, lowers: treesOf(fork.paths, lowers, key) }, most);
  });
  return Math.min(
    most,
    (await Promise.all(counts)).reduce((sum, count) => sum + count, 0),
  );
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

/** What was written since the last checkpoint. */
export async function liveChanges(fork: OpenFork): Promise<readonly Change[]> {
  if (!isLiveTouched(fork)) return [];
  return shownChanges(fork, await changesOf(fork, liveSides(fork), forReport));
}

/** A path that one command made, changed, deleted, or put back as the person has it. */
export type CommandChange = Change | (Omit<Change, 'kind'> & { readonly kind: 'restored' });

/** What was done since a checkpoint, with what is different from the trunk after it. Pure. */
export function commandChanges(done: readonly Change[], pending: readonly Change[]): readonly CommandChange[] {
  const different = new Set(pending.map(({ path }) => path));
  // What is not listed is no less different.
  const isUnlisted = belowAny(
    new Set(pending.filter(({ unlisted }) => unlisted !== undefined).map(({ path }) => path)),
  );
  const isAll = pending.some(({ path, unlisted }) => path === topPath && unlisted !== undefined);
  const isDifferent = ({ path, unlisted }: Change) =>
    isAll || different.has(path) || unlisted !== undefined || isUnlisted(path);
  return done.map((change) => (isDifferent(change) ? change : { ...change, kind: 'restored' as const }));
}

export interface CommandReport {
  readonly changes: readonly CommandChange[];
  /** Everything that is different from the trunk. */
  readonly pending: readonly Change[];
}

/**
 * What the command since the last checkpoint did. One that wrote nothing is known by that, without a look at the layers. `isStill`: no other
 * writes meanwhile; else its own changes are read first, so that what another makes in between is not taken for what was put back.
 */
export async function reportOf(fork: OpenFork, touched = isLiveTouched(fork), isStill = true): Promise<CommandReport> {
  if (!touched) {
    const pending = fork.meta.deltas.length === 0 ? [] : await forkChanges(fork);
    return { changes: [], pending };
  }
  const isFirst = fork.meta.deltas.length === 0;
  const ofLive = isFirst ? undefined : changesOf(fork, liveSides(fork), forReport);
  if (!isStill) await ofLive;
  const all = changesOf(fork, allSides(fork), forReport);
  const own = ofLive ?? all;
  const pending = shownChanges(fork, await withoutRefreshed(fork, await all));
  // The first command since the fork was made has done all that is different.
  if (isFirst) return { changes: pending, pending };
  const counted = new Set(pending.map(({ path }) => path));
  const refreshed = new Set(shownChanges(fork, await all).flatMap(({ path }) => (counted.has(path) ? [] : [path])));
  const done = shownChanges(fork, await own).filter(({ path }) => !refreshed.has(path));
  return { changes: commandChanges(done, pending), pending };
}

/** The top itself: only its mode and owner ever change. */
function unread(change: Change): TextChange {
  const there: TreeContent = { ...nothing, type: 'directory', mode: change.mode };
  return { change, before: there, after: there };
}

export interface TextChange {
  readonly change: Change;
  readonly before: TreeContent;
  readonly after: TreeContent;
}

const nothing: TreeContent = { type: 'missing', mode: 0, size: 0, digest: '', bytes: Buffer.alloc(0) };

/** The contents on both sides of each change, in their order: all of them in memory, so the caller asks for few at a time. */
export async function readChanges(
  fork: OpenFork,
  changes: readonly Change[],
  since?: Stack,
  limits: Pick<TreeReadOptions, 'most' | 'digests'> = {},
): Promise<readonly TextChange[]> {
  const { paths, tree, vault } = fork;
  const sides = since === undefined ? allSides(fork) : sidesSince(fork, since);
  const texts = new Map<Change, TextChange>();
  for (const key of Object.keys(vault.roots)) {
    const own = changes.flatMap((change) => {
      const path = pathWithin(vault.roots, key, change.path);
      return path === undefined || path === topPath ? [] : [{ change, path }];
    });
    if (own.length === 0) continue;
    const wanted = own.map(({ path }) => path);
    const ofRoot = sidesOfRoot(fork, sides, key);
    const lowers = treesOf(paths, ofRoot.lowers, key);
    const stack = [...treesOf(paths, ofRoot.uppers, key), ...(ofRoot.whole ? [] : lowers)];
    const before = lowers.length === 0 ? [] : await tree.read({ ...limits, layers: lowers, paths: wanted });
    const after = await tree.read({ ...limits, layers: stack, paths: wanted });
    own.forEach(({ change }, index) => {
      texts.set(change, { change, before: before[index] ?? nothing, after: after[index] ?? nothing });
    });
  }
  return changes.map((change) => texts.get(change) ?? unread(change));
}
