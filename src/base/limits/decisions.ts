/** Limits of what is decided about a command: the hook, the reading of shell, rules, questions to a person. Each with its name, its value, and why it is that. */

/** One tool call on its way through the hook: a file's whole new text is in it. More is denied. */
export const hookInputBytes = 16 * 1024 * 1024;

/** The settings of a harness, in which the hook is entered: hundreds of times what they hold. A project brings its own. */
export const hookSettingsBytes = 16 * 1024 * 1024;

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

/** Equal refusals within this time become one record with a count. */
export const denialRepeatMilliseconds = 10_000;

/** Different refusals that are watched for repeats at once; beyond that the oldest is recorded. */
export const denialsWatched = 64;

/** Records of refusals that a power cut may take and that are known by their number; beyond that the disk is waited for. */
export const denialsUnsynced = 32;

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

/** How long a granted command that no one waited for any more can still be run once. */
export const approvalUseMilliseconds = 60 * 60_000;

/** How long a grant for the session lasts: a working day. */
export const approvalSessionMilliseconds = 8 * 60 * 60_000;

/** After this long an ended request is removed; the record keeps what was asked and answered. */
export const approvalKeptMilliseconds = 30 * 24 * 60 * 60_000;

/** After this long what a process had begun there and not asked is taken for that of a killed one: it takes seconds. */
export const approvalLeftMilliseconds = 24 * 60 * 60_000;

/** Requests that wait at one time: a person cannot look at more, and a loop must not fill the store. */
export const approvalsWaiting = 64;
