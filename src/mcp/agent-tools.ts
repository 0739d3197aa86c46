/**
 * The tools that the server's agent may call, beside those of the server: the same that it finds at /ctx in the jail, decided by the same
 * policies at every call. A name that a tool of the server has is `tool.NAME` here.
 */

import { ErrnoError } from '../base/errno.js';
import { anything, mapOf, parsedAs } from '../base/shape.js';
import type { Envelope } from '../sdk/report.js';
import type { AgentTool } from '../sdk/workspace/tool-calls.js';
import { shortened } from './texts.js';
import { type Context, type ToolAnswer, toldWhileRunning } from './tool.js';

type Schema = Readonly<Record<string, unknown>>;
type ObjectSchema = Schema & { readonly type: 'object' };

export interface OfferedTool {
  /** As clients call it. */
  readonly name: string;
  readonly tool: AgentTool;
}

/** Clients take schemas of objects alone, and so does every tool. */
function objectSchema(schema: Schema): ObjectSchema {
  return { ...schema, type: 'object' };
}

export function offeredTools(tools: readonly AgentTool[], taken: readonly string[]): readonly OfferedTool[] {
  const names = new Set(tools.map(({ name }) => name));
  return tools.flatMap((tool) => {
    if (!taken.includes(tool.name)) return [{ name: tool.name, tool }];
    const name = `tool.${tool.name}`;
    return names.has(name) ? [] : [{ name, tool }];
  });
}

export function notOffered(name: string): OfferedTool {
  return { name, tool: { name, description: '', input: {}, output: undefined } };
}

/** Only what is an object can be given as data. */
function outputOf({ output }: AgentTool): ObjectSchema | undefined {
  return output?.['type'] === 'object' ? objectSchema(output) : undefined;
}

export function describedTool({ name, tool }: OfferedTool) {
  const outputSchema = outputOf(tool);
  return {
    name,
    description: tool.description === '' ? `The tool ${tool.name}.` : tool.description,
    inputSchema: objectSchema(tool.input),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  };
}

function answerOf(tool: AgentTool, { stdout, stderr, exitCode, signal }: Envelope): ToolAnswer {
  const said = stdout?.text ?? '';
  const notes = stderr?.text ?? '';
  const text = [said, notes].map((part) => shortened(part.trimEnd())).filter((part) => part !== '');
  if (exitCode !== 0) {
    const end = exitCode === null ? `ended by ${signal}` : `exit code ${exitCode}`;
    return { text: [...text, `[${end}]`].join('\n'), facts: { exitCode }, isError: true };
  }
  if (outputOf(tool) === undefined) return { text: text.join('\n') };
  const facts = parsedAs<Schema>(said, mapOf(anything));
  if (facts !== undefined) return { text: text.join('\n'), facts };
  // More than a report keeps: it was whole when it was checked.
  throw new ErrnoError('EFBIG', {
    operation: tool.name,
    reason: 'the output of the tool is too long to be passed on as JSON',
  });
}

export async function callAgentTool(
  { tool }: OfferedTool,
  given: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<ToolAnswer> {
  const { workspace, signal, timeoutMilliseconds } = context;
  const envelope = await workspace.callTool(tool.name, given, {
    signal,
    timeoutMilliseconds,
    ...toldWhileRunning(context),
  });
  return answerOf(tool, envelope);
}
