/**
 * What a store of files behind a network is asked for, by path. It has no inodes, handles or partial writes: those are made of this by the
 * remote filesystem. Every call ends within a limit: ETIMEDOUT otherwise. EACCES where it does not know us, EIO for what else it says.
 */
import type { Time } from '../../filesystem.js';

/** Names joined by `/`, as text; empty for the root. */
export type RemotePath = string;

export interface RemoteEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory';
  readonly size: number;
  readonly modified: Time;
  /** Another one whenever the content is; empty of a directory. */
  readonly version: string;
}

/** What a write expects to be there: nothing, this very version, or anything. */
export type Expected = { readonly version: string } | 'nothing' | 'anything';

export interface RemoteContent {
  readonly size: number;
  read(offset: number, length: number): Buffer;
}

export interface RemoteStore {
  readonly label: string;
  /** Bytes of a path that it takes. */
  readonly pathBytes: number;
  /** Undefined where there is nothing. */
  stat(path: RemotePath): Promise<RemoteEntry | undefined>;
  list(path: RemotePath): Promise<readonly RemoteEntry[]>;
  /** ESTALE where that version is gone. */
  read(path: RemotePath, version: string, offset: number, length: number): Promise<Buffer>;
  /**
   * All of it at once: anyone who reads meanwhile has what was there. EEXIST or ESTALE where something else is there.
   */
  write(path: RemotePath, content: RemoteContent, expected: Expected): Promise<RemoteEntry>;
  remove(path: RemotePath): Promise<void>;
  /** EEXIST */
  makeDirectory(path: RemotePath): Promise<void>;
  /** It is known to be empty. */
  removeDirectory(path: RemotePath): Promise<void>;
  /** It has nothing in it any more after its last entry goes, and stays. */
  keepDirectory(path: RemotePath): Promise<void>;
  /** A file or a directory with all that is in it, over a file where there is one to be replaced. ESTALE where something else is there. */
  move(from: RemotePath, to: RemotePath, kind: 'file' | 'directory', over: 'nothing' | 'file'): Promise<void>;
  close(): Promise<void>;
}
