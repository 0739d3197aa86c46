/** Tools as data: what the client is told of them, and what they do. */
import type { Asked } from '../sdk/operator/approvals.js';
import type { Workspace } from '../sdk/workspace/workspace.js';
import type { InputSchema, ToolInput } from './input.js';

export interface Context {
  readonly workspace: Workspace;
  /** Aborted when the client cancels the call, or goes away. */
  readonly signal: AbortSignal;
  /** For `exec`, where the call names none. */
  readonly timeoutMilliseconds: number | undefined;
  /** What the client is told while it waits. */
  say(message: string): void;
  /** A person has to answer this: tells those who can be known. It is no way to answer. */
  asked(asked: Asked): void;
}

/** What a command of a call tells the client while it runs: the last line of its output, and that a person has to answer. */
export function toldWhileRunning({ say, asked }: Pick<Context, 'say' | 'asked'>) {
  return {
    onOutput: (_stream: unknown, chunk: Uint8Array) => {
      const line = Buffer.from(chunk).toString('utf8').trimEnd().split('\n').at(-1) ?? '';
      if (line !== '') say(line.slice(0, 200));
    },
    onApproval: async (request: Asked) => {
      asked(request);
      return undefined;
    },
  };
}

export interface ToolAnswer {
  readonly text: string;
  /** The same for programs. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly isError?: true;
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: InputSchema;
  /** What it can do at worst, for clients that ask their person by it. */
  readonly effect: 'reads' | 'changes the fork' | 'changes the directory';
  run(input: ToolInput, context: Context): Promise<ToolAnswer>;
}
