/** Limits of agents, tools, their sources and their views, and of the files that say what they may do. Each with its name, its value, and why it is that. */

/** Text of one policy, mount or workspace file: hundreds of times what people write, little enough to parse at once. */
export const controlTextCharacters = 4 * 1024 * 1024;

/** The same in bytes, of a file before it is read, or of what a person gives: no letter takes more than four. */
export const controlTextBytes = 4 * controlTextCharacters;

/** Of one control file in the record of a change to it; a longer one is in it by its digest. */
export const recordedFileCharacters = 8 * 1024;

/** Rules of one policy: six times the ten thousand it is measured with. */
export const policyRules = 65_536;

/** Mounts of one view, derived ones included: each is several system calls of a jail's start. */
export const viewMounts = 4_096;

/** Longest path the kernel takes, without its final NUL. */
export const pathBytes = 4_095;

/** Host and port pairs of one Authority. */
export const networkHosts = 4_096;

/** Paths a preamble lists under one heading: it is read at the start of every session. */
export const preamblePaths = 24;

/** Alternatives of one glob pattern, each of which is resolved. */
export const globAlternatives = 64;

/** Agents from one that a person made down to a child: each is derived from the one before, on every command. */
export const lineageDepth = 16;

/** Links in one directory of PATH that are followed to what they lead to: several times what people install. */
export const programLinks = 1_000;

/** A project's file of defaults, which comes with the project. */
export const projectFileBytes = 64 * 1024;

/** Entries of each list in it: a person reads a sentence for each. */
export const projectEntries = 64;

/** Of an agent's log before it is put aside as `log.old`: to look at, not to keep. */
export const objectLogBytes = 1024 * 1024;

/** A file that `fs.replace` changes: it is in memory as a whole. */
export const toolReplacedBytes = 64 * 1024 * 1024;

/** Places of a file that `fs.replace` replaces at once: the process that serves a view does nothing else meanwhile. */
export const toolReplacements = 100_000;

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

/** Between two looks whether a client that asks nothing more is still there for what it asked. */
export const lookForClientMilliseconds = 200;

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

/** What each line of that counts beside its bytes, since to read a short one takes as long: 65,536 lines are the most. */
export const sourceUnaskedLineBytes = 1024;

/** Of the reason that a source refuses with: it is said in one line. */
export const sourceReasonCharacters = 4_096;

/** Between two times that a source is asked for its tools because it says that they changed: each is written to the disk and recorded. */
export const sourceRefreshMilliseconds = 1_000;

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

/** The end of what a source wrote to stderr, for anyone who asks why it died. */
export const sourceErrorBytes = 8 * 1024;

/** A configuration that names MCP servers; one that is larger was not written by a person. */
export const sourceFileBytes = 1024 * 1024;

/** After this long a draft beside the objects is taken for that of a killed process: making one takes a server's start at most. */
export const leftBehindMilliseconds = 60 * 60_000;
