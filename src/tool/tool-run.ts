/** What a built-in tool is given for one call, and how it finds the caller's files. */
import { posix } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { ErrnoError } from '../base/errno.js';
import type { Catalogue } from '../objects/projection/catalogue.js';
import type { Viewer } from '../objects/projection/visible.js';
import type { Schema } from '../objects/schema-check.js';
import type { AgentViewRequest, ForkWork } from '../proxy/agent-views.js';
import type { BeneathPath, CallerFiles } from './caller-files.js';

/** Makes a child of the calling agent, within what that has. */
export type CreateAgent = (name: string, spec: Schema) => Promise<{ readonly directory: string }>;

export interface ToolRunCall extends Pick<AgentViewRequest, 'roots' | 'run' | 'runTool'> {
  readonly name: string;
  /** Checked against the tool's schema. */
  readonly input: Schema;
  /** Where the caller is. */
  readonly directory: string;
  readonly files: CallerFiles;
  readonly catalogue: Catalogue;
  /** As the agent's files say now. */
  viewer(): Viewer;
  /** Undefined where a person calls. */
  readonly createAgent: CreateAgent | undefined;
  /** Remembers what is to be done to the fork when the command has ended; undefined where there is no fork. */
  readonly later: ((work: ForkWork) => void) | undefined;
  /** What the fork changes, as text: all of it, or below a path. */
  diff(path: string | undefined, onText: (text: string) => void): Promise<void>;
  /** A caller that has more to say waits for what is returned. */
  print(bytes: Buffer | string): void | Promise<void>;
  printError(bytes: Buffer | string): void | Promise<void>;
  /** A line of its own, with the tool's name. */
  complain(text: string): void;
  /** The caller has gone. */
  readonly signal: AbortSignal;
}

/** Resolves with the exit code, or throws what becomes one. */
export type ToolRun = (call: ToolRunCall) => Promise<number>;

export function textOf({ input }: ToolRunCall, member: string): string {
  const value = input[member];
  return typeof value === 'string' ? value : '';
}

export function numberOf({ input }: ToolRunCall, member: string): number | undefined {
  const value = input[member];
  return typeof value === 'number' ? value : undefined;
}

/** The directory that has it, and where it is beneath that one. EACCES where none has it. */
export function beneath({ roots, directory, name }: ToolRunCall, path: string): BeneathPath {
  if (path.includes('\0')) throw new ErrnoError('EINVAL', { operation: name, reason: 'expected a path without NUL' });
  const whole = posix.resolve(directory, path);
  const [found] = roots.filter((each) => contains(each.path, whole)).sort((a, b) => b.path.length - a.path.length);
  if (found === undefined) {
    const reason = `it is outside of the workspace: ${roots.map((each) => each.path).join(', ')}`;
    throw new ErrnoError('EACCES', {
      operation: name,
      path,
      reason,
      remedy: 'a shell command sees what else is granted',
    });
  }
  return { root: found.path, source: found.source, path: posix.relative(found.path, whole) || '.', shown: path };
}
