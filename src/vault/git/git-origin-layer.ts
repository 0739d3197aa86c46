/**
 * Files of ours on top of a fork: what was made of its repositories becomes its topmost delta, so that apply writes it, undo takes
 * it back and an apply that was cut off goes on, as with anything else of the fork.
 */
import { chmodSync, chownSync, lstatSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodePath } from '../../base/path-bytes.js';
import { copyTop, treesOf } from '../store/layer-pool.js';
import { inWalkOrder } from '../store/root-paths.js';
import { addParents } from '../tree/clashing.js';
import type { OpenFork } from '../vault.js';

/** A file by its bytes, or one of ours that is moved there; or a directory. */
export interface OriginFile {
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer | { readonly movedFrom: string } | 'directory';
  /** Seconds since 1970: when the fork wrote what this was made of. Its place among all that comes home goes by that. */
  readonly modified?: number | undefined;
}

const placeOf = (directory: string, path: string) => Buffer.concat([Buffer.from(`${directory}/`), encodePath(path)]);

/** Directories above these paths, and those of them that the person has. */
function directoriesOf(
  files: readonly OriginFile[],
  root: string,
): { made: readonly string[]; present: readonly string[] } {
  const above = new Set<string>();
  for (const { path } of files) addParents(path, above);
  const all = [...above].sort(inWalkOrder);
  const isDirectory = (path: string) =>
    lstatSync(placeOf(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  const present = all.filter(isDirectory);
  const known = new Set(present);
  return { made: all.filter((path) => !known.has(path)), present };
}

export interface OriginLayer {
  readonly layer: string;
  readonly key: string;
  readonly files: readonly OriginFile[];
}

/** Every path that the layer then holds, the directories it had to make included. */
export async function makeOriginLayer(fork: OpenFork, { layer, key, files }: OriginLayer): Promise<readonly string[]> {
  const { paths, tree, meta, vault, owner } = fork;
  const root = vault.roots[key];
  if (root === undefined || files.length === 0) return [];
  const draft = join(paths.layer(layer), `${key}.draft`);
  const stack = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], key);
  const base = treesOf(paths, meta.base, key);
  const { made, present } = directoriesOf(files, root);
  mkdirSync(draft, { mode: 0o700 });
  for (const path of [...present, ...made].sort(inWalkOrder)) mkdirSync(placeOf(draft, path), { mode: 0o700 });
  const directories = new Set(made);
  for (const { path, mode, content, modified } of files) {
    const place = placeOf(draft, path);
    if (content === 'directory') {
      directories.add(path);
      mkdirSync(place, { recursive: true, mode: 0o700 });
    } else if (Buffer.isBuffer(content)) writeFileSync(place, content, { mode: mode & 0o644, flag: 'wx' });
    else renameSync(content.movedFrom, place);
    if (modified !== undefined) utimesSync(place, modified, modified);
  }
  // From the deepest up: one that its mode closes is done with.
  const above = new Set([...present, ...made]);
  await tree.apply({ uppers: base, root: draft, plan: present.map((path) => ({ action: 'put', path })) });
  const like = ownerIn(root, present, owner.shift);
  const all = [...new Set([...files.map(({ path }) => path), ...directories])].sort(inWalkOrder).reverse();
  for (const path of all) {
    const place = placeOf(draft, path);
    if (directories.has(path)) chmodSync(place, 0o755);
    if (like !== undefined) chownSync(place, like.uid, like.gid);
  }
  const wanted = all.filter((path) => directories.has(path) || !above.has(path)).reverse();
  await tree.mirror({ root: draft, into: paths.tree(layer, key), layers: stack, paths: wanted });
  copyTop(stack[0], paths.tree(layer, key));
  return wanted;
}

/**
 * Root's layers carry the owners of the jail, which are shifted: what is made there is of the process that has the
 * directory it is in.
 */
function ownerIn(root: string, present: readonly string[], shift: number) {
  if (process.geteuid?.() !== 0) return undefined;
  const deepest = present.at(-1);
  const { uid, gid } = deepest === undefined ? lstatSync(root) : lstatSync(placeOf(root, deepest));
  return { uid: uid + shift, gid: gid + shift };
}

/** Of a copy that its mode closes to us. */
export function openUp(place: Buffer, mode: number): void {
  if ((mode & 0o400) === 0) chmodSync(place, 0o600);
}

export const copyIn = placeOf;
