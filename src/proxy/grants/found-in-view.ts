/**
 * What a command would find at a path, asked without running one: in the fork where the fork has changed it, else on the host.
 * Links are followed as the kernel would, in the fork too. Nothing is locked, mounted or changed.
 */
import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { isLast, walkPath } from '../../base/walk-path.js';
import { frozenTrees } from '../../vault/fork-trees.js';
import { rootKey, workspaceRoot } from '../../vault/store/layout.js';
import type { TreeContent } from '../../vault/tree/tree.js';
import { forkToRead, type OpenFork } from '../../vault/vault.js';
import { absolutePath } from '../canonical-paths.js';
import type { Host, Place } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';
import { ownPath } from './own-path.js';

export interface FoundEntry {
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Where a symbolic link leads, as it is written. */
  readonly target: string;
  /** Whether it is the fork's: its modes are what counts, since the overlay is mounted for its owner. */
  readonly inFork: boolean;
}

export interface FoundInView {
  /** The path of the view that it leads to. */
  readonly path: string;
  /** Undefined where nothing is there. */
  readonly entry: FoundEntry | undefined;
  /** The directory that it is in, or would be made in; undefined where that is not there, or no directory. */
  readonly above: FoundEntry | undefined;
  /** Directories on the way: those above it, the last first, and what else was gone through to links and by `..`. */
  readonly way: readonly (readonly [path: string, entry: FoundEntry])[];
}

/** The jail makes what leads to the target of a mount, where nothing is; in the fork it is the fork's. */
const leadingDirectory: FoundEntry = { type: 'directory', mode: 0o755, uid: 0, gid: 0, target: '', inFork: false };

/** In a tree that a process serves, of which nothing is known until it is: modes and names are what the command finds. */
const inTree: FoundEntry = { type: 'file', mode: 0o777, uid: 0, gid: 0, target: '', inFork: true };

/** What an agent's jail has beside its surface and mounts; undefined for every other path. */
export type Beside = (path: string) => { readonly entry: FoundEntry | undefined } | undefined;

type Look = (path: string) => FoundEntry | undefined;

function typeOf(stats: BigIntStats): FoundEntry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

export function onHost(path: string, inFork: boolean): FoundEntry | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const type = typeOf(stats);
    const target = type === 'symlink' ? readlinkSync(path) : '';
    const mode = Number(stats.mode & 0o7777n);
    return { type, mode, uid: Number(stats.uid), gid: Number(stats.gid), target, inFork };
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return undefined;
    if (hasCode(error, 'EINVAL') || hasCode(error, 'ENAMETOOLONG') || hasCode(error, 'ELOOP')) return undefined;
    throw fromSystemError(error, 'look at', path);
  }
}

function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path; at !== '/'; ) {
    at = posix.dirname(at);
    parents.push(at);
  }
  return parents;
}

/** `isServed`: whether a path is in a tree that no one has opened yet. */
function walkThrough(look: Look, isServed: (path: string) => boolean, start: string): FoundInView {
  const seen = new Map([['/', look('/')]]);
  const passed = new Set<string>();
  const wayTo = (path: string) =>
    [...new Set([...parentsOf(path), ...passed])].flatMap((each): [string, FoundEntry][] => {
      const entry = seen.get(each);
      return entry === undefined ? [] : [[each, entry]];
    });
  const walk = walkPath(start);
  let next = walk.next();
  while (next.done !== true) {
    const { place, rest } = next.value;
    const whole = posix.join(place, ...rest);
    if (isServed(place) && isServed(whole)) return { path: whole, entry: inTree, above: inTree, way: [] };
    const entry = look(place);
    seen.set(place, entry);
    if (entry?.type === 'directory' && !isLast(next.value)) passed.add(place);
    const isWay = entry?.type === 'directory' || entry?.type === 'symlink';
    if (!isWay && !isLast(next.value)) return { path: whole, entry: undefined, above: undefined, way: wayTo(place) };
    if (entry?.type === 'symlink') next = walk.next({ link: entry.target });
    else next = walk.next(entry === undefined ? 'nothing' : 'something');
  }
  const { path } = next.value;
  const entry = seen.get(path);
  const way = wayTo(path);
  // By a name that ends as a directory's does, no file can be made either.
  if (/\/\.{0,2}$/.test(start) && entry?.type !== 'directory') return { path, entry: undefined, above: undefined, way };
  return { path, entry, above: way[0]?.[1], way };
}

/** Of one root of the fork: what its layers show at paths, where that is not what they show of the person's own. */
async function changedIn(
  fork: OpenFork,
  key: string,
  paths: readonly string[],
): Promise<readonly (TreeContent | null)[]> {
  const { tree, paths: vault, meta } = fork;
  const own = frozenTrees({ paths: vault, meta: { ...meta, deltas: [] } }, key);
  const all = [vault.tree(meta.live, key), ...frozenTrees(fork, key)].filter(
    (each) => lstatSync(each, { throwIfNoEntry: false }) !== undefined,
  );
  if (own.length === 0) return paths.map(() => null);
  const [shown, before] = await Promise.all(
    [all, own].map((layers) => tree.read({ layers, paths, most: 1, digests: false })),
  );
  return paths.map((_, index) => {
    const [now, then] = [shown?.[index], before?.[index]];
    if (now === undefined || then === undefined) return null;
    const isSame = now.type === then.type && now.mode === then.mode && now.bytes.equals(then.bytes);
    return isSame ? null : now;
  });
}

function forkHere(host: Host, { origin, owner }: Place, fork: string | undefined): OpenFork | undefined {
  const { store, tree } = host;
  return forkToRead({ store, tree, origin, owner, fork, purpose: 'look at a path' });
}

function entryOf({ type, mode, bytes }: TreeContent, { owner }: Place): FoundEntry | undefined {
  if (type === 'missing') return undefined;
  const known = type === 'file' || type === 'directory' || type === 'symlink' ? type : 'other';
  const target = known === 'symlink' ? bytes.toString() : '';
  return { type: known, mode, uid: owner.uid, gid: owner.gid, target, inFork: true };
}

/** `path` as somebody names it, relative to where the command starts. */
export async function foundInView(
  host: Host,
  place: Place,
  { authority: { view }, roots }: ResolvedAuthority,
  path: string,
  forkName?: string | undefined,
  beside: Beside = () => undefined,
): Promise<FoundInView> {
  const start = absolutePath(path, place.directory);
  const fork = forkHere(host, place, forkName);
  const forked = [place.origin, ...roots];
  const known = new Map<string, FoundEntry | undefined>();
  const wanted = new Set<string>();
  const look: Look = (seen) => {
    const own = beside(seen);
    if (own !== undefined) return own.entry ?? (view.beneath(seen).length === 0 ? undefined : leadingDirectory);
    const at = ownPath(view, forked, seen);
    const located = view.locate(at);
    if (located !== undefined && located.entry.of !== 'host') return leadingDirectory;
    const there = located?.host ?? at;
    const root = forked.find((each) => contains(each, there));
    const isAsked = fork !== undefined && root !== undefined && root !== there;
    if (isAsked && !known.has(there)) wanted.add(there);
    const standing = isAsked && known.has(there) ? known.get(there) : onHost(there, root !== undefined);
    if (standing !== undefined || view.beneath(at).length === 0) return standing;
    const { uid, gid } = place.owner;
    return root === undefined ? leadingDirectory : { ...leadingDirectory, uid, gid, inFork: true };
  };
  const isServed = (at: string) =>
    beside(at) === undefined && (view.covering(ownPath(view, forked, at))?.of ?? 'host') !== 'host';
  // The layers are asked for all that one walk came by, and the walk is taken again with what they say.
  for (;;) {
    const found = walkThrough(look, isServed, start);
    if (fork === undefined || wanted.size === 0) return found;
    for (const root of forked) {
      const key = root === place.origin ? workspaceRoot : rootKey(root);
      const asked = [...wanted].filter((each) => forked.find((other) => contains(other, each)) === root);
      const changed = await changedIn(
        fork,
        key,
        asked.map((each) => posix.relative(root, each)),
      );
      for (const [index, each] of asked.entries()) {
        const content = changed[index] ?? null;
        known.set(each, content === null ? onHost(each, true) : entryOf(content, place));
      }
    }
    wanted.clear();
  }
}
