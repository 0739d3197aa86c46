/**
 * The tools that a source lists, judged, and as one file: an index, then what each tool says. So two thousand of them
 * cost a look at one small index, and a schema is read when somebody opens it. All of it comes from a server that no
 * one trusts: what does not fit is left out, with its reason. Pure.
 */

import { isObjectName } from '../../authority/name.js';
import { ErrnoError } from '../../base/errno.js';
import { sourceDepth, sourceListBytes, sourceToolBytes, sourceTools } from '../../base/limits/objects.js';
import { having, list, ofShape, parseJson, text } from '../../base/shape.js';
import { harmlessJson, harmlessLine, visible } from '../../base/visible-text.js';
import { isRecord, type Schema } from '../schema-check.js';

export interface ListedTool {
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly output: Schema | undefined;
}

export interface LeftOut {
  /** Escaped. */
  readonly name: string;
  readonly reason: string;
}

export interface ToolList {
  readonly tools: readonly ListedTool[];
  readonly leftOut: readonly LeftOut[];
}

/** The object that a tool of a source is. */
export function sourceToolName(source: string, tool: string): string {
  return `mcp.${source}.${tool}`;
}

/** Deeper than anybody reads: without recursion, which it could exhaust. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > sourceDepth) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** What follows `mcp.SOURCE.`; never empty, and never hidden by a dot. */
const toolName = /^[a-zA-Z0-9_][a-zA-Z0-9._+-]*$/;
const shownNameCharacters = 80;

function shownName(name: unknown): string {
  if (typeof name !== 'string') return '(no name)';
  return visible(name.length > shownNameCharacters ? `${name.slice(0, shownNameCharacters)}...` : name);
}

function textOf(text: unknown): string {
  return typeof text === 'string' ? text.split('\n').map(harmlessLine).join('\n') : '';
}

/** Why it is left out, or what it is. */
function judged(source: string, value: unknown): ListedTool | string {
  if (!isRecord(value) || typeof value['name'] !== 'string') return 'it has no name';
  const { name, description, inputSchema = {}, outputSchema } = value as Schema & { readonly name: string };
  if (!toolName.test(name) || !isObjectName(sourceToolName(source, name))) {
    return `mcp.${source}.NAME has to be at most 64 letters, digits, \`.\`, \`_\`, \`+\` or \`-\`, and not end in .d or .sock`;
  }
  if (isTooDeep(value)) return `its schemas have more than ${sourceDepth} levels`;
  if (!isRecord(inputSchema) || (outputSchema !== undefined && !isRecord(outputSchema)))
    return 'its schema is not an object';
  return { name, description: textOf(description), input: inputSchema, output: outputSchema };
}

/** What a server said it has. */
export function toolList(source: string, listed: readonly unknown[]): ToolList {
  const tools = new Map<string, ListedTool>();
  const leftOut: LeftOut[] = [];
  let room = sourceListBytes;
  for (const value of listed) {
    const tool = judged(source, value);
    const leave = (reason: string) => {
      leftOut.push({ name: shownName(isRecord(value) ? value['name'] : undefined), reason });
    };
    if (typeof tool === 'string') leave(tool);
    else if (tools.has(tool.name)) leave('the server lists another one of that name before it');
    else if (tools.size >= sourceTools) leave(`a source has at most ${sourceTools} tools`);
    else {
      const size = tool.description.length + JSON.stringify([tool.input, tool.output]).length;
      room -= size;
      if (size > sourceToolBytes) leave(`its description and schemas have more than ${sourceToolBytes} bytes`);
      else if (room < 0) leave(`the tools before it have ${sourceListBytes} bytes`);
      else tools.set(tool.name, tool);
    }
  }
  return { tools: [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), leftOut };
}

/** Where in the file the texts of one tool are. */
export interface ListedPlace {
  readonly offset: number;
  readonly descriptionBytes: number;
  readonly schemaBytes: number;
}

export interface ListIndex {
  /** What the server calls itself, escaped. */
  readonly server: string;
  readonly tools: ReadonlyMap<string, ListedPlace>;
  readonly leftOut: readonly LeftOut[];
}

/** The length of the index, in digits, before it. */
export const indexHeadBytes = 12;

export function printToolList({ tools, leftOut }: ToolList, server: string): string {
  const texts = tools.map(({ description, input, output }) => {
    const schema = { input, ...(output === undefined ? {} : { output }) };
    return [`${description}\n`, `${harmlessJson(JSON.stringify(schema))}\n`] as const;
  });
  const lengths = texts.map((each) => each.map((text) => Buffer.byteLength(text)));
  const rows = tools.map(({ name }, index) => [name, ...(lengths[index] ?? [])]);
  const head = JSON.stringify({ version: 1, server, tools: rows, leftOut });
  const digits = String(Buffer.byteLength(head)).padStart(indexHeadBytes - 1, '0');
  return `${digits}\n${head}${texts.flat().join('')}`;
}

/** EIO */
export function damagedList(): never {
  throw new ErrnoError('EIO', {
    operation: 'read the tools of a source',
    reason: 'the file is damaged',
    remedy: 'ctx tool source refresh NAME',
  });
}

export function indexBytesOf(head: string): number {
  return /^\d{11}\n$/.test(head) ? Number(head) : damagedList();
}

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** `bytes` is the index alone. */
export function parseIndex(bytes: Buffer): ListIndex {
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8'));
  } catch {
    return damagedList();
  }
  const { version, server, tools: rows, leftOut } = (isRecord(value) ? value : {}) as Schema;
  if (version !== 1 || typeof server !== 'string' || !Array.isArray(rows) || !Array.isArray(leftOut))
    return damagedList();
  const tools = new Map<string, ListedPlace>();
  let offset = indexHeadBytes + bytes.length;
  for (const row of rows as readonly unknown[]) {
    const [name, descriptionBytes, schemaBytes] = Array.isArray(row) ? (row as readonly unknown[]) : [];
    if (typeof name !== 'string' || !isLength(descriptionBytes) || !isLength(schemaBytes)) return damagedList();
    tools.set(name, { offset, descriptionBytes, schemaBytes });
    offset += descriptionBytes + schemaBytes;
  }
  const left = ofShape<readonly LeftOut[]>(leftOut, list(having({ name: text, reason: text })));
  return left === undefined ? damagedList() : { server, tools, leftOut: left };
}
