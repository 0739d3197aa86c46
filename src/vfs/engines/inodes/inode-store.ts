/**
 * What an inode filesystem keeps, and nothing of what it means: records of inodes, names in directories, content. Both stores,
 * memory and chunked, answer at once. A record that was asked for may be changed in place and is then `put`.
 */
import type { Answer } from '../../answer.js';
import type { Inode, Kind, Time } from '../../filesystem.js';
import type { Name } from '../../names.js';

export interface InodeRecord {
  readonly inode: Inode;
  readonly kind: Kind;
  mode: number;
  links: number;
  uid: number;
  gid: number;
  readonly device: number;
  size: number;
  accessed: Time;
  modified: Time;
  changed: Time;
  /** Of a directory: the one it is in; its own where it is the root. */
  parent: Inode;
  /** Of a symbolic link. */
  readonly target: Name | undefined;
  attributes: ReadonlyMap<Name, Buffer> | undefined;
}

export interface Usage {
  readonly bytes: number;
  readonly inodes: number;
}

/** That a record's attributes take. */
export function attributeBytes({ attributes }: Pick<InodeRecord, 'attributes'>): number {
  return [...(attributes ?? [])].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

export interface InodeStore {
  readonly root: Inode;
  newInode(): Inode;
  get(inode: Inode): InodeRecord | undefined;
  put(record: InodeRecord): void;
  /** The attributes of its inodes take so many bytes more by now, or fewer. */
  weigh(bytes: number): void;
  /** With its content and its attributes. */
  remove(inode: Inode): void;

  child(directory: Inode, name: Name): Inode | undefined;
  setChild(directory: Inode, name: Name, inode: Inode): void;
  removeChild(directory: Inode, name: Name): void;
  children(directory: Inode): Iterable<readonly [Name, Inode]>;
  isEmpty(directory: Inode): boolean;

  /** `length` bytes; zeros where nothing was written. The caller asks for nothing beyond the size. */
  read(inode: Inode, offset: number, length: number): Buffer;
  write(inode: Inode, offset: number, bytes: Uint8Array): void;
  /** Content from `offset` to `end` is gone: a hole. */
  erase(inode: Inode, offset: number, end: number): void;
  /** Where data or a hole begins, from `offset` on and before `size`; undefined where there is none. */
  seek(inode: Inode, offset: number, size: number, wanted: 'data' | 'hole'): number | undefined;
  /** Bytes that its content takes. */
  stored(inode: Inode): number;

  usage(): Usage;
  /** Before a call changes anything: throws why what was changed before it cannot be kept. */
  ready(): void;
  /** A call that changes several things has changed them all: a store that writes may write now. Never throws: the call is done. */
  settled(): void;
  sync(): void;
  close(): Answer<void>;
}
