/** Limits of commands and of what runs them: their output, processes and ends, kept jails, the keeper, the SDK and MCP. Each with its name, its value, and why it is that. */

/** Less memory than this starts no jail. A number without its unit is the usual reason: 512 is bytes. */
export const leastMemoryBytes = 1024 * 1024;

/** Fewer processes than this start no command: the jail has two of its own. */
export const leastProcesses = 3;

/** Output of one stream kept for a report; more is dropped and counted, so that endless output cannot fill memory. */
export const capturedOutputBytes = 8 * 1024 * 1024;

/** A file of the person's that is copied into a profile's home: settings and sign-ins, no data. */
export const profileFileBytes = 16 * 1024 * 1024;

/** What a command can have left in its two pipes when it ends; what comes after that much is another process's. */
export const pipeRestBytes = 2 * 1024 * 1024;

/** Of one stream in a file, where a report does not hold all of it: the longest logs that people read, and no disk is full of them. */
export const outputFileBytes = 256 * 1024 * 1024;

/** A look at the person's directory that began earlier than this before its fork is opened is made again: somebody was waited for. */
export const lookAheadMilliseconds = 100;

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

/** The process that keeps jails ends when it has none and is asked for none for so long after its start. */
export const sharedKeeperIdleMilliseconds = 10_000;

/** A kept jail that a defect of ours has ended is given up after so long, so that it does not keep the process from its end. */
export const faultedJailMilliseconds = 10_000;

/** Between two tries to find the process that keeps jails while one begins or ends, and how long it is tried. */
export const keeperAgainMilliseconds = 20;
export const keeperPatienceMilliseconds = 10_000;

/** Commands of a group that its checkpoint names: a day of them would make every state file longer. */
export const commandsBesideNamed = 32;

/** Commands at work on one fork at one time: each is a jail, and mostly a Node beside it. More wait, in the order they came. */
export const commandsAtWork = 64;

/** Between the first tries to join a fork whose users are just beginning or ending; between later ones; and how long it is tried. */
export const joinAgainMilliseconds = 10;
export const joinAgainMostMilliseconds = 500;
export const joinPatienceMilliseconds = 30_000;
/** Made even after that time. */
export const joinAttempts = 10;

/** Who has left a group says nothing any more, and its jail holds its place until it has ended: that long it is waited for. */
export const leavingMilliseconds = 2_000;

/** Between two looks of the first that waits for room in a group. */
export const roomAgainMilliseconds = 50;

/** Between two looks of a kept jail whether what runs in its background has ended. */
export const backgroundLookMilliseconds = 500;

/** So often it is looked whether what is left beyond a limit is not just about to end, before its kept jail is ended. */
export const leftLooks = 20;
export const leftLookMilliseconds = 25;

/** A kept jail that nobody has asked anything of for so long ends by itself; `--idle` of `ctx jail start` says another time. */
export const keptJailIdleMilliseconds = 3_600_000;

/** Of a file that the SDK reads or writes whole, in memory; beyond it a command in the jail does it. */
export const sdkFileBytes = 16 * 1024 * 1024;

/** One message of an MCP client: a whole file, of which JSON makes up to three times as much, and the rest of a call. */
export const mcpMessageBytes = 4 * sdkFileBytes;

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

/** A keeper that runs nothing for so long ends; so does one of this age, since what it has in memory gets old. */
export const keeperIdleMilliseconds = 10 * 60_000;
export const keeperLifeMilliseconds = 60 * 60_000;

/** Where less than this share of the machine's memory is available, a keeper that runs nothing makes room sooner. */
export const keeperMemoryShare = 0.1;
export const keeperShortIdleMilliseconds = 30_000;

/** Between two looks of a keeper whether it has still a reason to live: its store, its build. */
export const keeperLookMilliseconds = 2_000;

/** For the copy of a keeper that shows whether copies work at all. */
export const keeperTrialMilliseconds = 10_000;

/** Who waits for commands on a fork longer than this is told for which: until then no one wonders. */
export const waitToldMilliseconds = 1_000;
