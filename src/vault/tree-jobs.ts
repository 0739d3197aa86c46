/** What the native walker is asked and what it answers; docs of each verb are in native/tree/main.c. */

export type EntryType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device';
export type ChangeKind = 'added' | 'modified' | 'deleted';

/** One change of a fork. `content` is false where only mode or owner differ; a deleted entry shows what was there. */
export interface Change {
  readonly kind: ChangeKind;
  readonly type: EntryType;
  readonly mode: number;
  readonly size: number;
  readonly content: boolean;
  /** Differs when the entry was written again; empty for directories and deleted entries. Only for comparing. */
  readonly stamp: string;
  readonly path: string;
}

export interface Drift {
  readonly path: string;
  readonly what: 'added' | 'changed' | 'removed';
}

/** An entry that was left out, or copied while it kept changing (EBUSY). */
export interface Problem {
  readonly path: string;
  readonly code: string;
  readonly reason: string;
}

export type Verdict = 'same' | 'different' | 'only-layers' | 'only-root';

export interface Step {
  readonly action: 'put' | 'remove';
  readonly path: string;
}

export interface Progress {
  readonly files: number;
  readonly bytes: number;
  /** How much it will be, about; unknown at first. */
  readonly of?: { readonly files: number; readonly bytes: number } | undefined;
}

/** A directory by identity: the store itself, when it lies inside the workspace. */
export interface DirectoryIdentity {
  readonly device: bigint | number;
  readonly inode: bigint | number;
}

export interface Common {
  readonly signal?: AbortSignal | undefined;
}

export interface ScanOptions extends Common {
  readonly root: string;
  /** The signature file that is written. */
  readonly signatures: string;
  /** An earlier one to compare with; missing or damaged, everything counts as added. */
  readonly against?: string | undefined;
  readonly skip?: readonly DirectoryIdentity[] | undefined;
  /** Taken first, as by `lock`: one process for both. */
  readonly lock?: LockRequest | undefined;
}

/**
 * A lock (`flock`) on the file behind an open descriptor of ours; EBUSY where somebody else holds it. It belongs to the open
 * file, so it is held until this process closes the descriptor or ends.
 */
export interface LockRequest {
  readonly descriptor: number;
  /** Wait for it instead of failing. */
  readonly wait: boolean;
}

export interface CopyOptions extends Common {
  readonly root: string;
  /** An empty or missing directory; after a failure the caller removes it. */
  readonly destination: string;
  readonly signatures: string;
  readonly skip?: readonly DirectoryIdentity[] | undefined;
  readonly shift?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Layers are listed topmost first, everywhere. */
export interface DiffOptions extends Common {
  readonly uppers: readonly string[];
  readonly lowers: readonly string[];
  /** The uppers are all there is: what they do not hold is deleted. */
  readonly whole?: boolean | undefined;
  /** Directories that may not be read are listed and not entered: for a person's directory, never for layers. */
  readonly pastClosed?: boolean | undefined;
}

export interface CompareOptions extends Common {
  readonly layers: readonly string[];
  readonly root: string;
  readonly paths: readonly string[];
  readonly shift?: number | undefined;
}

export interface MirrorOptions extends Common {
  readonly root: string;
  /** The layer that is made; it must not exist. */
  readonly into: string;
  readonly layers: readonly string[];
  readonly paths: readonly string[];
  readonly shift?: number | undefined;
}

export interface MergeOptions extends Common {
  readonly layers: readonly string[];
  /** The layer that is made; it must not exist. */
  readonly into: string;
  /** What they lay on; then what the layers only repeat of it at the paths of `unrepeated` is left out. */
  readonly lowers?: readonly string[] | undefined;
  readonly unrepeated?: readonly string[] | undefined;
  /** What they will lie on; deletions of what it does not show are left out. */
  readonly below?: readonly string[] | undefined;
  /** Copy files instead of linking them: for a layer that is still written. */
  readonly copies?: boolean | undefined;
  /** Nothing lies below: marks of deletions go. */
  readonly whole?: boolean | undefined;
}

export interface ReadOptions extends Common {
  readonly layers: readonly string[];
  readonly paths: readonly string[];
}

/** What stands at a path; a file's bytes up to one MiB. */
export interface Content {
  readonly type: 'file' | 'symlink' | 'other' | 'missing';
  readonly bytes: Buffer;
}

export interface DigestOptions extends Common {
  readonly layers: readonly string[];
  /** Bytes of one layer's files beyond which it is not read to its end. */
  readonly most: number;
}

export interface ApplyOptions extends Common {
  readonly uppers: readonly string[];
  readonly root: string;
  readonly plan: readonly Step[];
  readonly shift?: number | undefined;
  /** Held by the program too, so that a killed caller does not free it while files are still being written. */
  readonly lock?: LockRequest | undefined;
  /** The directory holds nothing but what is put there: hard links and the times of directories come along. */
  readonly whole?: boolean | undefined;
  /** Called as steps are done, in order; after a failure these, and no others, have happened. */
  readonly onDone?: ((path: string) => void) | undefined;
}
