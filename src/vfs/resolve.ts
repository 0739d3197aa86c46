/**
 * The one walker: `.`, `..`, links and mounts, from the root of a mount table. It goes name by name and holds the inodes it came
 * through, so that `..` is where it came from and no text is ever compared with a prefix.
 *
 * A link leads within the tree it was found in, or nowhere: while its text is walked, the root of its mount is the floor. Absolute
 * text is a path of the whole table, and has to be below that mount. Leaving it is ENOENT.
 */
import { ask, type Steps } from './answer.js';
import { failure } from './failure.js';
import type { Attributes, FileSystem } from './filesystem.js';
import { componentsOf, isBelow, type MountTable, type TableMount } from './mount-table.js';
import { checkName, linksFollowed, type Name, nameBytes, pathBytes } from './names.js';

export interface TreePlace {
  readonly mount: TableMount;
  /** Its name in the directory above; empty for the root. */
  readonly name: Name;
  readonly attributes: Attributes;
}

export interface Resolved {
  /** From the root to the directory that has, or would have, the last name. Of the root itself: the root. */
  readonly above: readonly TreePlace[];
  /** Empty where the path ends at the root or in `..`. */
  readonly name: Name;
  /** Undefined where there is no such entry. */
  readonly found: TreePlace | undefined;
  /** The path ended in a slash: only a directory will do. */
  readonly directoryOnly: boolean;
  /** Without links: what a guard compares. */
  readonly path: readonly Name[];
}

interface Pending {
  readonly name: Name;
  /** How far `..` may go up, as a number of components. */
  readonly floor: number;
}

export interface ResolveOptions {
  /** Whether a link at the end is followed. */
  readonly follow: boolean;
  /** Called with the path of each name before it is looked for, and the names to come; throws where it is not to be seen. */
  readonly shown?: ((path: readonly Name[], rest: () => readonly Name[]) => void) | undefined;
}

export function engineOf({ mount }: TreePlace): FileSystem {
  return mount.filesystem;
}

/** Errors in the order of the walk: ENOENT (empty) ENAMETOOLONG, then for each name ENOTDIR ENAMETOOLONG ENOENT ELOOP. */
export function* resolve(table: MountTable, path: Name, { follow, shown }: ResolveOptions): Steps<Resolved> {
  if (path === '') throw failure('ENOENT', 'resolve', path, 'expected a path');
  if (path.length > pathBytes) {
    throw failure('ENAMETOOLONG', 'resolve', path.slice(0, 40), `expected a path of at most ${pathBytes} bytes`);
  }
  if (path.includes('\0')) throw failure('EINVAL', 'resolve', undefined, 'expected a path without NUL');
  const directoryOnly = path.endsWith('/');
  const pending: Pending[] = pendingOf(componentsOf(path), 0);
  const stack: TreePlace[] = [yield* entered(table.root, '')];
  let links = 0;
  let last: Name = '';
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const here = top(stack);
    const { name, floor } = next;
    if (here.attributes.kind !== 'directory') throw failure('ENOTDIR', 'resolve', path);
    last = '';
    if (name === '.') continue;
    if (name === '..') {
      if (stack.length - 1 > floor) stack.pop();
      else if (floor > 0) throw failure('ENOENT', 'resolve', path, 'a link leads out of the tree it is in');
      continue;
    }
    if (name.length > nameBytes) checkName('resolve', name);
    shown?.([...namesOf(stack), name], () => pending.map((each) => each.name).reverse());
    const attributes = yield* ask(engineOf(here).lookup(here.attributes.inode, name));
    const mounted = table.at([...namesOf(stack), name]);
    const isLast = pending.length === 0;
    if (mounted !== undefined) stack.push(yield* entered(mounted, name));
    else if (attributes === undefined) {
      if (!isLast) throw failure('ENOENT', 'resolve', path);
      return { above: stack, name, found: undefined, directoryOnly, path: [...namesOf(stack), name] };
    } else if (attributes.kind === 'symlink' && (!isLast || follow || directoryOnly)) {
      links += 1;
      if (links > linksFollowed) throw failure('ELOOP', 'resolve', path, `expected at most ${linksFollowed} links`);
      const text = yield* ask(engineOf(here).readlink(attributes.inode));
      pending.push(...entrance(stack, here.mount, text, path));
    } else stack.push({ mount: here.mount, name, attributes });
    last = name;
  }
  const found = top(stack);
  if (directoryOnly && found.attributes.kind !== 'directory') throw failure('ENOTDIR', 'resolve', path);
  const above = stack.length === 1 ? stack : stack.slice(0, -1);
  // A link that was followed to its end may have ended in `..` or at the root: then there is no last name to act on.
  const name = last === '' || stack.length === 1 ? '' : found.name;
  return { above, name, found, directoryOnly, path: namesOf(stack) };
}

function top(stack: readonly TreePlace[]): TreePlace {
  const place = stack.at(-1);
  if (place === undefined) throw failure('EIO', 'resolve', undefined, 'the walk lost its root');
  return place;
}

function namesOf(stack: readonly TreePlace[]): readonly Name[] {
  return stack.slice(1).map(({ name }) => name);
}

function* entered(mount: TableMount, name: Name): Steps<TreePlace> {
  const { filesystem } = mount;
  return { mount, name, attributes: yield* ask(filesystem.getattr(filesystem.root)) };
}

/** The last comes first, as they are popped. */
function pendingOf(names: readonly Name[], floor: number): Pending[] {
  return names.map((name) => ({ name, floor })).reverse();
}

/** What a link's text adds to the walk; the stack goes back to where the text begins. */
function entrance(stack: TreePlace[], mount: TableMount, text: Name, path: Name): readonly Pending[] {
  if (text === '') throw failure('ENOENT', 'resolve', path);
  const floor = mount.path.length;
  const names = [...componentsOf(text), ...(text.endsWith('/') ? ['.'] : [])];
  if (!text.startsWith('/')) return pendingOf(names, floor);
  if (!isBelow(names, mount.path)) {
    throw failure('ENOENT', 'resolve', path, 'a link leads out of the tree it is in');
  }
  stack.length = floor + 1;
  return pendingOf(names.slice(floor), floor);
}
