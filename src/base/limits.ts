/** Every limit of ours in one place: its name, its value, and why it is that. */

/** Output of one stream kept for a report; more is dropped and counted, so that endless output cannot fill memory. */
export const capturedOutputBytes = 8 * 1024 * 1024;

/** Between SIGTERM and SIGKILL when a command has run out of time. */
export const terminationGraceMilliseconds = 2_000;

/** Layers below a fork before its workspace is imported afresh: a cold lookup costs about 1.6 us a layer. */
export const layersBeforeReimport = 16;

/** Changed files listed in a report for people; `--json` and `ctx diff` always list all. */
export const changesShownToPeople = 20;

/** Bytes of an errors-and-facts stream of a native program that are kept for its message. */
export const nativeErrorBytes = 64 * 1024;
