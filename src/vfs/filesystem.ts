/**
 * The VFS: one contract, many engines. The map of `src/vfs`, which imports `base` alone:
 *
 *   filesystem      this file: what an engine does, and by which errors it refuses
 *   answer, names   answers that may come later; file names as bytes
 *   locks           advisory locks, and a table of them
 *   mount-table     which engine has a path: the longest prefix
 *   resolve         the one walker of `..`, links and mounts
 *   tree            a mount table and the walker as operations by path
 *   specification   `memory:`, `host:PATH`, `chunked:FILE[@SNAPSHOT]` and the others as text
 *   tree-plan       what a text comes to: engines at paths; read-plan makes it, table-file reads `vfs.toml`
 *   open-engine     opens what a plan says
 *   engines/NAME    one folder an engine; engines/inodes has what memory and chunked share
 *
 * An engine is one tree of inodes. It knows numbers and single names, never paths: there is nothing in it that could be walked
 * out of. It checks no mode bits: the kernel does for a mount (default_permissions), and the guard for everybody else.
 *
 * Each method lists its errors in the order they are checked. All of them may give EIO, and ESTALE where an inode is gone.
 * Those that write give EROFS first where the engine is read-only, and ENOSPC or EDQUOT last.
 */
import type { Answer } from './answer.js';
import type { Name } from './names.js';

/** Number of an inode: unique in its engine as long as it is linked, open or the root. */
export type Inode = number;
export type Handle = number;

export type Kind = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character' | 'block';

/** Nanoseconds since 1970. */
export type Time = bigint;

export interface Attributes {
  readonly inode: Inode;
  readonly kind: Kind;
  /** Permission bits with set-uid, set-gid and sticky: 0 to 0o7777. */
  readonly mode: number;
  readonly links: number;
  readonly uid: number;
  readonly gid: number;
  /** Of a device: major and minor number as the kernel joins them. */
  readonly device: number;
  readonly size: number;
  /** Of 512 bytes each. */
  readonly blocks: number;
  readonly accessed: Time;
  readonly modified: Time;
  readonly changed: Time;
}

export interface Changes {
  readonly mode?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly size?: number | undefined;
  readonly accessed?: Time | 'now' | undefined;
  readonly modified?: Time | 'now' | undefined;
}

/** Who a new inode belongs to, and its mode. */
export interface Creation {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface OpenMode {
  readonly read: boolean;
  readonly write: boolean;
  /** Every write goes to the end. */
  readonly append?: boolean | undefined;
  readonly truncate?: boolean | undefined;
}

export interface Opened {
  readonly attributes: Attributes;
  readonly handle: Handle;
}

export interface Entry {
  readonly name: Name;
  readonly inode: Inode;
  readonly kind: Kind;
}

/** A name that the process that asks knows of. */
export interface KnownEntry {
  readonly inode: Inode;
  readonly directory: Inode;
  readonly name: Name;
}

export type RenameRule = 'replace' | 'keep' | 'exchange';

export interface Space {
  readonly blockSize: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly files: number;
  readonly freeFiles: number;
  readonly nameBytes: number;
}

export interface Lock {
  readonly kind: 'shared' | 'exclusive';
  readonly start: number;
  /** The first byte after it; Infinity for whatever the file grows to. */
  readonly end: number;
}

export interface LockRequest {
  readonly family: 'ranges' | 'whole';
  /** Whose it is: the process that asks with the same word is the same. */
  readonly owner: string;
  /** `none` gives back what the owner has of the range. */
  readonly kind: Lock['kind'] | 'none';
  readonly start: number;
  readonly end: number;
  /** Only says what is in the way; nothing changes. */
  readonly test?: boolean | undefined;
}

export interface TreeChange {
  readonly kind: 'rename' | 'change';
  /** The directory it happened in. */
  readonly directory: Inode;
  readonly name: Name;
}

/** What an engine cannot do is declared here, and answers ENOTSUP (EPERM for links and devices, as the kernel's do). */
export interface Capabilities {
  readonly writable: boolean;
  readonly hardLinks: boolean;
  readonly symlinks: boolean;
  readonly devices: boolean;
  readonly attributes: boolean;
  readonly owners: boolean;
  /** Modes and times stay as they are set. */
  readonly modes: boolean;
  /** Names are any bytes; otherwise UTF-8, and another one is EINVAL. */
  readonly byteNames: boolean;
  readonly holes: boolean;
  readonly exchange: boolean;
  readonly watch: boolean;
  /** What fsync has acknowledged outlives the process. */
  readonly durable: boolean;
  /** Locks hold for everybody who uses the files that the tree is made of, not only for those who come through this engine. */
  readonly sharedLocks: boolean;
  /** Every method answers at once. */
  readonly immediate: boolean;
}

/** The part of a tree that a link in it may lead to. */
export interface Region {
  readonly root: Inode;
  /** Where it is in the whole tree, `/` for all of it. */
  readonly path: Name;
}

export interface FileSystem {
  /** For people: `memory:`, `host:/srv`. */
  readonly label: string;
  readonly root: Inode;
  readonly capabilities: Capabilities;
  /** Others change it meanwhile, so that nothing of it can be kept. Missing: as its kind of engine has it. */
  readonly changesOutside?: boolean | undefined;

  /** Undefined where there is no such name. ENOTDIR ENAMETOOLONG */
  lookup(directory: Inode, name: Name): Answer<Attributes | undefined>;

  getattr(inode: Inode): Answer<Attributes>;

  /** EINVAL (negative size) EISDIR (size of a directory) EINVAL (size of what is not a file) EPERM (owners) EFBIG */
  setattr(inode: Inode, changes: Changes): Answer<Attributes>;

  /** A new regular file, opened. ENOTDIR ENAMETOOLONG ENOENT (the directory was removed) EEXIST EMFILE */
  create(directory: Inode, name: Name, creation: Creation, mode: OpenMode): Answer<Opened>;

  /** ENOTDIR ENAMETOOLONG ENOENT EEXIST EMLINK */
  mkdir(directory: Inode, name: Name, creation: Creation): Answer<Attributes>;

  /** A file, fifo, socket or device. EINVAL (another kind) ENOTDIR ENAMETOOLONG ENOENT EEXIST EPERM (devices) */
  mknod(directory: Inode, name: Name, creation: Creation, kind: Kind, device: number): Answer<Attributes>;

  /** EISDIR (to write a directory) ELOOP (a link) ENXIO (what is not a file) EROFS EMFILE */
  open(inode: Inode, mode: OpenMode): Answer<Handle>;

  /** Fewer bytes only at the end. EBADF EINVAL (negative offset) EISDIR */
  read(handle: Handle, offset: number, length: number): Answer<Buffer>;

  /** All bytes, or none of them and an error. EBADF EINVAL EFBIG */
  write(handle: Handle, offset: number, bytes: Uint8Array): Answer<number>;

  /** Room from `offset` on: `extend` moves the end, `keep` does not, `punch` makes a hole. EBADF EINVAL ENOTSUP EFBIG */
  allocate(handle: Handle, offset: number, length: number, how: 'extend' | 'keep' | 'punch'): Answer<void>;

  /** Where the next data or hole at or after `offset` begins. EBADF EINVAL ENXIO (beyond the end, or no data follows) */
  seek(handle: Handle, offset: number, wanted: 'data' | 'hole'): Answer<number>;

  /** What was written is durable where the engine is. EBADF */
  fsync(handle: Handle): Answer<void>;

  /** Somebody who uses the handle has closed it, and others may not: the last time at which anybody hears of an error. EBADF */
  flush?(handle: Handle): Answer<void>;

  /**
   * Undefined where the owner has the lock now; else one of somebody else that is in the way, and nothing has changed. Never waits.
   * EBADF (unknown, or not open for a lock of this kind on a range that is not only tested) EINVAL (an empty range) ENOLCK ENOTSUP
   */
  lock(handle: Handle, request: LockRequest): Answer<Lock | undefined>;

  /** After this the handle is unknown, and its locks are given back. EBADF */
  release(handle: Handle): Answer<void>;

  /** Without `.` and `..`. ENOTDIR */
  readdir(directory: Inode): Answer<readonly Entry[]>;

  /** ENOTDIR ENOENT EISDIR */
  unlink(directory: Inode, name: Name): Answer<void>;

  /** ENOTDIR ENOENT ENOTDIR (it is a file) ENOTEMPTY */
  rmdir(directory: Inode, name: Name): Answer<void>;

  /**
   * `keep`: EEXIST where the target is there; `exchange`: both have to be there.
   * ENOTDIR ENAMETOOLONG ENOENT EINVAL (into itself) EEXIST EISDIR ENOTDIR ENOTEMPTY ENOTSUP
   */
  rename(directory: Inode, name: Name, to: Inode, newName: Name, rule: RenameRule): Answer<void>;

  /** ENOTDIR ENAMETOOLONG ENOENT EPERM (a directory) EEXIST EMLINK */
  link(inode: Inode, directory: Inode, name: Name): Answer<Attributes>;

  /** The target is bytes, and is not looked at. ENOTDIR ENAMETOOLONG ENOENT EEXIST EPERM (none here) */
  symlink(directory: Inode, name: Name, target: Name, creation: Creation): Answer<Attributes>;

  /** EINVAL (no link) */
  readlink(inode: Inode): Answer<Name>;

  /** ENOTSUP ENODATA */
  getxattr(inode: Inode, name: Name): Answer<Buffer>;

  /** ENOTSUP EEXIST (rule create) ENODATA (rule replace) E2BIG ENOSPC */
  setxattr(inode: Inode, name: Name, value: Uint8Array, rule: 'create' | 'replace' | 'any'): Answer<void>;

  /** ENOTSUP */
  listxattr(inode: Inode): Answer<readonly Name[]>;

  /** ENOTSUP ENODATA */
  removexattr(inode: Inode, name: Name): Answer<void>;

  statfs(): Answer<Space>;

  /** Where several trees are joined: the one that has this inode. */
  region?(inode: Inode): Region;

  /** What never changes of an inode: its content and attributes, or its name and place as well. Undefined: nothing is promised. */
  lasting?(inode: Inode): 'inode' | 'name' | undefined;

  /** Calls whenever all that was answered may no longer hold, since rights have changed, with every name that was answered; until the returned function is called. */
  invalidated?(listener: (known: readonly KnownEntry[]) => Answer<void>): () => void;

  /** No one will ask for this number again before it is looked up anew: what was kept for it may go. */
  forget?(inode: Inode): void;

  /** Calls `changed` until the returned function is called. ENOTSUP */
  watch(changed: (change: TreeChange) => void): () => void;

  /** Makes everything durable that was written. */
  sync(): Answer<void>;

  /** Ends it, durably; nothing may be asked of it afterwards. */
  close(): Answer<void>;
}
