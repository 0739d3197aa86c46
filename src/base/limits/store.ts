/** Limits of the store: forks and their layers, changes and diffs, what comes home by git, the record. Each with its name, its value, and why it is that. */

/** Bytes of a repository's configuration that is looked into for what else git obeys. */
export const gitConfigurationBytes = 1024 * 1024;

/** Files of git's configuration that include each other. */
export const gitConfigurationFiles = 64;

/** Bytes of a workspace's own list of repositories. */
export const workspaceFileBytes = 1024 * 1024;

/**
 * What the `/tmp` of a fork may hold, bytes and files: more than builds and tests leave there, and no disk is full of it. It is looked at
 * while a command runs, and a command that goes beyond is ended; `--disk` and `ctx vault set` limit all that a fork holds, `/tmp` included.
 */
export const temporaryBytes = 8 * 1024 * 1024 * 1024;
export const temporaryFiles = 1_000_000;

/**
 * What a directory may hold that the first command in it copies unasked, bytes and files: more than most projects do. `ctx vault create`
 * copies any, and with `--no-copy` none.
 */
export const unaskedBytes = 8 * 1024 * 1024 * 1024;
export const unaskedFiles = 1_000_000;

/** Layers of a kind before some are merged: a cold lookup costs about 1.6 us a layer. */
export const layersBeforeMerge = 16;

/** Layers of a fork that go on without a merge where it fails. Those of the trunk come to them, and one mount takes about 100 (native/jail/mount/overlay.c). */
export const layersWithoutMerge = 64;

/** A command waits so long for another one that makes the directories of a cache they share. */
export const sharedCacheMilliseconds = 5_000;

/** A lock that is taken is asked for so often and so long before a process is started that waits for it. */
export const lockAgainMilliseconds = 3;
export const lockAskedMilliseconds = 150;

/** Looks at a fork that others work on, until one finds it the same before and after. The last is taken as it is. */
export const looksAtBusyFork = 5;

/** Applies of one fork that can be undone: each holds on to what it replaced. */
export const appliesKept = 8;

/** A kept jail that has had nothing to do for so long syncs what its commands wrote. */
export const idleSyncMilliseconds = 5_000;

/** How much of a command's text a checkpoint keeps, to be recognised by; the record has all of it. */
export const checkpointReasonCharacters = 300;

/** Automatic checkpoints kept in a fork: each holds on to the layers it was made of. */
export const automaticCheckpoints = 64;

/** Checkpoints between two looks for layers that nothing names any more: without one, a day of commands keeps a layer each. */
export const checkpointsBetweenCollections = 64;

/** Changed files listed in a report for people; `--json` and `ctx diff` list up to `listedChanges`. */
export const changesShownToPeople = 20;

/**
 * Of the paths of one list of changes, what is beyond the first 512 bytes of each, together: whole paths of a tree of an agent's making are
 * its depth squared. Directories beyond it are told with how many entries they hold, can be deleted and dropped, and not applied.
 */
export const longPathBytes = 8 * 1024 * 1024;

/**
 * Entries of one list of changes: a command can make millions, and a list in memory follows their number. Directories whose entries would be
 * more are listed with how many they hold; `ctx diff PATH` lists what is in one of them. Apply and undo go through all of them. Of a
 * path of more than 128 bytes each 32 count as an entry more: 100,000 names of 250 bytes took the report of a command 421 MB.
 */
export const listedChanges = 100_000;

/** Memory that one change takes while it is applied (measured: 1.8 kB, half of it in Node's heap), and what everything else takes. */
export const applyMemory = { changeBytes: 2000, spareBytes: 120 * 1024 * 1024 } as const;
export const applyHeap = { changeBytes: 1000, spareBytes: 64 * 1024 * 1024 } as const;

/**
 * Entries from which a directory that is new, or gone, as a whole is one step of an apply; and of one that is being listed, those that are
 * held until it is known that nothing in it is a step of its own.
 */
export const wholeTreeEntries = 16;
export const heldOfTree = 16_384;

/** Changes that `ctx drop` counts before it drops them: a few milliseconds. Where there are more it says "at least". */
export const countedChanges = 1000;

/** Directories that are not listed in full, in the warnings of one report. */
export const unlistedShown = 5;

/** Files, and their bytes, that are read to find out which were renamed: a few milliseconds at the end of a command. */
export const renamedFiles = 1000;
export const renamedBytes = 32 * 1024 * 1024;

/** Files whose text `ctx diff` compares; the rest are listed by name, and `ctx diff PATH...` shows them. */
export const filesDiffedAtOnce = 300;

/** Bytes of a file up to which `ctx diff` compares its lines; and with --full. Of a longer one it says sizes and digests. */
export const diffedFileBytes = 1024 * 1024;
export const fullyDiffedFileBytes = 16 * 1024 * 1024;

/** Lines of both sides together: each costs some hundred bytes while it is compared. */
export const diffedLines = 1_000_000;

/** Contents that are in memory at once while forks are compared. */
export const diffedBytesAtOnce = 32 * 1024 * 1024;

/** Bytes of an errors-and-facts stream of a native program that are kept for its message. */
export const nativeErrorBytes = 64 * 1024;

/** Repositories of one workspace file: each becomes a mount of every view of that workspace. */
export const workspaceRepositories = 256;

/** Bytes of a segment of the record before another one is begun, and the head signed. */
export const recordSegmentBytes = 8 * 1024 * 1024;

/** Age of a segment after which the same happens, however little is in it. */
export const recordSegmentMilliseconds = 24 * 60 * 60_000;

/** Bytes of files that a command wrote beyond which its report does not wait for their digest: about a twentieth of a second. */
export const stateDigestBytes = 16 * 1024 * 1024;

/** The same for the next command, which is the last to ask: one sparse file may be as large as it likes. */
export const stateDigestMostBytes = 512 * 1024 * 1024;

/**
 * Until a record that another process is writing to has to be free: less than the hook has, so that it can say so. On a busy machine
 * dozens of calls at once wait for each other for seconds.
 */
export const recordLockMilliseconds = 10_000;

/** For another process to be done migrating the store: it renames directories, some for each vault. */
export const migrationLockMilliseconds = 60_000;

/** For another process to be done sealing: anchors may be slow. */
export const sealLockMilliseconds = 60_000;

/** Kept free for the record on a full disk: how some hundred commands ended. */
export const recordReserveBytes = 128 * 1024;

/** For one call of an anchor's program: a TPM is slow, a remote log may be. */
export const anchorMilliseconds = 30_000;

/**
 * A kept jail trusts its last look at the person's directory for so many times what that took, so that looking costs it a hundredth
 * of its time, and for no longer than this. An edit made meanwhile enters with a later command.
 */
export const originLookPatience = 100;
export const originLookMilliseconds = 2_000;

/** Memory of a git that takes over objects of an agent: what the largest packs of people need, and not what a bomb unpacks to. */
export const gitMemoryKilobytes = 2 * 1024 * 1024;

/** How long such a git may take: a pack of some gigabytes is checked in this time. */
export const gitPatienceMilliseconds = 15 * 60_000;

/** How long it may take to list settings, which are a few files: one that leads to a pipe would be waited for. */
export const gitSettingsMilliseconds = 30_000;

/** What such a git may say: a line for each of a million objects. */
export const gitOutputBytes = 128 * 1024 * 1024;

/** One small file of a repository that comes home after a look at all of it: refs, messages, configuration. */
export const gitTextBytes = 1024 * 1024;

/** The lists of a repository: packed refs, a reflog. Hundreds of thousands of lines. */
export const gitListBytes = 64 * 1024 * 1024;

/** An index: a million files and more. */
export const gitIndexBytes = 256 * 1024 * 1024;

/** All files of one repository that are in memory at once on their way home, objects apart. */
export const gitTakenBytes = 512 * 1024 * 1024;

/** Loose objects that come home as such; more become one pack. */
export const looseObjectsAtOnce = 2_000;

/** A manifest (package.json) that is read to see what of it is run; one that is larger is nobody's. */
export const manifestBytes = 512 * 1024;

/** Manifests that are in memory at once. */
export const manifestsAtOnce = 32;

/** Edits of the person's that enter while commands run: each is copied once more. Where there are more, all wait for the end. */
export const editsEnteredLive = 2_000;

/**
 * While a command runs its fork follows the person's edits. When it first looks for them, and between two looks: so many times what
 * one takes, within these bounds.
 */
export const followFirstMilliseconds = 2_000;
export const followPatience = 20;
export const followMilliseconds = 1_000;
export const followMostMilliseconds = 10_000;
