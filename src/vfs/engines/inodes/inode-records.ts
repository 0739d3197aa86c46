/**
 * The records of an inode store and how they hang together: link counts, parents, orphans and times. What a caller is refused for its
 * rights or for space is checked before.
 */
import { failure } from '../../failure.js';
import type { Attributes, Creation, Inode, Kind } from '../../filesystem.js';
import { checkName, type Name } from '../../names.js';
import type { InodeRecord, InodeStore } from './inode-store.js';
import { now } from './inode-time.js';
import type { OpenFiles } from './open-files.js';

export const mostLinks = 65_000;

export class InodeRecords {
  readonly #store: InodeStore;
  readonly #open: OpenFiles;
  readonly #limits: { readonly inodes?: number | undefined };

  constructor(store: InodeStore, open: OpenFiles, limits: { readonly inodes?: number | undefined }) {
    this.#store = store;
    this.#open = open;
    this.#limits = limits;
  }

  record(inode: Inode, operation: string): InodeRecord {
    const record = this.#store.get(inode);
    if (record === undefined) throw failure('ESTALE', operation);
    return record;
  }

  directory(inode: Inode, operation: string): InodeRecord {
    const record = this.record(inode, operation);
    if (record.kind !== 'directory') throw failure('ENOTDIR', operation);
    return record;
  }

  child(directory: Inode, name: Name, operation: string): InodeRecord {
    const inode = this.#store.child(directory, name);
    if (inode === undefined) throw failure('ENOENT', operation, name);
    return this.record(inode, operation);
  }

  make(
    operation: string,
    directory: Inode,
    name: Name,
    { mode, uid, gid }: Creation,
    kind: Kind,
    device: number,
    target?: Name,
  ): Attributes {
    const into = this.directory(directory, operation);
    checkName(operation, name);
    if (into.links === 0) throw failure('ENOENT', operation, name, 'its directory was removed');
    if (this.#store.child(directory, name) !== undefined) throw failure('EEXIST', operation, name);
    if (kind === 'directory' && into.links >= mostLinks) throw failure('EMLINK', operation, name);
    const { inodes } = this.#limits;
    if (inodes !== undefined && this.#store.usage().inodes >= inodes) {
      throw failure('ENOSPC', operation, name, `the filesystem holds ${inodes} files`, 'raise its number of files');
    }
    const time = now();
    // A directory with set-gid hands its group on, as on Linux.
    const inherits = (into.mode & 0o2000) !== 0;
    const record: InodeRecord = {
      inode: this.#store.newInode(),
      kind,
      mode: (mode & 0o7777) | (inherits && kind === 'directory' ? 0o2000 : 0),
      links: kind === 'directory' ? 2 : 1,
      uid,
      gid: inherits ? into.gid : gid,
      device: kind === 'character' || kind === 'block' ? device : 0,
      size: target === undefined ? 0 : target.length,
      accessed: time,
      modified: time,
      changed: time,
      parent: directory,
      target,
      attributes: undefined,
    };
    this.#store.put(record);
    this.#store.setChild(directory, name, record.inode);
    if (kind === 'directory') into.links += 1;
    this.touch(into);
    this.#store.settled();
    return this.shown(record);
  }

  /** A directory that moves takes a link from the one and gives it to the other. */
  reparent(moved: InodeRecord, from: Inode, to: Inode): void {
    moved.changed = now();
    if (moved.kind === 'directory' && from !== to) {
      moved.parent = to;
      this.#relink(from, -1);
      this.#relink(to, 1);
    }
    this.#store.put(moved);
  }

  #relink(directory: Inode, by: number): void {
    const record = this.record(directory, 'rename');
    record.links += by;
    this.#store.put(record);
  }

  dropDirectory(record: InodeRecord, parent: InodeRecord): void {
    parent.links -= 1;
    this.touch(parent);
    record.links = 1;
    this.dropLink(record);
  }

  dropLink(record: InodeRecord): void {
    record.links -= 1;
    record.changed = now();
    if (record.links === 0) this.forgetOrphan(record);
    else this.#store.put(record);
    this.#store.settled();
  }

  /** Its last name is gone: it stays as long as it is open. */
  forgetOrphan(record: InodeRecord): void {
    if (this.#open.has(record.inode)) this.#store.put(record);
    else this.#store.remove(record.inode);
  }

  touch(directory: InodeRecord): void {
    directory.modified = now();
    directory.changed = directory.modified;
    this.#store.put(directory);
  }

  shown(record: InodeRecord): Attributes {
    const { inode, kind, mode, links, uid, gid, device, size, accessed, modified, changed } = record;
    const blocks = kind === 'file' ? Math.ceil(this.#store.stored(inode) / 512) : 0;
    return { inode, kind, mode, links, uid, gid, device, size, blocks, accessed, modified, changed };
  }
}
