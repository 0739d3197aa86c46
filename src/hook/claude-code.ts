/**
 * Claude Code's PreToolUse protocol: a call on stdin, an answer on stdout with exit code 0. Which tool uses which member
 * is a table; a tool that is not in it needs a grant by name, and a member that looks like a path and is not in it denies
 * the call, since a newer harness may mean something by it that is not checked here.
 */
import { ErrnoError } from '../base/errno.js';
import type { Call, CallAction, CallVerdict, PathUse } from './call.js';
import { isRecord, type JsonRecord, type JsonValue } from './json-text.js';

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'hook', reason });
}

function textOf(record: JsonRecord, key: string, what: string): string {
  const value = record[key];
  return typeof value === 'string' ? value : refuse(`expected ${what} with the text \`${key}\``);
}

type Reader = (input: JsonRecord, cwd: string) => CallAction;

function oneFile(key: string, access: 'read' | 'write'): Reader {
  return (input) => {
    refuseOtherPaths(input, [key]);
    return { kind: 'paths', uses: [{ path: textOf(input, key, 'the input'), access, tree: false }] };
  };
}

/** A directory, the working directory where none is named. */
function wholeTree(withPattern: boolean): Reader {
  return (input, cwd) => {
    refuseOtherPaths(input, ['path']);
    const path = input['path'] === undefined || input['path'] === null ? cwd : textOf(input, 'path', 'the input');
    const use: PathUse = { path, access: 'read', tree: true };
    return { kind: 'paths', uses: [withPattern ? { ...use, pattern: textOf(input, 'pattern', 'the input') } : use] };
  };
}

const pathLike = /path|file|dir|folder|root|cwd|uri|url/i;

function refuseOtherPaths(input: JsonRecord, known: readonly string[]): void {
  const other = Object.keys(input).find((key) => pathLike.test(key) && !known.includes(key));
  if (other !== undefined) refuse(`the input has \`${other.slice(0, 40)}\`, which this version of ctx does not know`);
}

const subAgent = 'a sub-agent; its own calls come through this hook';
const bookkeeping = 'touches no file, no network and no process';

function harmless(why: string): Reader {
  return () => ({ kind: 'harmless', why });
}

const tools: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['Read', oneFile('file_path', 'read')],
  ['Write', oneFile('file_path', 'write')],
  ['Edit', oneFile('file_path', 'write')],
  ['MultiEdit', oneFile('file_path', 'write')],
  ['NotebookRead', oneFile('notebook_path', 'read')],
  ['NotebookEdit', oneFile('notebook_path', 'write')],
  ['Glob', wholeTree(true)],
  ['Grep', wholeTree(false)],
  ['LS', wholeTree(false)],
  ['Bash', (input) => ({ kind: 'command', command: textOf(input, 'command', 'the input') })],
  ['WebFetch', (input) => ({ kind: 'fetch', url: textOf(input, 'url', 'the input') })],
  ['WebSearch', () => ({ kind: 'search' })],
  ['Task', harmless(subAgent)],
  ['Agent', harmless(subAgent)],
  ...[
    'AskUserQuestion',
    'BashOutput',
    'EnterPlanMode',
    'ExitPlanMode',
    'KillBash',
    'KillShell',
    'TaskCreate',
    'TaskGet',
    'TaskList',
    'TaskOutput',
    'TaskStop',
    'TaskUpdate',
    'TodoRead',
    'TodoWrite',
    'ToolSearch',
  ].map((name): [string, Reader] => [name, harmless(bookkeeping)]),
]);

/** `mcp__server__tool` is the object `mcp.server.tool`. A dot in a part could make one name of two tools. */
const mcpTool = /^mcp__([A-Za-z0-9_-]+?)__([A-Za-z0-9_-]+)$/;

function objectName(tool: string): string {
  const mcp = mcpTool.exec(tool);
  if (mcp !== null) return `mcp.${mcp[1]}.${mcp[2]}`;
  // Neither a disguised MCP tool nor an object of another name.
  return tool.startsWith('mcp') ? '' : tool;
}

export function claudeCodeCall(message: JsonValue): Call {
  if (!isRecord(message)) return refuse('expected an object');
  const event = textOf(message, 'hook_event_name', 'an object');
  if (event !== 'PreToolUse') refuse('expected the event PreToolUse: ctx hook decides before a call, and nothing else');
  const tool = textOf(message, 'tool_name', 'an object');
  const cwd = textOf(message, 'cwd', 'an object');
  const input = message['tool_input'];
  if (!isRecord(input)) return refuse('expected an object with the object `tool_input`');
  const read = tools.get(tool);
  return { tool, cwd, action: read === undefined ? { kind: 'tool', name: objectName(tool) } : read(input, cwd) };
}

/** Members of a Bash call that are handed on with the new command: the answer replaces the whole input. */
const keptMembers: Readonly<Record<string, 'string' | 'number' | 'boolean'>> = {
  description: 'string',
  timeout: 'number',
  run_in_background: 'boolean',
};

function rewritten(message: JsonValue, command: string): Record<string, JsonValue> {
  const input = isRecord(message) ? message['tool_input'] : undefined;
  const kept = Object.entries(keptMembers).flatMap(([key, type]) => {
    const value = isRecord(input) ? input[key] : undefined;
    return value !== undefined && typeof value === type ? [[key, value] as const] : [];
  });
  return { command, ...Object.fromEntries(kept) };
}

/**
 * What is granted is answered without a decision, so that the harness asks whatever it would have asked: the hook takes
 * away and never gives. `approve` answers `allow`, which skips those questions.
 */
export function claudeCodeAnswer(verdict: CallVerdict, message: JsonValue, approve: boolean): string {
  const answer: Record<string, unknown> = { hookEventName: 'PreToolUse' };
  if (verdict.decision === 'deny' || approve) {
    answer['permissionDecision'] = verdict.decision === 'deny' ? 'deny' : 'allow';
    answer['permissionDecisionReason'] = `ctx: ${verdict.reason}`;
  }
  if (verdict.decision === 'rewrite') answer['updatedInput'] = rewritten(message, verdict.command);
  return `${JSON.stringify({ hookSpecificOutput: answer })}\n`;
}
