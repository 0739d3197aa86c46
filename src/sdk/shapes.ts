/** The shapes of what a caller of the SDK says. Each names every member of its type: the compiler sees to that. */
import {
  abortSignal,
  bytes,
  callback,
  closed,
  either,
  flag,
  integer,
  isRecord,
  list,
  milliseconds,
  oneOf,
  optional,
  positive,
  refuseShape,
  type Shape,
  text,
  word,
} from '../base/shape.js';
import type { Grants, JailOptions, Quota, RunOptions, WorkspaceOptions } from './options.js';
import type { Edit } from './workspace/edit.js';
import type { SearchOptions } from './workspace/file-answers.js';
import type { ApplyOptions, ChangeOptions, DiffOptions } from './workspace/fork.js';
import type { AskedApplyOptions } from './workspace/workspace.js';
import type { FileOptions } from './workspace/workspace-jail.js';

export const words = list(word);

/** An object whose own reader refuses what is wrong in it. */
export const anObject: Shape = (value, at) => {
  if (typeof value !== 'object' || value === null) refuseShape(at, 'an object', value);
};

const quota = closed<Quota>({
  cpu: optional(positive()),
  memory: optional(integer(1)),
  pids: optional(integer(1)),
  disk: optional(integer(1)),
  inodes: optional(integer(1)),
  wallTime: optional(milliseconds),
});

const user = closed<NonNullable<Grants['user']>>({ uid: integer(0), gid: optional(integer(0)) });

const secret = closed<NonNullable<Grants['secrets']>[number]>({
  host: word,
  header: word,
  // The code that made it shows it in no message.
  value: optional((value, at) => {
    if (typeof value !== 'string') refuseShape(at, 'a string', typeof value);
  }),
  template: optional(word),
  port: optional(integer(1, 65_535)),
});

export const workspaceMembers: { readonly [Name in keyof Required<WorkspaceOptions>]: Shape } = {
  agent: optional(word),
  reads: optional(words),
  writes: optional(words),
  liveWrites: optional(words),
  siblings: optional(flag),
  cache: optional(oneOf('fork', 'share')),
  readonly: optional(flag),
  network: optional(words),
  privateHosts: optional(words),
  secrets: optional(list(secret)),
  mounts: optional(words),
  quota: optional(quota),
  user: optional(user),
  weakened: optional(words),
  approvalMilliseconds: optional(milliseconds),
  onApproval: optional(callback),
  onProgress: optional(callback),
  fork: optional(word),
  environment: optional(words),
  project: optional(flag),
  home: optional(word),
  wait: optional(flag),
  alone: optional(flag),
};
export const workspaceOptions = closed<WorkspaceOptions>(workspaceMembers);

export const commandWords: Shape = (value, at) => {
  words(value, at);
  if ((value as unknown[]).length === 0) refuseShape(at, 'a program and its arguments', value);
};

export const command = either(Array.isArray, commandWords, closed<{ shell: string }>({ shell: word }));

const execMembers = {
  timeoutMilliseconds: optional(milliseconds),
  approvalMilliseconds: optional(milliseconds),
  onApproval: optional(callback),
  onLimit: optional(callback),
  directory: optional(word),
  environment: optional(words),
  signal: optional(abortSignal),
};

export const jailOptions = closed<JailOptions>({
  ...execMembers,
  onOutput: optional(callback),
  onReady: optional(callback),
  onStarted: optional(callback),
  streams: optional(oneOf('inherit', 'capture')),
  calledTool: optional(word),
  toolCall: optional(closed<NonNullable<JailOptions['toolCall']>>({ name: word, cap: words })),
});

export const runOptions = closed<RunOptions>({
  ...execMembers,
  input: optional(bytes),
  onOutput: optional(callback),
});

export const calledToolOptions = closed<Omit<RunOptions, 'input'>>({ ...execMembers, onOutput: optional(callback) });

/** An object of JSON; what it has to hold is the tool's schema's to say. */
export const toolInput: Shape = (value, at) => {
  if (!isRecord(value)) refuseShape(at, 'an object', value);
};

const fileMembers = { signal: optional(abortSignal) };
export const fileOptions = closed<FileOptions>(fileMembers);
export const listOptions = closed<FileOptions & { depth?: number | undefined }>({
  ...fileMembers,
  depth: optional(integer(1, 1_000)),
});
export const searchOptions = closed<SearchOptions & FileOptions>({
  ...fileMembers,
  path: optional(word),
  ignoreCase: optional(flag),
  literal: optional(flag),
  include: optional(word),
});
export const edit = closed<Edit>({ before: text, after: text, all: optional(flag) });

const changeMembers = { paths: optional(words), since: optional(word) };
export const changeOptions = closed<ChangeOptions>(changeMembers);
export const diffOptions = closed<DiffOptions>({
  ...changeMembers,
  style: optional(closed<NonNullable<DiffOptions['style']>>({ paint: callback, escaped: flag })),
  full: optional(flag),
  onText: optional(callback),
});

export const applyOptions = closed<ApplyOptions>({
  paths: optional(words),
  conflicts: optional(oneOf('refuse', 'ours', 'theirs')),
  ours: optional(words),
  theirs: optional(words),
  allowSensitive: optional(flag),
  dryRun: optional(flag),
  onProgress: optional(callback),
  signal: optional(abortSignal),
  to: optional(word),
});

export const askedApplyOptions = closed<AskedApplyOptions>({
  paths: optional(words),
  approvalMilliseconds: optional(milliseconds),
  onApproval: optional(callback),
  signal: optional(abortSignal),
});
