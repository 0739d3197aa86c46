/** What the native walker is asked and what it answers; docs of each verb are in native/tree/jobs.c. */

export type EntryType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device';
export type ChangeKind = 'added' | 'modified' | 'deleted';

/** A directory that was not there, or is not there any more, with all that is in it: one change, and one step. */
export interface WholeTree {
  /** How many are below it. */
  readonly entries: number;
  /** Whether some of them are products (`git/products`). */
  readonly products: boolean;
}

/** One change of a fork. `content` is false where only mode, owner or extended attributes differ; a deleted entry shows what was there. */
export interface Change {
  readonly kind: ChangeKind;
  readonly type: EntryType;
  readonly mode: number;
  readonly size: number;
  readonly content: boolean;
  /** Differs when the entry was written again; empty for directories and deleted entries. Only for comparing. */
  readonly stamp: string;
  readonly path: string;
  /** A directory that is so deep that its entries are not listed: how many there are below it, at least. Not there otherwise. */
  readonly unlisted?: number | undefined;
  /** Of an added file: the deleted one of equal content that it was (`forks/renames`). Not there otherwise. */
  readonly renamedFrom?: string | undefined;
}

export interface FoldedChange extends Change {
  /** What is below it is not in the list: it is added or deleted as a whole (`fold-trees`). Not there otherwise. */
  readonly tree?: WholeTree | undefined;
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

/** `touched`, a file that is the same but for its time, is only told where times are asked for. */
export type CompareVerdict = 'same' | 'touched' | 'different' | 'only-layers' | 'only-root';

/** A regular file of the upper layers and when it was modified, in nanoseconds. */
export interface FileTime {
  readonly path: string;
  readonly state: 'added' | 'modified' | 'same';
  readonly modified: bigint;
  /** Of what lies below it; 0 where nothing does. */
  readonly before: bigint;
  /** Equal for names of one file; undefined where it has one name. */
  readonly links: string | undefined;
}

export interface Step {
  readonly action: 'put' | 'remove';
  readonly path: string;
  /** It stands for all that is below, too, of which the layers know the names. */
  readonly tree?: WholeTree | undefined;
  /** In reports: so many entries below are not listed. */
  readonly unlisted?: number | undefined;
}

/**
 * A path that ends with a slash is a whole tree: what the upper layers show there; of a removal, what was looked at.
 * `sweep`: what a run that was killed left beside a path goes. `keep` puts an entry with its time, `age` with one that is also
 * earlier than `before`; `touch` only gives one its time, `weigh` only counts it in the order of times, `know` says that the
 * directory has a name of a file already that others are put as further names of.
 */
export interface TreeStep {
  readonly action: Step['action'] | 'keep' | 'age' | 'touch' | 'weigh' | 'know' | 'sweep';
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
  /** The signature file that is written; without one it only says what differs. */
  readonly signatures?: string | undefined;
  /** An earlier one to compare with; missing or damaged, everything counts as added. */
  readonly against?: string | undefined;
  readonly skip?: readonly DirectoryIdentity[] | undefined;
  /** Taken first, as by `lock`: one process for both. */
  readonly lock?: WalkerLock | undefined;
  /** What was written just now is not told. */
  readonly known?: KnownTrees | undefined;
}

/** Whole trees, with a slash at their end, and layers of which one or the other shows what is in them. */
export interface KnownTrees {
  readonly trees: readonly string[];
  readonly written: readonly string[];
  readonly kept: readonly string[];
}

/**
 * A lock (`flock`) on the file behind an open descriptor of ours; EBUSY where somebody else holds it. It belongs to the open
 * file, so it is held until this process closes the descriptor or ends.
 */
export interface WalkerLock {
  readonly descriptor: number;
  /** Wait for it instead of failing. */
  readonly wait: boolean;
  /** For those who only look whether it is held: they do not see each other. */
  readonly shared?: boolean;
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
export interface TreeDiffOptions extends Common {
  readonly uppers: readonly string[];
  readonly lowers: readonly string[];
  /** The uppers are all there is: what they do not hold is deleted. */
  readonly whole?: boolean | undefined;
  /** Directories that may not be read are listed and not entered: for a person's directory, never for layers. */
  readonly pastClosed?: boolean | undefined;
  /** Directories too deep to be listed are told (`unlisted`); otherwise one of them is an error (E2BIG). */
  readonly tellsUnlisted?: boolean | undefined;
  /** Entries that are listed; directories with more are told as those that are too deep. All where it is undefined. */
  readonly entries?: number | undefined;
  /** For whoever compares nothing: changes without their stamps, of which each is a text to be held. */
  readonly stampless?: boolean | undefined;
  /** Only these paths, what is below them and the directories above them. */
  readonly under?: readonly string[] | undefined;
  /** Directories that are listed and not entered, each with a slash at its end. */
  readonly closed?: readonly string[] | undefined;
}

export interface TimesOptions extends Pick<TreeDiffOptions, 'uppers' | 'lowers' | 'pastClosed'> {
  /** Not those that the lower layers do not have, unless they are names of one file. */
  readonly known?: boolean | undefined;
}

export interface CompareOptions extends Common {
  readonly layers: readonly string[];
  readonly root: string;
  /** One that ends with a slash is a whole tree: all that either side has in it is compared. */
  readonly paths: readonly string[];
  /** What is the same is not answered. */
  readonly differing?: boolean | undefined;
  readonly shift?: number | undefined;
  /** Tell what was touched from what is the same. */
  readonly times?: boolean | undefined;
  /** What an apply wrote is compared, for its undo: a file that lost its list of rights by it is the same. */
  readonly undoes?: boolean | undefined;
}

/** For what stays in the store: a person's directory neither gives nor gets a socket. */
interface WithSockets {
  readonly sockets?: boolean | undefined;
}

export interface MirrorOptions extends Common, WithSockets {
  readonly root: string;
  /** The layer that is made; it must not exist. */
  readonly into: string;
  readonly layers: readonly string[];
  /** One that ends with a slash is a whole tree: all that `shown` has in it. */
  readonly paths: readonly string[];
  readonly shown?: readonly string[] | undefined;
  readonly shift?: number | undefined;
  /** Files that the layers have as the origin does become further names of theirs: no layer may be the origin itself. */
  readonly links?: boolean | undefined;
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

export interface TreeReadOptions extends Common {
  readonly layers: readonly string[];
  readonly paths: readonly string[];
  /** Bytes of one file that are answered; one MiB where it is undefined. */
  readonly most?: number | undefined;
  /** Of each file, also of those that are longer. */
  readonly digests?: boolean | undefined;
}

/** What stands at a path; a file's bytes up to a limit: where they are fewer than its size, the rest was not read. */
export interface TreeContent {
  readonly type: EntryType | 'missing';
  readonly mode: number;
  readonly size: number;
  /** BLAKE3 of a file, all of it, where that was asked for and did not take too long; else empty. */
  readonly digest: string;
  readonly bytes: Buffer;
  /** The user's own extended attributes, `NAME=VALUE`, escaped; not there where it has none. */
  readonly attributes?: readonly string[] | undefined;
}

export interface DigestOptions extends Common {
  readonly layers: readonly string[];
  /** Bytes of one layer's files beyond which it is not read to its end. */
  readonly most: number;
}

/** A fork's directory as its commands have it mounted. */
export interface LiveMount {
  /** The upper directory, as it was named when it was mounted. */
  readonly upper: string;
  /** Owners of jails that have it; the first that still does gives it. */
  readonly holders: readonly number[];
}

export interface TreeApplyOptions extends Common, WithSockets {
  readonly uppers: readonly string[];
  readonly root: string;
  /** `root` is a path of theirs: ESRCH where no one has it mounted any more. */
  readonly mounted?: LiveMount | undefined;
  readonly plan: readonly TreeStep[];
  /**
   * All times become later ones, in the order they have: after all that was there, or, given the answer of an earlier job,
   * as they were given by that one. Undefined: entries keep the times they have.
   */
  readonly forward?: 'now' | bigint | undefined;
  /** What is aged becomes older than this; undefined: it keeps the time it has. */
  readonly before?: bigint | undefined;
  readonly shift?: number | undefined;
  /** Held by the program too, so that a killed caller does not free it while files are still being written. */
  readonly lock?: WalkerLock | undefined;
  /** The directory holds nothing but what is put there: hard links and the times of directories come along. */
  readonly whole?: boolean | undefined;
  /** What was looked at: a path at which the directory has anything else by now is a clash, and is left alone. */
  readonly expected?: readonly string[] | undefined;
  /** Wait for the disk at the end; a file's bytes are there before its name is. */
  readonly durable?: boolean | undefined;
  /** What is put is what was there before an apply, to the last bit of a mode and with the list of rights. */
  readonly undoes?: boolean | undefined;
  /** Called as steps are done, in order; after a failure these, and no others, have happened. */
  readonly onDone?: ((path: string) => void) | undefined;
}

/** Where the person wrote at the same time; and, of `forward`, what the later times came after. */
export interface Interference {
  readonly after?: bigint | undefined;
  /** Paths that hold what the person put there, and nothing of the plan. */
  readonly clashes: readonly string[];
  /** Files beside them, with what the person had saved before that. */
  readonly aside: readonly string[];
  /** Files whose list of rights could not be kept: it names ids that only root can set. The group's rights went with it. */
  readonly narrowed: readonly string[];
}
