/** Every limit of ours in one place: its name, its value, and why it is that. */

/** Output of one stream kept for a report; more is dropped and counted, so that endless output cannot fill memory. */
export const capturedOutputBytes = 8 * 1024 * 1024;

/** Between SIGTERM and SIGKILL when a command has run out of time. */
export const terminationGraceMilliseconds = 2_000;

/** Layers below a fork before its workspace is imported afresh: a cold lookup costs about 1.6 us a layer. */
export const layersBeforeReimport = 16;

/** Changed files listed in a report for people; `--json` and `ctx diff` always list all. */
export const changesShownToPeople = 20;

/** Files whose text `ctx diff` compares; the rest are listed by name, and `ctx diff PATH...` shows them. */
export const filesDiffedAtOnce = 300;

/** Bytes of an errors-and-facts stream of a native program that are kept for its message. */
export const nativeErrorBytes = 64 * 1024;

/** Text of one policy, mount or workspace file: hundreds of times what people write, little enough to parse at once. */
export const controlTextCharacters = 4 * 1024 * 1024;

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
