/**
 * The mounts of a table as one engine, for what knows one: a FUSE mount. An inode's number says which mount it is of, so nothing is
 * remembered of any; only the directories that something is mounted on, and those above them, which stay where they are.
 */
import { type Answer, ask, askEach, type Steps, settle } from '../../answer.js';
import { failure } from '../../failure.js';
import type { Attributes, Capabilities, Entry, FileSystem, Handle, Inode, Region } from '../../filesystem.js';
import { type MountTable, pathOf, type TableMount } from '../../mount-table.js';
import type { Name } from '../../names.js';
import { resolve } from '../../resolve.js';

interface Inner {
  readonly index: number;
  readonly engine: FileSystem;
  readonly number: number;
}

export interface MountPoints {
  /** By directory and name: the mount that is there. */
  readonly at: ReadonlyMap<string, number>;
  /** Directories that a mount point is in, and all above. */
  readonly above: ReadonlySet<string>;
}

const keyOf = (index: number, inode: Inode, name: Name) => `${index}:${inode}:${name}`;
const inodeKey = (index: number, inode: Inode) => `${index}:${inode}`;

/** The mount points have to be there: mount-points. */
export function joined(table: MountTable): Answer<FileSystem> {
  return settle(joining(table));
}

function* joining(table: MountTable): Steps<FileSystem> {
  const { mounts } = table;
  const at = new Map<string, number>();
  const above = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    if (mount.path.length === 0) continue;
    const { above: places } = yield* resolve(table, pathOf(mount.path), { follow: false });
    for (const place of places) above.add(inodeKey(mounts.indexOf(place.mount), place.attributes.inode));
    const parent = places.at(-1);
    const name = mount.path.at(-1) ?? '';
    if (parent !== undefined) at.set(keyOf(mounts.indexOf(parent.mount), parent.attributes.inode, name), index);
  }
  return new JoinedFileSystem(table, { at, above });
}

class JoinedFileSystem implements FileSystem {
  readonly label: string;
  readonly root: Inode;
  readonly capabilities: Capabilities;
  readonly changesOutside: boolean;
  readonly flush?: (handle: Handle) => Answer<void>;
  readonly #mounts: readonly TableMount[];
  readonly #points: MountPoints;

  constructor({ mounts, root }: MountTable, points: MountPoints) {
    this.#mounts = mounts;
    this.#points = points;
    this.label = mounts.map(({ path, filesystem }) => `${pathOf(path)}=${filesystem.label}`).join(' ');
    this.root = this.#outer(mounts.indexOf(root), root.filesystem.root);
    if (mounts.some(({ filesystem }) => filesystem.flush !== undefined)) {
      this.flush = (handle) => this.#at(handle, (on, own) => on.flush?.(own));
    }
    this.changesOutside = mounts.some(({ filesystem }) => filesystem.changesOutside === true);
    const all = mounts.map(({ filesystem }) => filesystem.capabilities);
    const every = (name: keyof Capabilities) => all.every((each) => each[name]);
    this.capabilities = {
      writable: all.some(({ writable }) => writable),
      hardLinks: every('hardLinks'),
      symlinks: every('symlinks'),
      devices: every('devices'),
      attributes: every('attributes'),
      owners: every('owners'),
      modes: every('modes'),
      byteNames: every('byteNames'),
      holes: every('holes'),
      exchange: every('exchange'),
      watch: false,
      durable: every('durable'),
      sharedLocks: all.some(({ sharedLocks }) => sharedLocks),
      immediate: every('immediate'),
    };
  }

  lookup(directory: Inode, name: Name): Answer<Attributes | undefined> {
    const { index, engine, number } = this.#inner(directory);
    const mounted = this.#points.at.get(keyOf(index, number, name));
    if (mounted !== undefined) return this.getattr(this.#rootOf(mounted));
    return then(engine.lookup(number, name), (found) => (found === undefined ? undefined : this.#shown(index, found)));
  }

  getattr(inode: Inode): Answer<Attributes> {
    const { index, engine, number } = this.#inner(inode);
    return then(engine.getattr(number), (found) => this.#shown(index, found));
  }

  setattr: FileSystem['setattr'] = (inode, changes) => {
    const { index, engine, number } = this.#inner(inode);
    return then(engine.setattr(number, changes), (found) => this.#shown(index, found));
  };

  create: FileSystem['create'] = (directory, name, creation, mode) => {
    const { index, engine, number } = this.#inner(directory);
    return then(engine.create(number, name, creation, mode), ({ attributes, handle }) => ({
      attributes: this.#shown(index, attributes),
      handle: this.#outer(index, handle),
    }));
  };

  mkdir: FileSystem['mkdir'] = (directory, name, creation) => {
    const { index, engine, number } = this.#inner(directory);
    return then(engine.mkdir(number, name, creation), (made) => this.#shown(index, made));
  };

  mknod: FileSystem['mknod'] = (directory, name, creation, kind, device) => {
    const { index, engine, number } = this.#inner(directory);
    return then(engine.mknod(number, name, creation, kind, device), (made) => this.#shown(index, made));
  };

  symlink: FileSystem['symlink'] = (directory, name, target, creation) => {
    const { index, engine, number } = this.#inner(directory);
    return then(engine.symlink(number, name, target, creation), (made) => this.#shown(index, made));
  };

  link: FileSystem['link'] = (inode, directory, name) => {
    const [from, into] = [this.#inner(inode), this.#inner(directory)];
    if (from.index !== into.index) throw failure('EXDEV', 'link', name, 'both names have to be in one filesystem');
    return then(into.engine.link(from.number, into.number, name), (made) => this.#shown(into.index, made));
  };

  open: FileSystem['open'] = (inode, mode) => {
    const { index, engine, number } = this.#inner(inode);
    return then(engine.open(number, mode), (handle) => this.#outer(index, handle));
  };

  read: FileSystem['read'] = (handle, offset, length) => this.#at(handle, (on, own) => on.read(own, offset, length));
  write: FileSystem['write'] = (handle, offset, bytes) => this.#at(handle, (on, own) => on.write(own, offset, bytes));
  allocate: FileSystem['allocate'] = (handle, offset, length, how) =>
    this.#at(handle, (on, own) => on.allocate(own, offset, length, how));
  seek: FileSystem['seek'] = (handle, offset, wanted) => this.#at(handle, (on, own) => on.seek(own, offset, wanted));
  fsync: FileSystem['fsync'] = (handle) => this.#at(handle, (on, own) => on.fsync(own));
  lock: FileSystem['lock'] = (handle, request) => this.#at(handle, (on, own) => on.lock(own, request));
  release: FileSystem['release'] = (handle) => this.#at(handle, (on, own) => on.release(own));

  readdir(directory: Inode): Answer<readonly Entry[]> {
    const { index, engine, number } = this.#inner(directory);
    return then(engine.readdir(number), (entries) =>
      entries.map((entry): Entry => {
        const mounted = this.#points.at.get(keyOf(index, number, entry.name));
        if (mounted === undefined) return { ...entry, inode: this.#outer(index, entry.inode) };
        return { name: entry.name, inode: this.#rootOf(mounted), kind: 'directory' };
      }),
    );
  }

  unlink: FileSystem['unlink'] = (directory, name) => {
    this.#refusePoint('unlink', directory, name);
    return this.#at(directory, (on, own) => on.unlink(own, name));
  };

  rmdir: FileSystem['rmdir'] = (directory, name) => {
    this.#refusePoint('rmdir', directory, name);
    return this.#at(directory, (on, own) => on.rmdir(own, name));
  };

  rename: FileSystem['rename'] = (directory, name, to, newName, rule) => {
    const [from, into] = [this.#inner(directory), this.#inner(to)];
    this.#refusePoint('rename', directory, name);
    this.#refusePoint('rename', to, newName);
    if (from.index !== into.index) throw failure('EXDEV', 'rename', newName, 'both names have to be in one filesystem');
    const { engine } = from;
    const refuseAbove = (found: Attributes | undefined) => {
      if (found !== undefined && this.#points.above.has(inodeKey(from.index, found.inode))) {
        throw failure('EBUSY', 'rename', name, 'something is mounted below it');
      }
    };
    const steps = function* (): Steps<void> {
      refuseAbove(yield* ask(engine.lookup(from.number, name)));
      if (rule === 'exchange') refuseAbove(yield* ask(engine.lookup(into.number, newName)));
      yield* ask(engine.rename(from.number, name, into.number, newName, rule));
    };
    return settle(steps());
  };

  readlink: FileSystem['readlink'] = (inode) => this.#at(inode, (on, own) => on.readlink(own));
  getxattr: FileSystem['getxattr'] = (inode, name) => this.#at(inode, (on, own) => on.getxattr(own, name));
  setxattr: FileSystem['setxattr'] = (inode, name, value, rule) =>
    this.#at(inode, (on, own) => on.setxattr(own, name, value, rule));
  listxattr: FileSystem['listxattr'] = (inode) => this.#at(inode, (on, own) => on.listxattr(own));
  removexattr: FileSystem['removexattr'] = (inode, name) => this.#at(inode, (on, own) => on.removexattr(own, name));

  statfs: FileSystem['statfs'] = () => this.#at(this.root, (on) => on.statfs());

  region(inode: Inode): Region {
    const { index, engine } = this.#inner(inode);
    return { root: this.#outer(index, engine.root), path: pathOf(this.#mounts[index]?.path ?? []) };
  }

  forget(inode: Inode): void {
    const { index, engine, number } = this.#inner(inode);
    if (number !== engine.root && !this.#points.above.has(inodeKey(index, number))) engine.forget?.(number);
  }

  watch(): never {
    throw failure('ENOTSUP', 'watch', undefined, 'a table of trees is not watched');
  }

  sync(): Answer<void> {
    return settle(askEach(this.#mounts, ({ filesystem }) => filesystem.sync()));
  }

  close(): Answer<void> {
    return settle(askEach([...this.#mounts].reverse(), ({ filesystem }) => filesystem.close()));
  }

  #inner(outer: number): Inner {
    const index = outer % this.#mounts.length;
    const engine = this.#mounts[index]?.filesystem;
    if (engine === undefined) throw failure('ESTALE', 'lookup');
    return { index, engine, number: (outer - index) / this.#mounts.length };
  }

  #outer(index: number, number: number): number {
    return number * this.#mounts.length + index;
  }

  #rootOf(index: number): Inode {
    return this.#outer(index, this.#mounts[index]?.filesystem.root ?? 0);
  }

  #at<T>(outer: Inode | Handle, act: (engine: FileSystem, number: number) => Answer<T>): Answer<T> {
    const { engine, number } = this.#inner(outer);
    return act(engine, number);
  }

  #shown(index: number, attributes: Attributes): Attributes {
    return { ...attributes, inode: this.#outer(index, attributes.inode) };
  }

  #refusePoint(operation: string, directory: Inode, name: Name): void {
    const { index, number } = this.#inner(directory);
    if (!this.#points.at.has(keyOf(index, number, name))) return;
    throw failure('EBUSY', operation, name, 'something is mounted there');
  }
}

function then<T, R>(answer: Answer<T>, act: (value: T) => R): Answer<R> {
  return answer instanceof Promise ? answer.then(act) : act(answer);
}
