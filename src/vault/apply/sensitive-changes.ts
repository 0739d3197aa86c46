/**
 * Which changes of a fork come home unasked: by their names, by their texts, by what the person's directories are, and by what their
 * own git obeys. Verdicts are data, by path; what is made of repositories lies on top of the fork that is answered.
 */
import { mkdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { manifestsAtOnce } from '../../base/limits/store.js';
import { encodePath } from '../../base/path-bytes.js';
import { readChanges } from '../forks/changes.js';
import { type ObeyedPaths, obeyedPaths } from '../git/git-obeyed.js';
import { bringRepositoriesToOrigin, type InRepository } from '../git/git-origin.js';
import { ownRepositories } from '../git/git-own-repositories.js';
import { type GitPlace, isThere, makesRepository, placesBy } from '../git/git-places.js';
import { Git } from '../git/git-program.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { pathWithin, shownPath } from '../store/root-paths.js';
import { throwAwayOrLeave } from '../store/trash.js';
import type { Change, FoldedChange, Problem } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { hiddenReason } from './hidden-names.js';
import { isUnread } from './installed-packages.js';
import { isDecidedByText, sensitivity } from './sensitive.js';
import { sensitiveName } from './sensitive-names.js';

export interface Sensitive {
  readonly path: string;
  readonly why: string;
}

export interface SensitiveRequest {
  /** Shown paths that are asked for; all where it is undefined. What is not asked for is not made ready. */
  readonly only?: readonly string[] | undefined;
  readonly allowSensitive: boolean;
}

export interface Judgement {
  /** The fork with what its repositories bring home on top: named nowhere yet. */
  readonly fork: OpenFork;
  /** That on top, where anything was made. */
  readonly layer?: string | undefined;
  readonly sensitive: readonly Sensitive[];
  /** Paths that neither come home nor stay in the fork: git makes them again. */
  readonly dropped: ReadonlySet<string>;
  /** What stays behind of files that come. */
  readonly problems: readonly Problem[];
  /** Where the fork is not to be named: what was made for it goes. */
  forget(): void;
}

/** Manifests by what they run; few are in memory at once. */
async function byNames(fork: OpenFork, all: readonly Change[]): Promise<ReadonlyMap<string, string>> {
  const changes = all.filter((change) => !isUnread(change));
  const found = new Map<string, string>();
  const note = (change: Change, why: string | undefined) => why !== undefined && found.set(change.path, why);
  const unclear = changes.filter(isDecidedByText);
  for (let at = 0; at < unclear.length; at += manifestsAtOnce) {
    for (const { change, before, after } of await readChanges(fork, unclear.slice(at, at + manifestsAtOnce))) {
      note(change, sensitivity(change, before, after));
    }
  }
  const read = new Set(unclear);
  for (const change of changes) if (!read.has(change)) note(change, sensitivity(change));
  return found;
}

/** A directory of ours, for as long as it takes. */
async function withScratch<T>(fork: OpenFork, act: (directory: string) => Promise<T>): Promise<T> {
  const layer = fork.paths.layer(makeLayer(fork.paths, { fork: fork.name }));
  const scratch = join(layer, 'git.draft');
  mkdirSync(scratch, { mode: 0o700 });
  try {
    return await act(scratch);
  } finally {
    throwAwayOrLeave(fork.store, layer);
  }
}

const isGitName = /\/\.git$/i;

/** Of a shown path, which is a plain one below the workspace or absolute: `resolve` costs more than all else here. */
const wholePath = (top: string, path: string) =>
  path.startsWith('/') || path === '.' || top === '/' ? posix.resolve(top, path) : `${top}/${path}`;

const isAsked = (path: string, only: readonly string[] | undefined) =>
  only === undefined || only.some((top) => top === '.' || path === top || path.startsWith(`${top}/`));

/** What changes are judged by, whatever they are. */
export interface Bench {
  readonly git: Git | undefined;
  readonly obeyed: ObeyedPaths;
  /** Of an absolute path, the repository it belongs to. */
  placeOf(whole: string): GitPlace | undefined;
}

function repositoriesBy(): Bench['placeOf'] {
  const placeBy = placesBy();
  return (whole) => placeBy(isGitName.test(whole) ? posix.join(whole, 'HEAD') : whole);
}

export async function benchOf(fork: OpenFork): Promise<Bench> {
  const { roots } = fork.vault;
  const git = Git.outside(Object.values(roots));
  const repositories = await ownRepositories(fork);
  const obeyed = await withScratch(fork, (scratch) =>
    obeyedPaths({ git, repositories, roots: Object.values(roots), scratch, environment: process.env }),
  );
  return { git, obeyed, placeOf: repositoriesBy() };
}

/** A name that no root has: what is known of the workspace is of the fork's own directory. */
const elsewhere = 'elsewhere';

/**
 * Changes of the workspace that are written to another directory: its own git obeys other files, and other repositories lie there. What
 * the fork's own directory says of them is asked apart.
 */
export async function judgeElsewhere(
  fork: OpenFork,
  directory: string,
  changes: readonly Change[],
): Promise<readonly Sensitive[]> {
  if (changes.length === 0) return [];
  const there = await benchOf({ ...fork, vault: { ...fork.vault, roots: { [elsewhere]: directory } } });
  const own = repositoriesBy();
  const top = fork.vault.roots[workspaceRoot] ?? '/';
  const reasonOf = ({ kind, type, path }: Change): string | undefined => {
    // It is judged as a part of the fork's own repository.
    if (own(wholePath(top, path)) !== undefined) return undefined;
    const whole = wholePath(directory, path);
    if (there.placeOf(whole) !== undefined) return 'a repository of the other directory has it for itself';
    if (kind !== 'deleted' && makesRepository(whole, isThere))
      return 'git may take its directory for a repository, with programs to run';
    return type === 'directory' ? undefined : there.obeyed.whyObeyed(whole, type === 'symlink');
  };
  return changes.flatMap((change) => {
    const why = reasonOf(change);
    return why === undefined ? [] : [{ path: change.path, why }];
  });
}

/**
 * Whether nothing below would say anything of a change, a shown one, but that it is there: neither by its name or text nor by what the
 * person has, and it belongs to no unit that stays as a whole.
 */
export function isOrdinary({ obeyed, placeOf }: Bench, top: string, change: Change): boolean {
  const { kind, type, path } = change;
  if (type !== 'file' && type !== 'directory' && type !== 'symlink') return false;
  if (path.endsWith('/pyvenv.cfg') || (!isUnread(change) && sensitiveName(path) !== undefined)) return false;
  if (hiddenReason(change, (each) => isThere(posix.resolve(top, each))) !== undefined) return false;
  const whole = wholePath(top, path);
  if (placeOf(whole) !== undefined || (kind !== 'deleted' && makesRepository(whole, isThere))) return false;
  return type === 'directory' || obeyed.whyObeyed(whole, type === 'symlink') === undefined;
}

/** All paths that are changed, those of whole trees one by one. */
async function changedPaths(fork: OpenFork, changes: readonly FoldedChange[]): Promise<readonly string[]> {
  const { paths, meta, vault } = fork;
  const found = changes.map(({ path }) => path);
  const trees = changes.filter(({ tree }) => tree !== undefined);
  for (const key of trees.length === 0 ? [] : Object.keys(vault.roots)) {
    const namesOf = async (isGone: boolean, stack: readonly string[]) => {
      const own = trees.filter(({ kind }) => (kind === 'deleted') === isGone);
      const within = own.flatMap(({ path }) => pathWithin(vault.roots, key, path) ?? []);
      const names = await fork.tree.names(treesOf(paths, stack, key), within);
      return names.map((path) => shownPath(vault.roots, key, path));
    };
    for (const path of await namesOf(false, [...meta.deltas, meta.live])) found.push(path);
    for (const path of await namesOf(true, meta.base)) found.push(path);
  }
  return found;
}

/** The fork is not mounted, and the person's directories are as its trunk has them. What is in whole trees is ordinary. */
export async function judgeChanges(
  fork: OpenFork,
  changes: readonly FoldedChange[],
  { only, allowSensitive }: SensitiveRequest,
  known?: Bench | undefined,
): Promise<Judgement> {
  if (changes.length === 0) return { fork, sensitive: [], dropped: new Set(), problems: [], forget: () => undefined };
  const { roots } = fork.vault;
  const top = roots[workspaceRoot] ?? '/';
  const { git, obeyed, placeOf } = known ?? (await benchOf(fork));
  const inside: InRepository[] = [];
  const outside: (readonly [Change, whole: string])[] = [];
  for (const change of changes) {
    const whole = wholePath(top, change.path);
    const place = placeOf(whole);
    if (place === undefined) outside.push([change, whole]);
    else inside.push({ change, place, whole });
  }
  const why = new Map(await byNames(fork, changes));
  for (const [change, whole] of outside) {
    const { kind, path } = change;
    const hidden = why.has(path) ? undefined : hiddenReason(change, (each) => isThere(posix.resolve(top, each)));
    if (hidden !== undefined) why.set(path, hidden);
    if (kind !== 'deleted' && makesRepository(whole, isThere)) {
      why.set(path, 'git may take its directory for a repository, with programs to run');
    }
  }
  for (const [{ type, path }, whole] of outside) {
    const reason = type === 'directory' || why.has(path) ? undefined : obeyed.whyObeyed(whole, type === 'symlink');
    if (reason !== undefined) why.set(path, reason);
  }
  const asked = inside.filter(({ change }) => isAsked(change.path, only));
  const changed =
    asked.length === 0
      ? new Set<string>()
      : new Set((await changedPaths(fork, changes)).map((path) => encodePath(wholePath(top, path)).toString('latin1')));
  const home = await bringRepositoriesToOrigin(fork, { git, changes: asked, changed, allowSensitive });
  for (const [path, reason] of home.sensitive) why.set(path, reason);
  const { layer } = home;
  return {
    fork: home.fork,
    layer,
    sensitive: changes
      .filter(({ path }) => why.has(path))
      .map(({ path }) => ({ path, why: why.get(path) ?? 'it is sensitive' })),
    dropped: home.dropped,
    problems: home.problems,
    forget: () => {
      if (layer !== undefined) throwAwayOrLeave(fork.store, fork.paths.layer(layer));
    },
  };
}
