/**
 * The pool of layers. A layer is made under a name of its own and belongs to no one until a fork or the trunk names it;
 * one that is named by no one, and that no one is making, is garbage (`gc`).
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  opendirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { uniqueName } from '../../base/unique-name.js';
import type { VaultPaths } from './layout.js';

/** Whose files these are. `shift` is added to every owner in the store, because root's jails run shifted. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
  readonly shift: number;
}

/** Whose lock says that a layer may still be in the making. */
export type LayerMaker = { readonly trunk: true } | { readonly fork: string };

const trunkMark = 'of-trunk';
const forkMark = 'of-fork-';

/** A new layer without any tree. Its maker is the name of an empty file: that is there or not, never half written. */
export function makeLayer(paths: VaultPaths, maker: LayerMaker): string {
  const name = uniqueName();
  try {
    mkdirSync(paths.layer(name), { mode: 0o700 });
    const mark = 'trunk' in maker ? trunkMark : `${forkMark}${maker.fork}`;
    closeSync(openSync(paths.tree(name, mark), 'wx', 0o600));
  } catch (error) {
    throw fromSystemError(error, 'make a layer', paths.layer(name));
  }
  return name;
}

/** Undefined for a layer whose making ended before its first step was done. */
export function makerOf(paths: VaultPaths, name: string): LayerMaker | undefined {
  const names = readdirSync(paths.layer(name));
  if (names.includes(trunkMark)) return { trunk: true };
  const mark = names.find((each) => each.startsWith(forkMark));
  return mark === undefined ? undefined : { fork: mark.slice(forkMark.length) };
}

/** Trees that were there. One stays as long as anybody names its layer, and no name is used twice. */
const seenTrees = new Set<string>();
const mostSeenTrees = 10_000;

function hasTree(tree: string): boolean {
  if (seenTrees.has(tree)) return true;
  if (!existsSync(tree)) return false;
  if (seenTrees.size >= mostSeenTrees) seenTrees.clear();
  seenTrees.add(tree);
  return true;
}

/** The trees of one root in these layers (oldest first), topmost first as the walker and the overlay want them. */
export function treesOf(paths: VaultPaths, layers: readonly string[], root: string): string[] {
  return layers
    .map((name) => paths.tree(name, root))
    .filter(hasTree)
    .reverse();
}

/** Roots that a layer has a tree of. */
export function rootsOf(paths: VaultPaths, layer: string): string[] {
  if (!existsSync(paths.layer(layer))) return [];
  return readdirSync(paths.layer(layer), { withFileTypes: true })
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && /^[a-z0-9]+$/.test(entry.name))
    .map(({ name }) => name);
}

/** To the user that root's commands run as; anybody else's run as themselves. */
export function give(directory: string, owner: Owner): void {
  if (owner.shift > 0) chownSync(directory, owner.uid + owner.shift, owner.gid + owner.shift);
}

/** A directory that is there with its owner and mode, or not at all. */
export function makeDirectoryWhole(path: string, prepare: (draft: string) => void): void {
  if (existsSync(path)) return;
  const draft = `${path}.new`;
  try {
    mkdirSync(draft, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // What somebody was making who was killed.
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
  }
  try {
    prepare(draft);
    renameSync(draft, path);
  } catch (error) {
    // It may hold secrets (profile-home), which no one would know of.
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

/** Makes what is missing for a command to write one root. The tree's own mode is what the root's top directory shows. */
export function makeLiveTree(
  paths: VaultPaths,
  layer: string,
  root: string,
  below: readonly string[],
  owner: Owner,
): void {
  makeDirectoryWhole(paths.work(layer, root), (draft) => give(draft, owner));
  makeDirectoryWhole(paths.tree(layer, root), (draft) => {
    if (below[0] === undefined) give(draft, owner);
    else copyTop(below[0], draft);
  });
}

/** The mode, owner and time of one layer's top directory for another's: with setgid, whose group everything made in it gets. */
export function copyTop(from: string | undefined, to: string): void {
  if (from === undefined) return;
  const like = statSync(from);
  if (process.geteuid?.() === 0) chownSync(to, like.uid, like.gid);
  chmodSync(to, like.mode & 0o3777);
  utimesSync(to, like.mtime, like.mtime);
}

export function sameTop(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const [one, other] = [statSync(left), statSync(right)];
  return (one.mode & 0o1777) === (other.mode & 0o1777) && one.uid === other.uid && one.gid === other.gid;
}

/** Of a directory that may hold millions; one that its modes close to us was touched by somebody. */
function isEmpty(directory: string): boolean {
  try {
    const entries = opendirSync(directory);
    try {
      return entries.readSync() === null;
    } finally {
      entries.closeSync();
    }
  } catch (error) {
    if (hasCode(error, 'EACCES')) return false;
    throw fromSystemError(error, 'list', directory);
  }
}

/** Whether a root's tree of the live layer holds anything, or shows its top directory otherwise than what is below. */
export function isTouched(tree: string, below: readonly string[]): boolean {
  if (!existsSync(tree)) return false;
  if (!isEmpty(tree)) return true;
  return below[0] !== undefined && !sameTop(tree, below[0]);
}
