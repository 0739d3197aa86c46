/**
 * The guard before an engine, for what knows inodes and not paths: a FUSE mount. An inode is known by the names it was
 * reached by, each of them checked; an operation on it is allowed where one of these names allows it. What is open is
 * checked again at each read and write, so that a right that is taken away is gone for the process that has the file
 * open, too.
 *
 * The kernel walks paths itself, so attributes of whatever is shown are answered without `fs.read`; everything else is
 * as the guard says. Names that lead nowhere are looked at each time: the process that gets a right sees the name at
 * once.
 */
import { type Answer, ask, type Steps, settle } from '../vfs/answer.js';
import { failure } from '../vfs/failure.js';
import type { Attributes, FileSystem, Handle, Inode, KnownEntry, OpenMode } from '../vfs/filesystem.js';
import { pathOf } from '../vfs/mount-table.js';
import type { Name } from '../vfs/names.js';
import { isShared, type TreeScope } from '../vfs/tree.js';
import type { Guard } from './guard.js';

type Path = readonly Name[];

interface OpenedPath {
  readonly path: Path;
}

/** The names that the process that asks has come by. */
class Places {
  readonly #root: Inode;
  readonly #byInode = new Map<Inode, Map<string, KnownEntry>>();

  constructor(root: Inode) {
    this.#root = root;
  }

  /** `isOnly`: it has no other name, so that one it was reached by before is gone. */
  add(entry: KnownEntry, isOnly = false): void {
    if (entry.inode === this.#root) return;
    const before = isOnly ? undefined : this.#byInode.get(entry.inode);
    const known = before ?? new Map<string, KnownEntry>();
    known.set(`${entry.directory}/${entry.name}`, entry);
    this.#byInode.set(entry.inode, known);
  }

  moved(inode: Inode, from: KnownEntry, to: KnownEntry): void {
    this.#byInode.get(inode)?.delete(`${from.directory}/${from.name}`);
    this.add(to);
  }

  forget(inode: Inode): void {
    this.#byInode.delete(inode);
  }

  /** Of a directory one, of a file as many as it has names. ESTALE where it was never reached by one. */
  paths(inode: Inode, operation: string, depth = 0): readonly Path[] {
    if (inode === this.#root) return [[]];
    const known = this.#byInode.get(inode);
    if (known === undefined || depth > 4_096) throw failure('ESTALE', operation);
    return [...known.values()].flatMap(({ directory, name }) =>
      this.paths(directory, operation, depth + 1).map((path) => [...path, name]),
    );
  }

  all(): readonly KnownEntry[] {
    return [...this.#byInode.values()].flatMap((known) => [...known.values()]);
  }
}

export function guardedFileSystem(inner: FileSystem, guard: Guard): FileSystem {
  const places = new Places(inner.root);
  const open = new Map<Handle, OpenedPath>();

  const pass = (scope: TreeScope, operation: string, path: Path) => {
    guard.enter(scope, operation, pathOf(path));
    guard.pass(scope, operation, path);
  };
  /** The path that allows it. */
  const allowed = (scope: TreeScope, operation: string, inode: Inode): Path => {
    const paths = places.paths(inode, operation);
    const path = paths.find((each) => guard.allows(scope, each)) ?? paths[0] ?? [];
    pass(scope, operation, path);
    return path;
  };
  const directory = (inode: Inode, operation: string): Path => places.paths(inode, operation)[0] ?? [];
  const passEntry = (scope: TreeScope, operation: string, parent: Inode, name: Name): Path => {
    const path = [...directory(parent, operation), name];
    pass(scope, operation, path);
    return path;
  };
  const reached = <T extends Attributes>(parent: Inode, name: Name, found: T): T => {
    const isOnly = found.kind === 'directory' || found.links <= 1;
    places.add({ inode: found.inode, directory: parent, name }, isOnly);
    return found;
  };
  const passHandle = (scope: TreeScope, operation: string, handle: Handle) => {
    const opened = open.get(handle);
    if (opened !== undefined) pass(scope, operation, opened.path);
  };
  const passMode = (mode: OpenMode, operation: string, pass: (scope: TreeScope) => Path): Path => {
    const read = mode.read ? pass('fs.read') : undefined;
    const written = mode.write || mode.truncate === true ? pass('fs.write') : undefined;
    const path = written ?? read;
    if (path === undefined) throw failure('EINVAL', operation);
    return path;
  };
  const opened = (handle: Handle, path: Path): Handle => {
    open.set(handle, { path });
    return handle;
  };

  const own: Partial<FileSystem> = {
    lookup: (parent, name) => {
      const path = [...directory(parent, 'lookup'), name];
      if (!guard.shows(path)) guard.pass('fs.read', 'lookup', path);
      return then(inner.lookup(parent, name), (found) =>
        found === undefined ? undefined : reached(parent, name, found),
      );
    },
    getattr: (inode) => {
      const paths = places.paths(inode, 'getattr');
      if (inode !== inner.root && !paths.some((path) => guard.shows(path))) {
        guard.pass('fs.read', 'getattr', paths[0] ?? []);
      }
      return inner.getattr(inode);
    },
    setattr: (inode, changes) => {
      const { size, ...others } = changes;
      if (size !== undefined) allowed('fs.write', 'truncate', inode);
      if (Object.values(others).some((value) => value !== undefined)) allowed('fs.metadata', 'setattr', inode);
      return inner.setattr(inode, changes);
    },
    create: (parent, name, creation, mode) => {
      const path = passEntry('fs.create', 'create', parent, name);
      if (mode.write) pass('fs.write', 'create', path);
      return then(inner.create(parent, name, creation, mode), ({ attributes, handle }) => ({
        attributes: reached(parent, name, attributes),
        handle: opened(handle, path),
      }));
    },
    mkdir: (parent, name, creation) => {
      passEntry('fs.create', 'mkdir', parent, name);
      return then(inner.mkdir(parent, name, creation), (made) => reached(parent, name, made));
    },
    mknod: (parent, name, creation, kind, device) => {
      passEntry('fs.create', 'mknod', parent, name);
      return then(inner.mknod(parent, name, creation, kind, device), (made) => reached(parent, name, made));
    },
    symlink: (parent, name, target, creation) => {
      passEntry('fs.create', 'symlink', parent, name);
      return then(inner.symlink(parent, name, target, creation), (made) => reached(parent, name, made));
    },
    link: (inode, parent, name) => {
      allowed('fs.read', 'link', inode);
      // A second name is a second way to write.
      allowed('fs.write', 'link', inode);
      const path = passEntry('fs.create', 'link', parent, name);
      if (guard.allows('fs.metadata', path)) allowed('fs.metadata', 'link', inode);
      return then(inner.link(inode, parent, name), (made) => reached(parent, name, made));
    },
    open: (inode, mode) => {
      const path = passMode(mode, 'open', (scope) => allowed(scope, 'open', inode));
      return then(inner.open(inode, mode), (handle) => opened(handle, path));
    },
    read: (handle, offset, length) => {
      passHandle('fs.read', 'read', handle);
      return inner.read(handle, offset, length);
    },
    write: (handle, offset, bytes) => {
      passHandle('fs.write', 'write', handle);
      return inner.write(handle, offset, bytes);
    },
    allocate: (handle, offset, length, how) => {
      passHandle('fs.write', 'allocate', handle);
      return inner.allocate(handle, offset, length, how);
    },
    seek: (handle, offset, wanted) => {
      passHandle('fs.read', 'seek', handle);
      return inner.seek(handle, offset, wanted);
    },
    release: (handle) => {
      open.delete(handle);
      return inner.release(handle);
    },
    readdir: (inode) => {
      const path = allowed('fs.read', 'readdir', inode);
      return then(inner.readdir(inode), (entries) => entries.filter(({ name }) => guard.shows([...path, name])));
    },
    unlink: (parent, name) => {
      passEntry('fs.delete', 'unlink', parent, name);
      return inner.unlink(parent, name);
    },
    rmdir: (parent, name) => {
      passEntry('fs.delete', 'rmdir', parent, name);
      return inner.rmdir(parent, name);
    },
    rename: (from, name, to, newName, rule) => {
      const [source, target] = [
        passEntry('fs.delete', 'rename', from, name),
        passEntry('fs.create', 'rename', to, newName),
      ];
      const steps = function* (): Steps<void> {
        const there = yield* ask(inner.lookup(from, name));
        guard.move('rename', source, target, there !== undefined && isShared(there, inner));
        const replaced = yield* ask(inner.lookup(to, newName));
        if (rule === 'exchange')
          guard.move('rename', target, source, replaced !== undefined && isShared(replaced, inner));
        if (replaced !== undefined) pass('fs.delete', 'rename', target);
        if (rule === 'exchange') pass('fs.create', 'rename', source);
        yield* ask(inner.rename(from, name, to, newName, rule));
        const moved = yield* ask(inner.lookup(to, newName));
        const place = (inode: Inode, directoryOf: Inode, called: Name) => ({
          inode,
          directory: directoryOf,
          name: called,
        });
        if (moved !== undefined) {
          places.moved(moved.inode, place(moved.inode, from, name), place(moved.inode, to, newName));
        }
        if (rule === 'exchange' && replaced !== undefined) {
          places.moved(replaced.inode, place(replaced.inode, to, newName), place(replaced.inode, from, name));
        }
      };
      return settle(steps());
    },
    readlink: (inode) => {
      allowed('fs.read', 'readlink', inode);
      return inner.readlink(inode);
    },
    getxattr: (inode, name) => {
      allowed('fs.read', 'getxattr', inode);
      return inner.getxattr(inode, name);
    },
    listxattr: (inode) => {
      allowed('fs.read', 'listxattr', inode);
      return inner.listxattr(inode);
    },
    setxattr: (inode, name, value, rule) => {
      allowed('fs.metadata', 'setxattr', inode);
      return inner.setxattr(inode, name, value, rule);
    },
    removexattr: (inode, name) => {
      allowed('fs.metadata', 'removexattr', inode);
      return inner.removexattr(inode, name);
    },
    watch: () => {
      throw failure('ENOTSUP', 'watch', undefined, 'a guarded tree is not watched');
    },
    forget: (inode) => {
      places.forget(inode);
      inner.forget?.(inode);
    },
    invalidated: (listener) => guard.changed(() => listener(places.all())),
  };
  return new Proxy(inner, {
    get: (target, member) => {
      // Nothing lasts: a right may be taken away.
      if (member === 'lasting') return undefined;
      const mine = own[member as keyof FileSystem];
      if (mine !== undefined) return mine;
      const value = Reflect.get(target, member, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function then<T, R>(answer: Answer<T>, act: (value: T) => R): Answer<R> {
  return answer instanceof Promise ? answer.then(act) : act(answer);
}
