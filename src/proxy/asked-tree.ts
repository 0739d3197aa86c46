/** A tree of the VFS that a command is to see, and what serves it. */
import type { JailIdentity } from '../jail/plan.js';
import type { CheckpointTree } from '../vault/store/fork-meta.js';
import type { RecordedChanges } from '../vfs/recorded-changes.js';

/** A chunked tree as it was, by a snapshot, and how often it had been changed when the command had ended. */
export type UndoneTree = CheckpointTree;

/** What became of a tree that was written to. */
export interface TreeOutcome extends RecordedChanges {
  readonly undo: readonly UndoneTree[];
  /** Whether `undo`, and the end of what was in memory, take back all of it. */
  readonly undoable: boolean;
}

export interface TreeServing {
  /** The jail's end of the channel by which the server is given the kernel's. */
  readonly channel: number;
  /** Of an agent's view: a directory that the jail takes away where this process was killed. */
  readonly sockets?: number | undefined;
  /** Resolves when what was written is on the disk and the process has ended; one that does not end is killed. */
  ended(): Promise<void>;
  kill(): void;
}

/** A tree, where it shall be, and whether it may be written. */
export interface WrittenTree {
  readonly specification: string;
  readonly target: string;
  readonly writable: boolean;
  /** A file of grants: the command may do in the tree what it says and nothing else. */
  readonly grants?: string | undefined;
}

export interface AskedTree {
  /** As it was written. */
  readonly specification: string;
  readonly target: string;
  readonly writable: boolean;
  /** The real path of its file of grants, where it has one. */
  readonly grants?: string | undefined;
  /** What of the host it shows or keeps its content in; nothing for memory. */
  readonly backings: readonly { readonly path: string; readonly kind: 'directory' | 'file' }[];
  /** What is written to it is there after the command. */
  readonly lasts: boolean;
  /** Opens the tree, so that what is wrong with it is said before there is a jail. */
  start(identity: JailIdentity): Promise<TreeServing>;
  /** What became of the server, where it did not end well. */
  problem(): string | undefined;
  /** When the server has ended; undefined where it was only read, or did not end well. */
  outcome(): TreeOutcome | undefined;
}
