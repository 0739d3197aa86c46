/**
 * A mount table as operations by path. Each crosses the gate twice: its scope before anything is walked, and the resolved path
 * before anything is done; both within the one operation, on the inodes that the walk held.
 */

import { type Answer, ask, type Steps, settle } from './answer.js';
import { failure } from './failure.js';
import type { Attributes, Changes, Creation, Entry, FileSystem, Handle, OpenMode, RenameRule } from './filesystem.js';
import { type MountTable, pathOf } from './mount-table.js';
import type { Name } from './names.js';
import { engineOf, type Resolved, resolve, type TreePlace } from './resolve.js';
import { againWhenOvertaken } from './retried-steps.js';

/** What an operation does, in the words that grants are written in. */
export type TreeScope = 'fs.read' | 'fs.write' | 'fs.create' | 'fs.delete' | 'fs.metadata';

export interface Gate {
  /** Throws EACCES where this may be done nowhere. */
  enter(scope: TreeScope, operation: string, path: Name): void;
  /** Throws ENOENT where the path is not to be seen, EACCES where it is and this may not be done with it. */
  pass(scope: TreeScope, operation: string, path: readonly Name[]): void;
  /**
   * Throws EACCES where what is moved, or gets another name, could be read there and not where it is. `shared`: it has other names, or may
   * have something with other names in it, so that writing to it there is writing to those; the same then.
   */
  move(operation: string, from: readonly Name[], to: readonly Name[], shared: boolean): void;
  /** Whether a listing shows it. */
  shows(path: readonly Name[]): boolean;
}

export const openGate: Gate = {
  enter: () => undefined,
  pass: () => undefined,
  move: () => undefined,
  shows: () => true,
};

export interface OpenFlags extends OpenMode {
  readonly create?: boolean | undefined;
  readonly exclusive?: boolean | undefined;
}

export interface OpenedFile {
  readonly filesystem: FileSystem;
  readonly handle: Handle;
  readonly inode: number;
  readonly path: readonly Name[];
}

export class VfsTree {
  readonly table: MountTable;
  readonly #gate: Gate;

  constructor(table: MountTable, gate: Gate = openGate) {
    this.table = table;
    this.#gate = gate;
  }

  stat(path: Name, follow: boolean): Answer<Attributes> {
    return settle(this.#stat(path, follow));
  }

  *#stat(path: Name, follow: boolean): Steps<Attributes> {
    const found = yield* this.#existing('fs.read', follow ? 'stat' : 'lstat', path, follow);
    return found.attributes;
  }

  realpath(path: Name): Answer<Name> {
    return settle(this.#realpath(path));
  }

  *#realpath(path: Name): Steps<Name> {
    const resolved = yield* this.#walk('fs.read', 'realpath', path, true);
    if (resolved.found === undefined) throw failure('ENOENT', 'realpath', path);
    return pathOf(resolved.path);
  }

  readdir(path: Name): Answer<readonly Entry[]> {
    return settle(this.#readdir(path));
  }

  *#readdir(path: Name): Steps<readonly Entry[]> {
    const resolved = yield* this.#walk('fs.read', 'scandir', path, true);
    const { found } = resolved;
    if (found === undefined) throw failure('ENOENT', 'scandir', path);
    const entries = yield* ask(engineOf(found).readdir(found.attributes.inode));
    return entries.filter(({ name }) => this.#gate.shows([...resolved.path, name]));
  }

  readlink(path: Name): Answer<Name> {
    return settle(this.#readlink(path));
  }

  *#readlink(path: Name): Steps<Name> {
    const found = yield* this.#existing('fs.read', 'readlink', path, false);
    return yield* ask(engineOf(found).readlink(found.attributes.inode));
  }

  open(path: Name, flags: OpenFlags, creation: Creation): Answer<OpenedFile> {
    const steps = () => this.#open(path, flags, creation);
    return settle(flags.exclusive === true ? steps() : againWhenOvertaken(steps));
  }

  *#open(path: Name, flags: OpenFlags, creation: Creation): Steps<OpenedFile> {
    const first: TreeScope = flags.read ? 'fs.read' : 'fs.write';
    this.#gate.enter(first, 'open', path);
    const changes = flags.write || flags.truncate === true;
    if (changes) this.#gate.enter('fs.write', 'open', path);
    const resolved = yield* this.#resolved(first, 'open', path, flags.exclusive !== true);
    const { found, above, name } = resolved;
    if (found === undefined) {
      if (flags.create !== true) {
        this.#gate.pass(first, 'open', resolved.path);
        throw failure('ENOENT', 'open', path);
      }
      this.#gate.enter('fs.create', 'open', path);
      this.#gate.pass('fs.create', 'open', resolved.path);
      if (flags.write) this.#gate.pass('fs.write', 'open', resolved.path);
      if (resolved.directoryOnly) throw failure('EISDIR', 'open', path);
      const into = directoryOf(above);
      const filesystem = engineOf(into);
      const { attributes, handle } = yield* ask(
        filesystem.create(into.attributes.inode, name, creation, { ...flags, truncate: false }),
      );
      return { filesystem, handle, inode: attributes.inode, path: resolved.path };
    }
    if (flags.read) this.#gate.pass('fs.read', 'open', resolved.path);
    if (changes) this.#gate.pass('fs.write', 'open', resolved.path);
    if (flags.create === true && flags.exclusive === true) throw failure('EEXIST', 'open', path);
    if (flags.create === true && found.attributes.kind === 'directory') throw failure('EISDIR', 'open', path);
    const filesystem = engineOf(found);
    // As Linux has it, also of what is then only read.
    if (changes && !flags.write) yield* ask(filesystem.setattr(found.attributes.inode, { size: 0 }));
    const handle = yield* ask(filesystem.open(found.attributes.inode, flags));
    return { filesystem, handle, inode: found.attributes.inode, path: resolved.path };
  }

  setattr(path: Name, changes: Changes, follow: boolean): Answer<Attributes> {
    return settle(this.#setattr(path, changes, follow));
  }

  *#setattr(path: Name, changes: Changes, follow: boolean): Steps<Attributes> {
    const scope = changes.size === undefined ? 'fs.metadata' : 'fs.write';
    const found = yield* this.#existing(scope, changes.size === undefined ? 'setattr' : 'truncate', path, follow);
    return yield* ask(engineOf(found).setattr(found.attributes.inode, changes));
  }

  mkdir(path: Name, creation: Creation): Answer<Attributes> {
    return settle(
      this.#make('mkdir', path, true, (filesystem, directory, name) => filesystem.mkdir(directory, name, creation)),
    );
  }

  symlink(target: Name, path: Name, creation: Creation): Answer<Attributes> {
    return settle(
      this.#make('symlink', path, false, (filesystem, directory, name) =>
        filesystem.symlink(directory, name, target, creation),
      ),
    );
  }

  *#make(
    operation: string,
    path: Name,
    slash: boolean,
    act: (filesystem: FileSystem, directory: number, name: Name) => Answer<Attributes>,
  ): Steps<Attributes> {
    // A slash behind a link that is there does not lead through it: the name is taken.
    const plain = path.replace(/\/+$/, '') || path;
    const { found, above, name } = yield* this.#walk('fs.create', operation, plain, false);
    if (found !== undefined) throw failure('EEXIST', operation, path);
    if (plain !== path && !slash) throw failure('ENOENT', operation, path);
    const into = directoryOf(above);
    return yield* ask(act(engineOf(into), into.attributes.inode, name));
  }

  link(path: Name, newPath: Name): Answer<Attributes> {
    return settle(this.#link(path, newPath));
  }

  *#link(path: Name, newPath: Name): Steps<Attributes> {
    const found = yield* this.#existing('fs.read', 'link', path, false);
    // A second name is a second way to write: whoever may make it has to be allowed to write the first.
    const first = yield* this.#walk('fs.write', 'link', path, false);
    const target = yield* this.#walk('fs.create', 'link', newPath, false);
    if (target.found !== undefined) throw failure('EEXIST', 'link', newPath);
    if (target.directoryOnly) throw failure('ENOENT', 'link', newPath);
    this.#gate.move('link', first.path, target.path, true);
    const into = directoryOf(target.above);
    if (into.mount !== found.mount || first.found?.attributes.inode !== found.attributes.inode) {
      throw failure('EXDEV', 'link', newPath, 'both names have to be in one filesystem');
    }
    return yield* ask(engineOf(into).link(found.attributes.inode, into.attributes.inode, target.name));
  }

  unlink(path: Name): Answer<void> {
    return settle(this.#remove('unlink', path));
  }

  rmdir(path: Name): Answer<void> {
    return settle(this.#remove('rmdir', path));
  }

  *#remove(operation: 'unlink' | 'rmdir', path: Name): Steps<void> {
    const resolved = yield* this.#walk('fs.delete', operation, path, false);
    const { above, name } = resolved;
    if (resolved.found === undefined) throw failure('ENOENT', operation, path);
    this.#refuseMountPoint(operation, path, resolved);
    const from = directoryOf(above);
    yield* ask(engineOf(from)[operation](from.attributes.inode, name));
  }

  rename(path: Name, newPath: Name, rule: RenameRule = 'replace'): Answer<void> {
    return settle(this.#rename(path, newPath, rule));
  }

  *#rename(path: Name, newPath: Name, rule: RenameRule): Steps<void> {
    const source = yield* this.#walk('fs.delete', 'rename', path, false);
    const target = yield* this.#walk('fs.create', 'rename', newPath, false);
    this.#gate.move(
      'rename',
      source.path,
      target.path,
      source.found !== undefined && isShared(source.found.attributes, engineOf(source.found)),
    );
    if (target.found !== undefined) this.#gate.pass('fs.delete', 'rename', target.path);
    if (source.found === undefined) throw failure('ENOENT', 'rename', path);
    this.#refuseMountPoint('rename', path, source);
    this.#refuseMountPoint('rename', newPath, target);
    if (target.directoryOnly && source.found.attributes.kind !== 'directory')
      throw failure('ENOTDIR', 'rename', newPath);
    const [from, into] = [directoryOf(source.above), directoryOf(target.above)];
    if (from.mount !== into.mount) throw failure('EXDEV', 'rename', newPath, 'both names have to be in one filesystem');
    const inside = this.table.mounts.some(
      ({ path: at }) => at.length > source.path.length && source.path.every((name, index) => name === at[index]),
    );
    if (inside) throw failure('EBUSY', 'rename', path, 'something is mounted below it');
    yield* ask(engineOf(from).rename(from.attributes.inode, source.name, into.attributes.inode, target.name, rule));
  }

  #refuseMountPoint(operation: string, path: Name, { name, path: resolved }: Resolved): void {
    if (name === '')
      throw failure(resolved.length === 0 ? 'EBUSY' : 'EINVAL', operation, path, 'expected a name at the end');
    if (this.table.at(resolved) !== undefined) throw failure('EBUSY', operation, path, 'something is mounted there');
  }

  *#walk(scope: TreeScope, operation: string, path: Name, follow: boolean): Steps<Resolved> {
    this.#gate.enter(scope, operation, path);
    const resolved = yield* this.#resolved(scope, operation, path, follow);
    this.#gate.pass(scope, operation, resolved.path);
    return resolved;
  }

  /** What is hidden on the way is not there: not its kind, not where it leads, and nothing behind it. */
  *#resolved(scope: TreeScope, operation: string, path: Name, follow: boolean): Steps<Resolved> {
    const shown = (at: readonly Name[], rest: () => readonly Name[]) => {
      if (!this.#gate.shows(at)) this.#gate.pass(scope, operation, [...at, ...rest()]);
    };
    return yield* resolve(this.table, path, { follow, shown: this.#gate === openGate ? undefined : shown });
  }

  *#existing(scope: TreeScope, operation: string, path: Name, follow: boolean): Steps<TreePlace> {
    const { found } = yield* this.#walk(scope, operation, path, follow);
    if (found === undefined) throw failure('ENOENT', operation, path);
    return found;
  }
}

/** What has one name alone is moved whole. */
export function isShared({ kind, links }: Attributes, { capabilities }: FileSystem): boolean {
  return capabilities.hardLinks && (kind === 'directory' || links > 1);
}

function directoryOf(above: readonly TreePlace[]): TreePlace {
  const place = above.at(-1);
  if (place === undefined) throw failure('EIO', 'resolve', undefined, 'the walk lost its root');
  return place;
}
