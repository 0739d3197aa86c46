/**
 * What of a fork's repositories comes home, and how: of a repository's own directory nothing is applied as bytes. Objects pass git's
 * own checks, refs are read and written again, the index is made anew from its entries; the rest is held back (docs/apply.md).
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../../base/make-directory.js';
import { encodePath } from '../../base/path-bytes.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { inWalkOrder, rootOf, shownPath } from '../store/root-paths.js';
import { throwAway } from '../store/trash.js';
import { addParents } from '../tree/clashing.js';
import type { Change, Problem } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { copyIn, makeOriginLayer, type OriginFile, openUp } from './git-origin-layer.js';
import type { GitPlace } from './git-places.js';
import type { Git } from './git-program.js';
import { type Item, takeUnit, type Unit, unitOf } from './git-unit.js';

/** A change in a repository's own directory. */
export interface InRepository {
  readonly change: Change;
  readonly place: GitPlace;
  /** Absolute. */
  readonly whole: string;
}

export interface GitOriginRequest {
  readonly git: Git | undefined;
  readonly changes: readonly InRepository[];
  /** Absolute paths of everything that the fork changes, one character a byte. */
  readonly changed: ReadonlySet<string>;
  readonly allowSensitive: boolean;
}

export interface Home {
  /** With what was made on top, where anything was. */
  readonly fork: OpenFork;
  /** That layer: it is named nowhere yet, and the caller's to name or to throw away. */
  readonly layer?: string | undefined;
  /** Shown paths and reasons. */
  readonly sensitive: ReadonlyMap<string, string>;
  /** Shown paths that neither come home nor stay. */
  readonly dropped: ReadonlySet<string>;
  readonly problems: readonly Problem[];
}

function itemsOf(fork: OpenFork, changes: readonly InRepository[]): ReadonlyMap<string, readonly Item[]> {
  const found = new Map<string, Item[]>();
  for (const { change, place, whole } of changes) {
    const [key, path] = rootOf(fork.vault.roots, change.path) ?? [];
    if (key === undefined || path === undefined) continue;
    const name =
      whole === place.directory ? '' : encodePath(whole.slice(place.directory.length + 1)).toString('latin1');
    const items = found.get(place.common) ?? [];
    items.push({ change, place, whole, key, path, name });
    found.set(place.common, items);
  }
  return found;
}

/** Copies of files of the fork, in a directory of ours. */
async function copyOut({ paths, meta, tree }: OpenFork, items: readonly Item[], into: string): Promise<void> {
  for (const key of new Set(items.map((item) => item.key))) {
    const own = items.filter((item) => item.key === key && item.change.kind !== 'deleted');
    const draft = join(into, key);
    const above = new Set<string>();
    for (const { path } of own) addParents(path, above);
    makeDirectory(draft);
    for (const path of [...above].sort(inWalkOrder)) mkdirSync(copyIn(draft, path), { mode: 0o700 });
    const uppers = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], key);
    await tree.apply({ uppers, root: draft, plan: own.map(({ path }) => ({ action: 'put', path })) });
    for (const { path, change } of own) openUp(copyIn(draft, path), change.mode);
  }
}

async function takeAll(fork: OpenFork, units: readonly Unit[], git: Git, layer: string, request: GitOriginRequest) {
  const work = join(fork.paths.layer(layer), 'git.draft');
  const copies = join(work, 'copies');
  makeDirectory(copies);
  const files = new Map<string, OriginFile[]>();
  const problems: Problem[] = [];
  const made = new Set<string>();
  try {
    await copyOut(
      fork,
      units.flatMap(({ readings }) => readings.map(({ item }) => item)),
      copies,
    );
    for (const [at, unit] of units.entries()) {
      const scratch = join(work, String(at));
      mkdirSync(scratch, { mode: 0o700 });
      const common = { git, copies, scratch, changed: request.changed, keepsFlags: request.allowSensitive };
      const home = await takeUnit(unit, common);
      for (const [key, file] of home.files) files.set(key, [...(files.get(key) ?? []), file]);
      problems.push(...home.without.map(([{ change }, reason]) => ({ path: change.path, code: 'ENOTSUP', reason })));
    }
    for (const [key, list] of files) {
      const paths = await makeOriginLayer(fork, { layer, key, files: list });
      for (const path of paths) made.add(shownPath(fork.vault.roots, key, path));
    }
  } finally {
    throwAway(fork.store, work);
    for (const key of files.keys()) throwAway(fork.store, join(fork.paths.layer(layer), `${key}.draft`));
  }
  return { made, problems };
}

export async function bringRepositoriesToOrigin(fork: OpenFork, request: GitOriginRequest): Promise<Home> {
  const units = [...itemsOf(fork, request.changes).values()].map(unitOf);
  const { git } = request;
  const isNeeded = units.some(({ readings, directories }) => readings.length + directories.length > 0);
  if (git === undefined) {
    for (const { readings, directories, sensitive } of units) {
      const why = 'there is no git here that could say what it holds';
      for (const item of [...readings.map((each) => each.item), ...directories]) sensitive.set(item, why);
    }
  }
  const layer = git !== undefined && isNeeded ? makeLayer(fork.paths, { fork: fork.name }) : undefined;
  const none = { made: new Set<string>(), problems: [] as readonly Problem[] };
  const home = layer === undefined || git === undefined ? none : await takeAll(fork, units, git, layer, request);
  const sensitive = new Map(
    units.flatMap((unit) => [...unit.sensitive].map(([{ change }, why]) => [change.path, why] as const)),
  );
  const dropped = units.flatMap((unit) => [...unit.dropped].map(({ change }) => change.path));
  const meta = layer === undefined ? fork.meta : { ...fork.meta, deltas: [...fork.meta.deltas, layer] };
  return {
    fork: { ...fork, meta },
    layer,
    sensitive,
    dropped: new Set(dropped.filter((path) => !home.made.has(path))),
    problems: home.problems,
  };
}
