/** What the hook knows of the machine and the person: a small part of the proxy's Host, since it starts for every tool call. */
import type { Recorder } from '../audit/record.js';
import type { Authority } from '../authority/authority.js';
import type { ObjectFacts } from '../authority/decide.js';

/** The task of a harness, as `ctx exec` would be asked for it. */
export interface Task {
  /** Where the harness was started. */
  readonly directory: string;
  readonly agent: string | undefined;
  /** Absolute. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** `any`, or `host:port`; an agent has its own. */
  readonly network: readonly string[];
  /** Of the process that asks: the programs on its PATH are part of what a task sees. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** With tools that are granted by name. */
export interface HookTask extends Task {
  readonly tools: readonly string[];
}

/** What `ctx exec` would give the task's commands, and how far it is used. */
export interface TaskAuthority {
  readonly authority: Authority;
  /** Of the uses that its lifetime allows. */
  readonly used: number;
  /** What is on disk of a tool of ours. */
  toolFacts(name: string): ObjectFacts;
}

export interface HookHost {
  /** Canonical. */
  readonly store: string;
  readonly recorder: Recorder;
  readonly home: string;
  /** Canonical paths that no task ever reaches. */
  readonly hidden: readonly string[];
  readonly operatorDirectories: readonly string[];
  /** Absolute path of `ctx`. */
  readonly program: string;
  /** The very Authority that `ctx exec` would give the task's commands. */
  authorityOf(task: Task): Promise<TaskAuthority>;
  now(): Date;
  /** Lets go of the descriptors of the record. */
  release?(): void;
}
