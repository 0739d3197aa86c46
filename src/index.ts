/**
 * The SDK: `open` a directory, run commands in jails on its fork, look at what they did, keep it or not. docs/sdk.md tells.
 */
import { resolve } from 'node:path';
import { composeHost } from './compose.js';
import type { WorkspaceOptions } from './sdk/options.js';
import { Workspace } from './sdk/workspace.js';

export { type ErrnoCode, ErrnoError } from './base/errno.js';
export type { Asked } from './proxy/approval.js';
export type { Spoken } from './proxy/await-approval.js';
export type { CapturedStream, Envelope, Refusal } from './proxy/envelope.js';
export type { Edit } from './sdk/edit.js';
export type { Entry, Match, SearchOptions } from './sdk/file-answers.js';
export type {
  Answer,
  ApplyOptions,
  ChangeOptions,
  Diff,
  DiffOptions,
  ForkStatus,
  ForkSummary,
  MadeFork,
  Moment,
  RolledBack,
} from './sdk/fork.js';
export type {
  Command,
  ExecOptions,
  Grants,
  JailOptions,
  RunOptions,
  Started,
  WorkspaceOptions,
} from './sdk/options.js';
export type { AskedApplyOptions, LiveEnvelope, Prepared, Workspace } from './sdk/workspace.js';
export type { FileOptions, Found, Listing, WorkspaceSession } from './sdk/workspace-session.js';

export interface OpenOptions extends WorkspaceOptions {
  /** The directory, or one within its repository; without it, the process's own. */
  readonly directory?: string | undefined;
  /** The store, as `CTX_DATA`. */
  readonly data?: string | undefined;
}

/** A workspace on a directory. Nothing is made until something is asked of it; `close` it at the end. */
export async function open(options: OpenOptions = {}): Promise<Workspace> {
  const { directory = '.', data, ...rest } = options;
  const environment = data === undefined ? process.env : { ...process.env, CTX_DATA: resolve(data) };
  return new Workspace(composeHost(environment), resolve(directory), rest);
}
