/**
 * One tree over another: what is asked for comes from the upper one where it has it and from the lower one where not; whatever changes,
 * changes in the upper one. The lower tree is never written to, and can be any engine; so can the upper one, if it is writable.
 *
 * A file of the lower tree is copied up when it is first changed; handles that are open on it move over. Of a file that has several names
 * there, each name is a file of its own here. Moving a directory of the lower tree copies it up whole.
 */
import { type Answer, ask, askEach, type Steps, settle } from '../../answer.js';
import { failure } from '../../failure.js';
import type {
  Attributes,
  Capabilities,
  Changes,
  Creation,
  Entry,
  FileSystem,
  Handle,
  Inode,
  Kind,
  Opened,
  OpenMode,
  RenameRule,
  Space,
} from '../../filesystem.js';
import { checkLock, LockTable } from '../../locks.js';
import { checkName, type Name, nameBytes } from '../../names.js';
import { readOnly } from '../readonly/readonly.js';
import { EngineTurns } from '../turns.js';
import { CopyUp } from './copy-up.js';
import { refuseMark } from './marks.js';
import { OverlayHandles } from './overlay-handles.js';
import { type OverlayNode, OverlayNodes } from './overlay-nodes.js';
import { overlayRename } from './overlay-rename.js';

export interface OverlayOptions {
  readonly upper: FileSystem;
  readonly lower: FileSystem;
}

/** Read-only where its upper tree is. */
export function overlayFileSystem(options: OverlayOptions): FileSystem {
  const overlay = new OverlayFileSystem(options);
  return options.upper.capabilities.writable ? overlay : readOnly(overlay);
}

class OverlayFileSystem implements FileSystem {
  readonly label: string;
  readonly root: Inode;
  readonly capabilities: Capabilities;
  readonly changesOutside: boolean;
  readonly flush?: (handle: Handle) => Answer<void>;
  readonly #upper: FileSystem;
  readonly #lower: FileSystem;
  readonly #nodes: OverlayNodes;
  readonly #handles: OverlayHandles;
  readonly #locks = new LockTable();
  readonly #copy: CopyUp;
  readonly #turns: EngineTurns;

  constructor({ upper, lower }: OverlayOptions) {
    this.#upper = upper;
    this.#lower = lower;
    this.label = `${upper.label} over ${lower.label}`;
    this.changesOutside = upper.changesOutside === true || lower.changesOutside === true;
    const immediate = upper.capabilities.immediate && lower.capabilities.immediate;
    this.capabilities = { ...upper.capabilities, watch: false, sharedLocks: false, immediate };
    if (upper.flush !== undefined) {
      this.flush = (handle) => {
        const { side, handle: inner } = this.#handles.at(handle, 'flush');
        return side.flush?.(inner);
      };
    }
    this.#nodes = new OverlayNodes(upper, lower);
    this.#handles = new OverlayHandles(upper, lower);
    this.#copy = new CopyUp(upper, lower, this.#nodes, (node, inode) => this.#handles.moveUp(node, inode));
    this.#turns = new EngineTurns(immediate);
    this.root = this.#nodes.root.inode;
  }

  lookup(directory: Inode, name: Name): Answer<Attributes | undefined> {
    const node = this.#nodes.directory(directory, 'lookup');
    if (name.length > nameBytes) checkName('lookup', name);
    return settle(this.#lookup(node, name));
  }

  *#lookup(directory: OverlayNode, name: Name): Steps<Attributes | undefined> {
    return (yield* this.#nodes.find(directory, name))?.attributes;
  }

  getattr(inode: Inode): Answer<Attributes> {
    return settle(this.#nodes.attributes(this.#nodes.at(inode, 'getattr')));
  }

  setattr(inode: Inode, changes: Changes): Answer<Attributes> {
    return this.#turns.take(() => this.#setattr(this.#nodes.at(inode, 'setattr'), changes));
  }

  *#setattr(node: OverlayNode, changes: Changes): Steps<Attributes> {
    if (changes.size !== undefined) {
      if (!(changes.size >= 0)) throw failure('EINVAL', 'setattr', undefined, 'expected a size of at least 0');
      if (node.kind === 'directory') throw failure('EISDIR', 'setattr');
      if (node.kind !== 'file') throw failure('EINVAL', 'setattr', undefined, 'only a file has a size');
    }
    yield* ask(this.#upper.setattr(yield* this.#copy.up(node, changes.size), changes));
    return yield* this.#nodes.attributes(node);
  }

  create(directory: Inode, name: Name, creation: Creation, mode: OpenMode): Answer<Opened> {
    return this.#turns.take(() => this.#create(directory, name, creation, mode));
  }

  *#create(directory: Inode, name: Name, creation: Creation, mode: OpenMode): Steps<Opened> {
    const [into, upper] = yield* this.#room('create', directory, name);
    const opened = yield* ask(this.#upper.create(upper, name, creation, mode));
    const attributes = this.#nodes.made(opened.attributes, into, name);
    const node = this.#nodes.at(attributes.inode, 'create');
    return { attributes, handle: this.#handles.add(node, this.#upper, opened.handle, mode) };
  }

  mkdir(directory: Inode, name: Name, creation: Creation): Answer<Attributes> {
    return this.#make('mkdir', directory, name, (into) => this.#upper.mkdir(into, name, creation));
  }

  mknod(directory: Inode, name: Name, creation: Creation, kind: Kind, device: number): Answer<Attributes> {
    if (kind === 'directory' || kind === 'symlink')
      throw failure('EINVAL', 'mknod', name, 'expected a file, a device, a pipe or a socket');
    return this.#make('mknod', directory, name, (into) => this.#upper.mknod(into, name, creation, kind, device));
  }

  symlink(directory: Inode, name: Name, target: Name, creation: Creation): Answer<Attributes> {
    return this.#make('symlink', directory, name, (into) => this.#upper.symlink(into, name, target, creation));
  }

  link(inode: Inode, directory: Inode, name: Name): Answer<Attributes> {
    const node = this.#nodes.at(inode, 'link');
    const link = function* (this: OverlayFileSystem): Steps<Attributes> {
      const [into, upper] = yield* this.#room('link', directory, name, () => {
        if (node.kind === 'directory') throw failure('EPERM', 'link', name, 'a directory has one name only');
      });
      const linked = yield* ask(this.#upper.link(yield* this.#copy.up(node), upper, name));
      return this.#nodes.made(linked, into, name);
    };
    return this.#turns.take(() => link.call(this));
  }

  open(inode: Inode, mode: OpenMode): Answer<Handle> {
    const node = this.#nodes.at(inode, 'open');
    if (!mode.write) return settle(this.#handles.open(node, mode));
    return this.#turns.take(() => this.#openToWrite(node, mode));
  }

  *#openToWrite(node: OverlayNode, mode: OpenMode): Steps<Handle> {
    if (node.kind === 'directory') throw failure('EISDIR', 'open');
    if (node.kind === 'symlink') throw failure('ELOOP', 'open');
    if (node.kind !== 'file') throw failure('ENXIO', 'open');
    yield* this.#copy.up(node, mode.truncate === true ? 0 : undefined);
    return yield* this.#handles.open(node, mode);
  }

  read(handle: Handle, offset: number, length: number): Answer<Buffer> {
    const { side, handle: inner } = this.#handles.at(handle, 'read');
    return side.read(inner, offset, length);
  }

  write(handle: Handle, offset: number, bytes: Uint8Array): Answer<number> {
    const { side, handle: inner } = this.#handles.at(handle, 'write');
    return side.write(inner, offset, bytes);
  }

  allocate(handle: Handle, offset: number, length: number, how: 'extend' | 'keep' | 'punch'): Answer<void> {
    const { side, handle: inner } = this.#handles.at(handle, 'allocate');
    return side.allocate(inner, offset, length, how);
  }

  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): Answer<number> {
    const { side, handle: inner } = this.#handles.at(handle, 'seek');
    return side.seek(inner, offset, wanted);
  }

  fsync(handle: Handle): Answer<void> {
    const { side, handle: inner } = this.#handles.at(handle, 'fsync');
    return side.fsync(inner);
  }

  /** Its own: a file stays the same one when it is copied up. */
  lock: FileSystem['lock'] = (handle, request) => {
    const { node, mode } = this.#handles.at(handle, 'lock');
    checkLock(request, mode);
    return this.#locks.lock(node.inode, handle, request);
  };

  release(handle: Handle): Answer<void> {
    const { side, handle: inner } = this.#handles.at(handle, 'release');
    this.#handles.remove(handle);
    this.#locks.released(handle);
    return side.release(inner);
  }

  readdir(directory: Inode): Answer<readonly Entry[]> {
    return settle(this.#readdir(this.#nodes.directory(directory, 'readdir')));
  }

  *#readdir(directory: OverlayNode): Steps<readonly Entry[]> {
    const listed = yield* this.#nodes.list(directory);
    return listed.map(({ name, node }) => ({ name, inode: node.inode, kind: node.kind }));
  }

  unlink(directory: Inode, name: Name): Answer<void> {
    return this.#turns.take(() => this.#remove('unlink', directory, name));
  }

  rmdir(directory: Inode, name: Name): Answer<void> {
    return this.#turns.take(() => this.#remove('rmdir', directory, name));
  }

  *#remove(operation: 'unlink' | 'rmdir', directory: Inode, name: Name): Steps<void> {
    const from = this.#nodes.directory(directory, operation);
    const found = yield* this.#nodes.find(from, name);
    if (found === undefined) throw failure('ENOENT', operation, name);
    const { node, covers } = found;
    if (operation === 'unlink' && node.kind === 'directory') throw failure('EISDIR', operation, name);
    if (operation === 'rmdir') {
      if (node.kind !== 'directory') throw failure('ENOTDIR', operation, name);
      if ((yield* this.#nodes.list(node)).length > 0) throw failure('ENOTEMPTY', operation, name);
    }
    const upper = yield* this.#copy.up(from);
    // First what hides the lower entry: anyone who looks before the next step sees what was there.
    if (covers) yield* this.#copy.hide(upper, name);
    if (node.upper !== undefined) {
      if (operation === 'rmdir') yield* this.#clear(node.upper);
      yield* ask(this.#upper[operation](upper, name));
    } else yield* ask(this.#upper.setattr(upper, { modified: 'now' }));
    this.#nodes.unnamed(node, from, name);
  }

  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): Answer<void> {
    const places = { upper: this.#upper, nodes: this.#nodes, copy: this.#copy };
    return this.#turns.take(() =>
      overlayRename(places, { directory, name, to, newName, rule }, (inode) => this.#clear(inode)),
    );
  }

  readlink(inode: Inode): Answer<Name> {
    return this.#side(inode, 'readlink', (side, inner) => side.readlink(inner));
  }

  getxattr(inode: Inode, name: Name): Answer<Buffer> {
    return this.#side(inode, 'getxattr', (side, inner) => side.getxattr(inner, name));
  }

  listxattr(inode: Inode): Answer<readonly Name[]> {
    return this.#side(inode, 'listxattr', (side, inner) => side.listxattr(inner));
  }

  setxattr(inode: Inode, name: Name, value: Uint8Array, rule: 'create' | 'replace' | 'any'): Answer<void> {
    return this.#changed(inode, 'setxattr', (upper) => this.#upper.setxattr(upper, name, value, rule));
  }

  removexattr(inode: Inode, name: Name): Answer<void> {
    return this.#changed(inode, 'removexattr', (upper) => this.#upper.removexattr(upper, name));
  }

  statfs(): Answer<Space> {
    return this.#upper.statfs();
  }

  forget(inode: Inode): void {
    this.#nodes.forget(inode);
  }

  watch(): never {
    throw failure('ENOTSUP', 'watch', undefined, 'overlays are not watched');
  }

  sync(): Answer<void> {
    return this.#upper.sync();
  }

  close(): Answer<void> {
    const release = () => settle(askEach(this.#handles.all(), ({ side, handle }) => side.release(handle)));
    const closings = [release, () => this.#upper.close(), () => this.#lower.close()];
    return this.#turns.take(() => askEach(closings, (close) => close()));
  }

  #make(
    operation: string,
    directory: Inode,
    name: Name,
    act: (upper: Inode) => Answer<Attributes>,
  ): Answer<Attributes> {
    const make = function* (this: OverlayFileSystem): Steps<Attributes> {
      const [into, upper] = yield* this.#room(operation, directory, name);
      return this.#nodes.made(yield* ask(act(upper)), into, name);
    };
    return this.#turns.take(() => make.call(this));
  }

  /** A directory of the upper tree where this name is free. ENOTDIR ENAMETOOLONG EEXIST */
  *#room(
    operation: string,
    directory: Inode,
    name: Name,
    check: () => void = () => undefined,
  ): Steps<readonly [OverlayNode, Inode]> {
    const into = this.#nodes.directory(directory, operation);
    checkName(operation, name);
    refuseMark(operation, name);
    check();
    if ((yield* this.#nodes.find(into, name)) !== undefined) throw failure('EEXIST', operation, name);
    return [into, yield* this.#copy.up(into)];
  }

  /** Takes away the marks in a directory that shows nothing, so that it is empty to its engine, too. */
  *#clear(upper: Inode): Steps<void> {
    for (const { name, kind } of yield* ask(this.#upper.readdir(upper))) {
      yield* ask(kind === 'directory' ? this.#upper.rmdir(upper, name) : this.#upper.unlink(upper, name));
    }
  }

  #side<T>(inode: Inode, operation: string, act: (side: FileSystem, inner: Inode) => Answer<T>): Answer<T> {
    const { upper, lower } = this.#nodes.at(inode, operation);
    if (upper !== undefined) return act(this.#upper, upper);
    if (lower === undefined) throw failure('ESTALE', operation);
    return act(this.#lower, lower);
  }

  #changed(inode: Inode, operation: string, act: (upper: Inode) => Answer<void>): Answer<void> {
    const change = function* (this: OverlayFileSystem): Steps<void> {
      yield* ask(act(yield* this.#copy.up(this.#nodes.at(inode, operation))));
    };
    return this.#turns.take(() => change.call(this));
  }
}
