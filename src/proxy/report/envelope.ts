/** The report of one command: a versioned value that machines read as JSON and people as text made from it. */
import type { Quota } from '../../authority/quota.js';
import { ExitCode } from '../../base/errno.js';
import type { Outcome, OutputError } from '../../jail/report.js';
import type { ConnectionEvent } from '../../network/events.js';
import type { CommandChange } from '../../vault/forks/changes.js';
import type { TreeChange } from '../../vfs/recorded-changes.js';
import type { Decision } from '../approval/decision.js';
import type { LimitEvent } from './limit-events.js';

export interface CapturedStream {
  /** As text; bytes that are not UTF-8 show as U+FFFD, and `base64` then holds them exactly. */
  readonly text: string;
  readonly base64?: string;
  readonly bytes: number;
  /** Bytes past the limit that are not in `text`. */
  readonly dropped: number;
  /** Where that is so: a file that has them all, from the first on, or as many as `bytes` of it says. */
  readonly file?: { readonly path: string; readonly bytes: number };
}

/** What the kernel refused the command, as far as a refusal can be seen. */
export interface Refusal {
  readonly call: string;
  readonly count: number;
  /** By the host's clock. */
  readonly firstAt: string;
  readonly lastAt: string;
  readonly why: string;
}

/** What was asked, as it was asked: what became of it is beside it in the envelope. */
export interface Requested {
  readonly argv: readonly string[];
  /** The text, where the command was given as one for the shell: `argv` is then what runs it. */
  readonly shell: string | null;
  readonly cwd: string;
  readonly agent: string | null;
  readonly fork: string | null;
  readonly readonly: boolean;
  /** On the directory itself, and no fork. */
  readonly live: boolean;
  readonly timeoutMilliseconds: number | null;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly liveWrites: readonly string[];
  readonly siblings: boolean;
  readonly network: readonly string[];
  /** `host:port` that may be in a private network, too (`--net-private`). */
  readonly privateHosts: readonly string[];
  /** `host:port header` of what the proxy was to add; no value. */
  readonly injected: readonly string[];
  /** Names alone: values may be secrets. */
  readonly environment: readonly string[];
  /** Digest of the `.ctx/project.toml` whose defaults are among these; null where none are. */
  readonly project: string | null;
  readonly quota: Quota;
  /** Who it was asked to be inside. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

/** What a command changed in a tree that it had mounted. */
export interface MountReport {
  readonly specification: string;
  readonly target: string;
  /** Null where that is not known: in a kept jail, whose commands share it, or where its server did not end well. */
  readonly changes: readonly TreeChange[] | null;
  /** Changes that are not in the list, which is full. */
  readonly more: number;
  /** Whether `ctx rollback` takes them back. */
  readonly undoable: boolean;
}

export interface Envelope {
  readonly version: 1;
  /** The run's own name, as the record has it: `ctx inspect RUN`. */
  readonly run: string;
  readonly request: Requested;
  readonly argv: readonly string[];
  readonly directory: string;
  readonly workspace: { readonly origin: string; readonly vault: string; readonly fork: string };
  /** The kept jail it ran in. */
  readonly keptJail: string | null;
  /** The checkpoint before it, for `ctx rollback`: null where none was made, since something was running in the fork. */
  readonly checkpoint: number | null;
  /** The agent it ran for, and the digest of the Authority it ran under, as the record names it. */
  readonly agent: string | null;
  readonly authority: string;
  /** Whether it was let run, and why: decided before it ran. */
  readonly decision: Decision;
  /** The approval it ran by, where it needed one. */
  readonly approval: string | null;
  /** Directories outside the workspace that are part of the fork. */
  readonly roots: readonly string[];
  /** Paths that the command could write directly, outside the fork: what it did there cannot be undone. */
  readonly live: readonly string[];
  /** The command's own; null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** Where output could not be passed on, a full disk for one: the rest of it is lost, and the run has failed. */
  readonly outputError?: OutputError;
  /** Where what it may write was not enough, which failed the run however the command itself ended. */
  readonly limitError?: LimitError;
  /** Null when the streams were passed through and not captured. */
  readonly stdout: CapturedStream | null;
  readonly stderr: CapturedStream | null;
  readonly startedAt: string;
  readonly durationMilliseconds: number;
  readonly resources: Omit<Outcome, 'exitCode' | 'signal' | 'refusedCalls' | 'crowded' | 'outputError' | 'heldCaches'>;
  readonly refusals: readonly Refusal[];
  /** Every attempt to connect, repeats summed. */
  readonly connections: readonly ConnectionEvent[];
  /** When thresholds of limits were reached, in that order. */
  readonly limitEvents: readonly LimitEvent[];
  /** Limits that were hit, in words. */
  readonly limitsReached: readonly string[];
  /** Layers of the jail that the operator gave up for this command. */
  readonly weakened: readonly string[];
  /** What this command changed in the fork. */
  readonly changes: readonly CommandChange[];
  /** Trees that it could write to, beside the fork; missing where there were none. */
  readonly mounts?: readonly MountReport[];
  /** Commands that were at work on the fork at the same time: what they changed meanwhile is in `changes`, too. */
  readonly beside: readonly string[];
  /** How many they were: `beside` names the first of them. */
  readonly besideCount: number;
  /** How many paths of the fork differ from the directory, this command's and earlier ones'. */
  readonly pending: number;
  /** Paths of the person's own edits that entered the fork before the command ran. */
  readonly entered: readonly string[];
  readonly clashes: readonly string[];
  /** Where the record says how it ended; null where that could not be written, which a warning says. */
  readonly record: { readonly chain: string; readonly seq: number } | null;
  readonly warnings: readonly string[];
}

/** As that of a fork, without what only a fork can say. */
export type LiveEnvelope = Omit<
  Envelope,
  | 'workspace'
  | 'keptJail'
  | 'checkpoint'
  | 'roots'
  | 'changes'
  | 'beside'
  | 'besideCount'
  | 'pending'
  | 'entered'
  | 'clashes'
> & {
  readonly workspace: { readonly origin: string; readonly vault: null; readonly fork: null };
};

export interface LimitError {
  readonly code: 'EDQUOT';
  readonly reason: string;
}

/** The exit code that passes through: the command's own, or 128 + signal as shells have it. */
export function exitCodeOfCommand(
  envelope: Pick<Envelope, 'exitCode' | 'signal' | 'outputError' | 'limitError'>,
  signals: Readonly<Record<string, number>>,
): number {
  // Its own failure says more; that it wrote more than it may, or that its output is cut, is not a success.
  if (envelope.exitCode === 0 && envelope.limitError !== undefined) return ExitCode.denied;
  if (envelope.exitCode === 0 && envelope.outputError !== undefined) return ExitCode.failed;
  if (envelope.exitCode !== null) return envelope.exitCode;
  return 128 + (signals[envelope.signal ?? 'SIGKILL'] ?? 9);
}
