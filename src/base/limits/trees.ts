/** Limits of trees of the VFS and of the servers behind them. Each with its name, its value, and why it is that. */

/** A table of trees (`vfs.toml`); one that is larger was not written by a person. */
export const tableFileBytes = 256 * 1024;

/** Grants of a mount. The file is read again and again, so one that is larger would be work without end. */
export const grantsFileBytes = 256 * 1024;

/** What one call of a remote tree (s3, webdav) may take, with its retries, or without progress where a file is sent; ETIMEDOUT then. */
export const remoteCallMilliseconds = 30_000;

/**
 * How long a request of a mount goes on waiting for a remote tree when a signal came for the caller: EINTR then, so
 * that one that is to be killed dies. Programs that are not killed get it, too, where the remote is that slow.
 */
export const interruptedMilliseconds = 1_000;

/** Snapshots that commands have left in a chunked tree for their undo; the oldest go first. */
export const automaticSnapshots = 32;

/** Until a connection to it is there. */
export const remoteConnectMilliseconds = 5_000;

/** How often a remote call is tried, each time after a longer pause. */
export const remoteAttempts = 4;

/** A part of a remote file that is asked for at once, and kept. */
export const remoteBlockBytes = 1024 * 1024;

/** Parts that are asked for before they are read, of a file that is read from its beginning on. */
export const remotePartsAhead = 8;

/** Parts of remote files that are kept in memory, of one tree. */
export const remoteCacheBytes = 64 * 1024 * 1024;

/** How old what is known of a remote entry may be. */
export const remoteAttributeMilliseconds = 1_000;

/** A part of a large file on its way to S3, which takes no smaller ones than 5 MiB, and no more than 10,000. */
export const s3PartBytes = 16 * 1024 * 1024;

/** Objects that moving a directory of a bucket copies one by one; more is EXDEV, and `mv` copies them itself. */
export const s3MovedObjects = 10_000;

/** What S3 copies of an object at once; moving a larger one is EXDEV, and `mv` copies it itself. */
export const s3CopiedBytes = 5 * 1024 ** 3;

/** One answer of a WebDAV server that is in memory at once: a listing of hundreds of thousands of names, or a file from a server without ranges. */
export const webdavAnswerBytes = 128 * 1024 * 1024;

/** Advisory locks of one file that a tree keeps itself: each is compared with every other one. Beyond it: ENOLCK. */
export const locksOfFile = 4_096;

/** Between two looks at a file of grants: a right that is taken away there is gone after that. */
export const grantsLookMilliseconds = 100;

/** Refusals of a mount with grants that are told apart between two looks; what comes beyond them is recorded as one. */
export const refusalsToldApart = 100;

/** Until rclone serves: it asks its remote first. */
export const rcloneStartMilliseconds = 30_000;

/** Until rclone has ended after its tree was closed: it may give up uploads at its remote first. */
export const rcloneEndSeconds = 5;
