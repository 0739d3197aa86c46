/** A tool call, judged before it happens, for a program that is the harness: as `ctx hook json`, without a process. */

import { resolve } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { closed, having, list, oneOf, optional, parsedAs, word } from '../../base/shape.js';
import type { CommandMode } from '../../hook/decide-call.js';
import { answerTo, protocolOf } from '../../hook/hook.js';
import type { HookHost, HookTask } from '../../hook/hook-host.js';
import { currentDirectory } from '../current-directory.js';
import { givenPath } from '../given-path.js';

export type ToolCall = (
  | { readonly tool: 'read' | 'write'; readonly paths: readonly string[] }
  | { readonly tool: 'exec'; readonly command: string }
  | { readonly tool: 'fetch'; readonly url: string }
  | { readonly tool: 'other'; readonly name: string }
) & {
  /** Where its paths start; without one, where the harness does. */
  readonly cwd?: string | undefined;
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

const texts = optional(list(word));
const taskShape = closed<HarnessTask>({
  directory: optional(word),
  agent: optional(word),
  reads: texts,
  writes: texts,
  network: texts,
  tools: texts,
  commands: optional(oneOf('rewrite', 'deny')),
});

interface Read {
  readonly task: Omit<HookTask, 'environment'>;
  readonly commands: CommandMode;
  /** As `ctx hook json` is sent it; rejects with why it cannot be. */
  readonly message: Promise<string>;
}

const nothing = { directory: '/', agent: undefined, reads: [], writes: [], network: [], tools: [] };

function readCall(call: ToolCall, given: HarnessTask): Read {
  taskShape(given, 'judge, argument 2');
  const { agent, reads = [], writes = [], network = [], tools = [], commands = 'rewrite' } = given;
  const directory = resolve(currentDirectory(), given.directory ?? '.');
  const absolute = (paths: readonly string[]) => paths.map((path) => givenPath(directory, path));
  const task = { directory, agent, reads: absolute(reads), writes: absolute(writes), network, tools };
  const { cwd = directory, ...rest } = call;
  return { task, commands, message: Promise.resolve(JSON.stringify({ version: 1, cwd, ...rest })) };
}

/** A misspelt grant or mode denies the call: without it more could be allowed than was meant. */
function read(call: ToolCall, task: HarnessTask): Read {
  try {
    return readCall(call, task);
  } catch (cause) {
    const unread = new ErrnoError('EINVAL', { operation: 'judge', reason: 'the arguments could not be read', cause });
    const message = Promise.reject(cause instanceof ErrnoError ? cause : unread);
    // It is awaited later; until then it must not count as unhandled.
    message.catch(() => undefined);
    return { task: nothing, commands: 'deny', message };
  }
}

/** What cannot be decided is denied; it never throws. */
export async function judgeCall(
  host: () => Promise<HookHost>,
  call: ToolCall,
  harness: HarnessTask,
): Promise<JudgedCall> {
  const { task, commands, message } = read(call, harness);
  let used: HookHost | undefined;
  const { text } = await answerTo(message, {
    protocol: protocolOf('json', false),
    commands,
    task: { ...task, environment: process.env },
    host: async () => {
      used = await host();
      return used;
    },
  });
  used?.release?.();
  return parsedAs<JudgedCall>(text, answerShape) ?? { decision: 'deny', reason: 'the answer of ctx cannot be read' };
}
