/** A tool call, judged before it happens, for a program that is the harness: as `ctx hook json`, without a process. */

import { resolve } from 'node:path';
import { having, oneOf, optional, parsedAs, word } from '../../base/shape.js';
import { answerTo, protocolOf } from '../../hook/hook.js';
import type { HookHost } from '../../hook/hook-host.js';
import { currentDirectory } from '../current-directory.js';
import { givenPath } from '../given-path.js';

export type ToolCall = (
  | { readonly tool: 'read' | 'write'; readonly paths: readonly string[] }
  | { readonly tool: 'exec'; readonly command: string }
  | { readonly tool: 'fetch'; readonly url: string }
  | { readonly tool: 'other'; readonly name: string }
) & {
  /** Where its paths start; without one, where the harness does. */
  readonly cwd?: string;
};

/** The task that the harness works on: what it may do beyond working in its directory. */
export interface HarnessTask {
  readonly directory?: string | undefined;
  readonly agent?: string | undefined;
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  /** `any`, or `host:port`. */
  readonly network?: readonly string[];
  /** Further tools by their names. */
  readonly tools?: readonly string[];
  /** Shell commands: run them in the jail instead, or deny them. */
  readonly commands?: 'rewrite' | 'deny';
}

export interface JudgedCall {
  readonly decision: 'allow' | 'deny';
  readonly reason: string;
  /** Of an allowed command: run this, not the command. */
  readonly rewrite?: string;
}

const answerShape = having({ decision: oneOf('allow', 'deny'), reason: word, rewrite: optional(word) });

/** What cannot be decided is denied; it never throws. */
export async function judgeCall(host: () => Promise<HookHost>, call: ToolCall, task: HarnessTask): Promise<JudgedCall> {
  const { agent, reads = [], writes = [], network = [], tools = [], commands = 'rewrite' } = task;
  const directory = resolve(currentDirectory(), task.directory ?? '.');
  const absolute = (paths: readonly string[]) => paths.map((path) => givenPath(directory, path));
  const granted = { agent, reads: absolute(reads), writes: absolute(writes), network, tools };
  let used: HookHost | undefined;
  const { text } = await answerTo(Promise.resolve(JSON.stringify({ version: 1, cwd: directory, ...call })), {
    protocol: protocolOf('json', false),
    commands,
    task: { directory, ...granted, environment: process.env },
    host: async () => {
      used = await host();
      return used;
    },
  });
  used?.release?.();
  return parsedAs<JudgedCall>(text, answerShape) ?? { decision: 'deny', reason: 'the answer of ctx cannot be read' };
}
