/** Every limit of ours in one place: its name, its value, and why it is that. */

/** Output of one stream kept for a report; more is dropped and counted, so that endless output cannot fill memory. */
export const capturedOutputBytes = 8 * 1024 * 1024;

/** A file of the person's that is copied into a profile's home: settings and sign-ins, no data. */
export const profileFileBytes = 16 * 1024 * 1024;

/** Bytes of a repository's configuration that is looked into for what else git obeys. */
export const gitConfigurationBytes = 1024 * 1024;

/** Files of git's configuration that include each other. */
export const gitConfigurationFiles = 64;

/** Bytes of a workspace's own list of repositories. */
export const workspaceFileBytes = 1024 * 1024;

/** What a command can have left in its two pipes when it ends; what comes after that much is another process's. */
export const pipeRestBytes = 2 * 1024 * 1024;

/** Of one stream in a file, where a report does not hold all of it: the longest logs that people read, and no disk is full of them. */
export const outputFileBytes = 256 * 1024 * 1024;

/** Files of output that a fork keeps, two a run at most; the oldest go. */
export const outputFilesKept = 8;

/** How long output of a command without a fork is kept: `ctx gc` takes what is older. */
export const liveOutputMilliseconds = 24 * 60 * 60_000;

/** A command is warned of a limit, and its owner told, when so much of it is used. */
export const limitWarningPercent = 80;

/** Between two looks at what a control group uses: two small files each. */
export const groupPollMilliseconds = 100;

/** Between two looks at a small fork whose disk is limited; a large one is looked at as often as one part in 16 of a processor allows. */
export const usagePollMilliseconds = 20;

/**
 * What the `/tmp` of a fork may hold, bytes and files: more than builds and tests leave there, and no disk is full of it. It is looked at
 * while a command runs, and a command that goes beyond is ended; `--disk` and `ctx vault set` limit all that a fork holds, `/tmp` included.
 */
export const temporaryBytes = 8 * 1024 * 1024 * 1024;
export const temporaryFiles = 1_000_000;

const mebibyte = 1024 * 1024;

/**
 * Processes and threads of a command at one time, where `--processes` says no other number: what test suites, Java and browsers need, and a
 * fork bomb leaves a host that still answers. One takes up to a mebibyte of memory.
 */
export function mostProcesses(processors: number, memoryBytes: number): number {
  const fitting = Math.floor(memoryBytes / mebibyte);
  return Math.min(4096 + 512 * processors, Math.max(512 + 128 * processors, fitting));
}

/** Open files of one process: what the largest test suites ask for, and no more than a host can give to hundreds of them. */
export const openFiles = 16_384;

/** Between SIGTERM and SIGKILL when a command has run out of time. */
export const terminationGraceMilliseconds = 2_000;

/** For the process that keeps a jail to come to its first line: where it may start no thread, Node waits for ever. */
export const keeperStartMilliseconds = 30_000;

/** Layers of a kind before some are merged: a cold lookup costs about 1.6 us a layer. */
export const layersBeforeMerge = 16;

/** Layers of a fork that go on without a merge where it fails. Those of the trunk come to them, and one mount takes about 100. */
export const layersWithoutMerge = 64;

/** Commands of a group that its checkpoint names: a day of them would make every state file longer. */
export const commandsBesideNamed = 32;

/** Commands at work on one fork at one time: each is a jail, and mostly a Node beside it. More wait, in the order they came. */
export const commandsAtWork = 64;

/** Between two tries to join a fork whose users are just beginning or ending, and how long it is tried. */
export const joinAgainMilliseconds = 10;
export const joinPatienceMilliseconds = 30_000;

/** A lock that is taken is asked for so often and so long before a process is started that waits for it. */
export const lockAgainMilliseconds = 3;
export const lockAskedMilliseconds = 150;

/** Between two looks of the first that waits for room in a group. */
export const roomAgainMilliseconds = 50;

/** Looks at a fork that others work on, until one finds it the same before and after. The last is taken as it is. */
export const looksAtBusyFork = 5;

/** Applies of one fork that can be undone: each holds on to what it replaced. */
export const appliesKept = 8;

/** A kept jail that has had nothing to do for so long syncs what its commands wrote. */
export const idleSyncMilliseconds = 5_000;

/** How much of a command's text a checkpoint keeps, to be recognised by; the record has all of it. */
export const checkpointReasonCharacters = 300;

/** Automatic checkpoints kept in a fork: each holds on to what its moment was made of. */
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
 * more are listed with how many they hold; `ctx diff PATH` lists what is in one of them. Apply and undo go through all of them.
 */
export const listedChanges = 100_000;

/** Memory that one change takes while it is applied (measured: 1.8 kB, half of it in Node's heap), and what everything else takes. */
export const applyMemory = { changeBytes: 2000, spareBytes: 120 * 1024 * 1024 } as const;
export const applyHeap = { changeBytes: 1000, spareBytes: 64 * 1024 * 1024 } as const;

/** Changes that `ctx drop` counts before it drops them: a few milliseconds. Where there are more it says "at least". */
export const countedChanges = 1000;

/** Directories that are not listed in full, in the warnings of one report. */
export const unlistedShown = 5;

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

/** Text of one policy, mount or workspace file: hundreds of times what people write, little enough to parse at once. */
export const controlTextCharacters = 4 * 1024 * 1024;

/** Of one control file in the record of a change to it; a longer one is in it by its digest. */
export const recordedFileCharacters = 8 * 1024;

/** Rules of one policy: six times the ten thousand it is measured with. */
export const policyRules = 65_536;

/** Mounts of one view, derived ones included: each is several system calls of a jail's start. */
export const viewMounts = 4_096;

/** Longest path the kernel takes, without its final NUL. */
export const pathBytes = 4_095;

/** Repositories of one workspace file: each becomes a mount of every view of that workspace. */
export const workspaceRepositories = 256;

/** Host and port pairs of one Authority. */
export const networkHosts = 4_096;

/** Paths a preamble lists under one heading: it is read at the start of every session. */
export const preamblePaths = 24;

/** One tool call on its way through the hook: a file's whole new text is in it. More is denied. */
export const hookInputBytes = 16 * 1024 * 1024;

/**
 * Until the hook denies what it could not decide; a harness that gives up on its hook first lets the call through. Claude Code waits
 * a minute. Long enough that a machine that is merely busy denies nothing.
 */
export const hookMilliseconds = 15_000;

/** Until a harness's message has to be whole; the rest of the time is for deciding and recording. */
export const hookInputMilliseconds = 10_000;

/** A shell command that is handed on as one argument; the kernel takes 128 KiB. */
export const hookCommandBytes = 96 * 1024;

/** Levels of JSON from outside: several times what a harness sends. */
export const jsonNesting = 64;

/** Alternatives of one glob pattern, each of which is resolved. */
export const globAlternatives = 64;

/** Agents from one that a person made down to a child: each is derived from the one before, on every command. */
export const lineageDepth = 16;

/** Read from a host at once in a tunnel: larger ones are no quicker, and each connection has one. */
export const networkBulkBytes = 256 * 1024;

/** For so long the addresses of this machine are taken as read: a second is what a person needs to add one. */
export const networkOwnMilliseconds = 1_000;

/** Connections of one jail through the network proxy at once: two descriptors each, well below a limit of 1,024. */
export const networkConnections = 256;

/** Head of one HTTP message through the network proxy: four times what servers take by default. */
export const networkHeadBytes = 32 * 1024;

/** From a connection's first moment until it has said in full what it wants: a client that drips is let go. */
export const networkHeadMilliseconds = 10_000;

/** For a name's resolution and for a connection to one of its addresses, together. */
export const networkConnectMilliseconds = 15_000;

/** A connection that carries nothing in either direction for so long is closed. */
export const networkIdleMilliseconds = 10 * 60_000;

/** After an answer: how long the client may take to close, so that its unread bytes do not reset what it has yet to read. */
export const networkLingerMilliseconds = 2_000;

/** Links in one directory of PATH that are followed to what they lead to: several times what people install. */
export const programLinks = 1_000;

/** Addresses of one name that are tried. */
export const networkAddressesTried = 8;

/** Different connections told apart in one report; more are counted as others, so that made-up names cannot fill it. */
export const networkConnectionsTold = 1_024;

/** Repeats of one connection within this time become one event with a count. */
export const networkRepeatMilliseconds = 1_000;

/** Value of one header that the network proxy adds for a host. */
export const networkSecretCharacters = 8 * 1024;

/** A file of certificate authorities: the whole bundle of a system is 250 kB. */
export const authoritiesBytes = 4 * 1024 * 1024;

/** Different parts of one secret in a host's answers: a public beginning such as `sk-live-` is one, guesses are many. */
export const networkSecretParts = 4;

/** A project's file of defaults, which comes with the project. */
export const projectFileBytes = 64 * 1024;

/** Entries of each list in it: a person reads a sentence for each. */
export const projectEntries = 64;

/** Earlier values of a host's secrets that are hidden in its answers, beside those in use. */
export const networkSecretValues = 16;

/** How long what a password manager's command said is used: asking it again for each request would be slow, or ask a person. */
export const secretFreshMilliseconds = 60_000;

/** How long such a command may take; a person may have to unlock something. */
export const secretCommandMilliseconds = 60_000;

/** How long one that failed is not run again: a jail that retries must not raise question after question. */
export const secretRetryMilliseconds = 5_000;

/** How long bytes of an answer that may hold a secret wait for the next ones: a stream of events flows on after it. */
export const networkRedactMilliseconds = 20;

/** Names that are resolved for one jail at once. */
export const networkLookups = 32;

/** How long a name that could not be resolved is not asked for again: clients retry at once. */
export const networkLookupRestMilliseconds = 1_000;

/** Bytes of a segment of the record before another one is begun, and the head signed. */
export const recordSegmentBytes = 8 * 1024 * 1024;

/** Age of a segment after which the same happens, however little is in it. */
export const recordSegmentMilliseconds = 24 * 60 * 60_000;

/** Bytes of files that a command wrote beyond which its report does not wait for their digest: about a twentieth of a second. */
export const stateDigestBytes = 16 * 1024 * 1024;

/** The same for the next command, which is the last to ask: one sparse file may be as large as it likes. */
export const stateDigestMostBytes = 512 * 1024 * 1024;

/** Until a record that another process is writing to has to be free: less than the hook has, so that it can say so. */
export const recordLockMilliseconds = 2_500;

/** For another process to be done migrating the store: it renames directories, some for each vault. */
export const migrationLockMilliseconds = 60_000;

/** For another process to be done sealing: anchors may be slow. */
export const sealLockMilliseconds = 60_000;

/** Kept free for the record on a full disk: how some hundred commands ended. */
export const recordReserveBytes = 128 * 1024;

/** For one call of an anchor's program: a TPM is slow, a remote log may be. */
export const anchorMilliseconds = 30_000;

/** Of an agent's log before it is put aside as `log.old`: to look at, not to keep. */
export const objectLogBytes = 1024 * 1024;

/** Equal refusals within this time become one record with a count. */
export const denialRepeatMilliseconds = 10_000;

/** Different refusals that are watched for repeats at once; beyond that the oldest is recorded. */
export const denialsWatched = 64;

/** Shell text that is read before it runs, all of one command's: the kernel takes 128 KiB an argument. More counts as unreadable. */
export const shellTextCharacters = 128 * 1024;

/** Substitutions, and braces that could expand, in one text: nested ones cost the parser the square. More count as unreadable. */
export const shellOpenings = 2_048;

/** Until a change of the rules gives up on another one: each takes as long as one small file. */
export const rulesLockMilliseconds = 30_000;

/** Commands and texts within each other: `bash -c` in `bash -c`. Deeper counts as unreadable. */
export const shellNesting = 24;

/** Commands of one text that are read; more count as unreadable. */
export const shellCommands = 4_096;

/** Values that one word of shell text is known to take, each of which is read. */
export const shellWordValues = 16;

/** Beyond this the input of a command that needs an approval is not read before it: it counts as unknown, and is approved once. */
export const inputDigestBytes = 256 * 1_048_576;

/** So much of a command's input is shown with the question. */
export const inputExcerptBytes = 200;

/** So many paths of an apply are in the question; `ctx approvals show` has all. */
export const approvalPathsShown = 20;

/** How long an answer waits for another that is being written down. */
export const answerLockMilliseconds = 5_000;

/** How long a command that needs an approval waits for one: about as long as harnesses wait for a command. Then it is denied. */
export const approvalWaitMilliseconds = 5 * 60_000;

/** Between two looks for an answer. */
export const approvalLookMilliseconds = 100;

/** How long a granted command that nobody waited for any more can still be run once. */
export const approvalUseMilliseconds = 60 * 60_000;

/** How long a grant for the session lasts: a working day. */
export const approvalSessionMilliseconds = 8 * 60 * 60_000;

/** After this long an ended request is removed; the record keeps what was asked and answered. */
export const approvalKeptMilliseconds = 30 * 24 * 60 * 60_000;

/** Requests that wait at one time: a person cannot look at more, and a loop must not fill the store. */
export const approvalsWaiting = 64;

/** Between two looks of a kept jail whether what runs in its background has ended. */
export const backgroundLookMilliseconds = 500;

/**
 * A kept jail trusts its last look at the person's directory for so many times what that took, so that looking costs it a hundredth
 * of its time, and for no longer than this. An edit made meanwhile enters with a later command.
 */
export const originLookPatience = 100;
export const originLookMilliseconds = 2_000;

/** A kept jail that nobody has asked anything of for so long ends by itself; `--idle` of `ctx jail start` says another time. */
export const keptJailIdleMilliseconds = 3_600_000;

/** Of a file that the SDK reads or writes whole, in memory; beyond it a command in the jail does it. */
export const sdkFileBytes = 16 * 1024 * 1024;

/** Of what a listing or a search may say, in memory; what is beyond it is cut off, and the answer says so. */
export const sdkAnswerBytes = 4 * 1024 * 1024;

/** For one file operation of the SDK: a pipe that nobody writes to must not hold it for ever. */
export const sdkFileMilliseconds = 60_000;

/** Between asking a cancelled command to end and killing it. */
export const cancelGraceMilliseconds = 2_000;

/** Of a text that a tool of `ctx mcp` answers with: a model reads it all. The middle is left out, or the rest is asked for. */
export const toolTextCharacters = 60_000;

/** Of one line that a search finds: what is longer is no line to read. */
export const toolLineCharacters = 400;

/** Matches and entries that a tool of `ctx mcp` answers with, unless it is asked for another number. */
export const toolRows = 500;

/** Between two words to a client that waits for a tool. */
export const toolProgressMilliseconds = 1_000;

/** Memory of a git that takes over objects of an agent: what the largest packs of people need, and not what a bomb unpacks to. */
export const gitMemoryKilobytes = 2 * 1024 * 1024;

/** How long such a git may take: a pack of some gigabytes is checked in this time. */
export const gitPatienceMilliseconds = 15 * 60_000;

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

/** A table of trees (`vfs.toml`); one that is larger was not written by a person. */
export const tableFileBytes = 256 * 1024;

/** What one call of a remote tree (s3, webdav) may take, with its retries; ETIMEDOUT then. */
export const remoteCallMilliseconds = 30_000;

/**
 * How long a request of a mount goes on waiting for a remote tree when a signal came for whoever asked: EINTR then, so that one that
 * is to be killed dies. Programs that are not killed get it, too, where the remote is that slow.
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

/** Parts of remote files that are kept in memory, of one tree. */
export const remoteCacheBytes = 64 * 1024 * 1024;

/** How old what is known of a remote entry may be. */
export const remoteAttributeMilliseconds = 1_000;

/** A part of a large file on its way to S3, which takes no smaller ones than 5 MiB, and no more than 10,000. */
export const s3PartBytes = 16 * 1024 * 1024;

/** Objects that moving a directory of a bucket copies one by one; more is EXDEV, and `mv` copies them itself. */
export const s3MovedObjects = 10_000;

/** One answer of a WebDAV server that is in memory at once: a listing of hundreds of thousands of names, or a file from a server without ranges. */
export const webdavAnswerBytes = 128 * 1024 * 1024;

/** Advisory locks of one file that a tree keeps itself: each is compared with every other one. Beyond it: ENOLCK. */
export const locksOfFile = 4_096;

/** Between two looks at a file of grants: a right that is taken away there is gone after that. */
export const grantsLookMilliseconds = 100;

/** Until rclone serves: it asks its remote first. */
export const rcloneStartMilliseconds = 30_000;

/** A file that `fs.replace` changes: it is in memory as a whole. */
export const toolReplacedBytes = 64 * 1024 * 1024;

/** An agent makes children by itself: a person has to be able to look through them. */
export const childrenOfAgent = 64;

/** Events of one tool that a view remembers, where no file has them. */
export const callEvents = 1_000;

/** Results of calls by lines that a view remembers, so that one that is asked for again is not done again. */
export const lineResults = 1_000;

/** Input of a file tool that is called by a line: it becomes an argument, of which the kernel takes 128 KiB. */
export const lineInputBytes = 64 * 1024;

/** Calls of one view at the same time; what comes beyond them is EAGAIN. */
export const viewCalls = 32;

/** Connections to one view, whatever they ask; each is a descriptor of the process that serves it. */
export const viewConnections = 256;

/** Output of a call that its caller has not read yet; a caller that reads nothing ends its call. */
export const viewOutputBytes = 64 * 1024 * 1024;

/** A call of a tool of the operator's, where its cap says nothing of wallTime. */
export const toolMilliseconds = 10 * 60 * 1000;

/** What such a tool may say where its schema says what that is: it is in memory until it is checked. */
export const toolOutputBytes = 16 * 1024 * 1024;

/** One message of a tool source (an MCP server): as much as a checked answer of a tool, as one line of JSON. */
export const sourceMessageBytes = toolOutputBytes;

/** What a source may say between two answers that it was asked for: beyond it, it only talks. */
export const sourceUnaskedBytes = 64 * 1024 * 1024;

/** Levels of lists and objects in a message of a source: what is deeper was made to break its reader. */
export const sourceDepth = 128;

/** Tools of one source, and pages in which it may list them: many times what any server has. */
export const sourceTools = 4_096;
export const sourcePages = 1_024;

/** Description and schemas of one tool, and of all of one source. */
export const sourceToolBytes = 256 * 1024;
export const sourceListBytes = 16 * 1024 * 1024;

/** Until a source has started and answered its first question: one that is installed by its first start takes long. */
export const sourceStartMilliseconds = 120_000;

/** Between closing the stdin of a source and killing it. */
export const sourceGraceMilliseconds = 500;

/** The end of what a source wrote to stderr, for whoever asks why it died. */
export const sourceErrorBytes = 8 * 1024;

/** A configuration that names MCP servers; one that is larger was not written by a person. */
export const sourceFileBytes = 1024 * 1024;

/** A keeper that runs nothing for so long ends; so does one of this age, since what it has in memory gets old. */
export const keeperIdleMilliseconds = 10 * 60_000;
export const keeperLifeMilliseconds = 60 * 60_000;

/** Between two looks of a keeper whether it has still a reason to live: its store, its build. */
export const keeperLookMilliseconds = 2_000;

/** For the copy of a keeper that shows whether copies work at all. */
export const keeperTrialMilliseconds = 10_000;
