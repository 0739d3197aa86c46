/**
 * What is changed in a tree, by path, while it is changed: an engine around an engine, of any kind. What was made and
 * is gone again is not a change; a directory that moves takes what was changed in it along. Times of access are
 * nobody's change.
 */
import { type Answer, ask, type Steps, settle } from './answer.js';
import type { Attributes, FileSystem, Handle, Inode } from './filesystem.js';
import { type Name, textFromName } from './names.js';

export interface TreeChange {
  readonly kind: 'added' | 'modified' | 'deleted';
  /** From the root of the tree, without a slash before it. */
  readonly path: string;
}

export interface RecordedChanges {
  readonly changes: readonly TreeChange[];
  /** Not in the list, which is full. */
  readonly more: number;
}

export interface RecordedTree {
  readonly filesystem: FileSystem;
  changes(): RecordedChanges;
}

type Kind = TreeChange['kind'];

export class ChangeLog {
  readonly #kinds = new Map<string, Kind>();
  readonly #most: number;
  #more = 0;

  constructor(most: number) {
    this.#most = most;
  }

  added(path: string): void {
    this.#put(path, this.#kinds.get(path) === 'deleted' ? 'modified' : 'added');
  }

  modified(path: string): void {
    if (!this.#kinds.has(path)) this.#put(path, 'modified');
  }

  deleted(path: string): void {
    if (this.#kinds.get(path) === 'added') this.#kinds.delete(path);
    else this.#put(path, 'deleted');
  }

  /** What is below a directory moves along. */
  moved(from: string, to: string, { replaces, isDirectory }: { replaces: boolean; isDirectory: boolean }): void {
    const below = isDirectory ? [...this.#kinds].filter(([path]) => path.startsWith(`${from}/`)) : [];
    this.deleted(from);
    if (replaces) this.modified(to);
    else this.added(to);
    for (const [path, kind] of below) {
      if (kind !== 'deleted') this.#put(`${to}${path.slice(from.length)}`, kind);
      this.#kinds.delete(path);
    }
  }

  /** Each of two has the other's name, with what is below it. */
  exchanged(one: string, other: string): void {
    const moved = (
      [
        [one, other],
        [other, one],
      ] as const
    ).flatMap(([from, to]) =>
      [...this.#kinds]
        .filter(([path]) => path.startsWith(`${from}/`))
        .map(([path, kind]) => ({ path, kind, to: `${to}${path.slice(from.length)}` })),
    );
    for (const { path } of moved) this.#kinds.delete(path);
    for (const { kind, to } of moved) this.#put(to, kind);
    this.modified(one);
    this.modified(other);
  }

  all(): RecordedChanges {
    const changes = [...this.#kinds].map(([path, kind]) => ({ kind, path }));
    return { changes: changes.sort((left, right) => (left.path < right.path ? -1 : 1)), more: this.#more };
  }

  #put(path: string, kind: Kind): void {
    if (this.#kinds.has(path) || this.#kinds.size < this.#most) this.#kinds.set(path, kind);
    else this.#more += 1;
  }
}

export function recordChanges(inner: FileSystem, most: number): RecordedTree {
  const log = new ChangeLog(most);
  const places = new Map<Inode, { readonly parent: Inode; readonly name: Name }>();
  const open = new Map<Handle, Inode>();
  /** Undefined where no one has come to it by its name. */
  const pathOf = (inode: Inode): string | undefined => {
    const names: string[] = [];
    for (let at = inode; at !== inner.root; ) {
      const place = places.get(at);
      if (place === undefined || names.length > 4_096) return undefined;
      names.unshift(place.name);
      at = place.parent;
    }
    return textFromName(names.join('/'));
  };
  const entry = (directory: Inode, name: Name): string => {
    const above = pathOf(directory);
    return above === undefined || above === '' ? textFromName(name) : `${above}/${textFromName(name)}`;
  };
  const touched = (inode: Inode | undefined) => {
    const path = inode === undefined ? undefined : pathOf(inode);
    if (path !== undefined && path !== '') log.modified(path);
  };
  const after = <T, R>(answer: Answer<T>, then: (value: T) => R): Answer<R> =>
    answer instanceof Promise ? answer.then(then) : then(answer);
  const made = <T extends { readonly inode: Inode }>(directory: Inode, name: Name, attributes: T): T => {
    places.set(attributes.inode, { parent: directory, name });
    log.added(entry(directory, name));
    return attributes;
  };
  /** Of what has lost this name: what is written to it from now on is not a change of what has the name later. */
  const lost = (found: Attributes | undefined, parent: Inode, name: Name) => {
    const place = found === undefined ? undefined : places.get(found.inode);
    if (found !== undefined && place?.parent === parent && place.name === name) places.delete(found.inode);
  };
  const own: Partial<FileSystem> = {
    lookup: (directory, name) =>
      after(inner.lookup(directory, name), (found) => {
        if (found !== undefined && found.inode !== inner.root) places.set(found.inode, { parent: directory, name });
        return found;
      }),
    setattr: (inode, changes) => {
      const { mode, uid, gid, size, modified } = changes;
      const changesIt = [mode, uid, gid, size, modified].some((value) => value !== undefined);
      return after(inner.setattr(inode, changes), (attributes) => {
        if (changesIt) touched(inode);
        return attributes;
      });
    },
    create: (directory, name, creation, mode) =>
      after(inner.create(directory, name, creation, mode), (opened) => {
        made(directory, name, opened.attributes);
        return opened;
      }),
    mkdir: (directory, name, creation) =>
      after(inner.mkdir(directory, name, creation), (found) => made(directory, name, found)),
    mknod: (directory, name, creation, kind, device) =>
      after(inner.mknod(directory, name, creation, kind, device), (found) => made(directory, name, found)),
    symlink: (directory, name, target, creation) =>
      after(inner.symlink(directory, name, target, creation), (found) => made(directory, name, found)),
    link: (inode, directory, name) =>
      after(inner.link(inode, directory, name), (found) => {
        log.added(entry(directory, name));
        return found;
      }),
    open: (inode, mode) =>
      after(inner.open(inode, mode), (handle) => {
        if (mode.truncate === true && mode.write) touched(inode);
        else if (mode.write) open.set(handle, inode);
        return handle;
      }),
    // The first write of each that was opened says it for all of them.
    write: (handle, offset, bytes) =>
      after(inner.write(handle, offset, bytes), (written) => {
        if (open.size > 0 && open.has(handle)) touched(open.get(handle));
        open.delete(handle);
        return written;
      }),
    allocate: (handle, offset, length, how) =>
      after(inner.allocate(handle, offset, length, how), () => touched(open.get(handle))),
    release: (handle) => {
      open.delete(handle);
      return inner.release(handle);
    },
    unlink: (directory, name) =>
      settle(
        (function* (): Steps<void> {
          const found = yield* ask(inner.lookup(directory, name));
          yield* ask(inner.unlink(directory, name));
          log.deleted(entry(directory, name));
          lost(found, directory, name);
        })(),
      ),
    rmdir: (directory, name) => after(inner.rmdir(directory, name), () => log.deleted(entry(directory, name))),
    rename: (directory, name, to, newName, rule) =>
      settle(
        (function* (): Steps<void> {
          const replaced = rule === 'keep' ? undefined : yield* ask(inner.lookup(to, newName));
          const [from, into] = [entry(directory, name), entry(to, newName)];
          yield* ask(inner.rename(directory, name, to, newName, rule));
          const moved = yield* ask(inner.lookup(to, newName));
          if (rule === 'replace' && replaced?.inode !== moved?.inode) lost(replaced, to, newName);
          if (moved !== undefined) places.set(moved.inode, { parent: to, name: newName });
          if (rule === 'exchange') {
            log.exchanged(from, into);
            if (replaced !== undefined) places.set(replaced.inode, { parent: directory, name });
          } else if (from !== into) {
            log.moved(from, into, { replaces: replaced !== undefined, isDirectory: moved?.kind === 'directory' });
          }
        })(),
      ),
    setxattr: (inode, name, value, rule) => after(inner.setxattr(inode, name, value, rule), () => touched(inode)),
    removexattr: (inode, name) => after(inner.removexattr(inode, name), () => touched(inode)),
    forget: (inode) => {
      places.delete(inode);
      inner.forget?.(inode);
    },
  };
  const filesystem = new Proxy(inner, {
    get: (target, member) => {
      const mine = own[member as keyof FileSystem];
      if (mine !== undefined) return mine;
      const value = Reflect.get(target, member, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { filesystem, changes: () => log.all() };
}
