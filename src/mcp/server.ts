/**
 * `ctx mcp`: a workspace as tools, for any client that speaks the Model Context Protocol. It runs outside of the jail and does
 * nothing but through the SDK; what a tool may do was said when the server was started, and no call widens it.
 */
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { ErrnoError, hasCode, orSystemError } from '../base/errno.js';
import { toolProgressMilliseconds } from '../base/limits/commands.js';
import { version } from '../base/version.js';
import type { Asked } from '../sdk/operator/approvals.js';
import type { Workspace } from '../sdk/workspace/workspace.js';
import { callAgentTool, describedTool, notOffered, offeredTools } from './agent-tools.js';
import { execTool } from './exec-tool.js';
import { fileTools } from './file-tools.js';
import { forkTools } from './fork-tools.js';
import { jsonSchemaOf, ToolInput } from './input.js';
import type * as Protocol from './mcp-protocol.js';
import { refusal } from './texts.js';
import type { Context, McpTool, ToolAnswer } from './tool.js';

export const tools: readonly McpTool[] = [execTool, ...fileTools, ...forkTools];

const instructions =
  "You work on a copy-on-write fork of the person's directory, in a kernel jail: try things freely, rollback undoes them, and the " +
  "person's own files stay as they are until they approve apply. The network, and everything outside of the workspace, is there only " +
  'where it was granted. An error begins with its code and ends with what to try.\n' +
  'Others who work on the same fork (another client, a terminal) see and change the same files.';

export interface McpServing {
  readonly workspace: Workspace;
  readonly protocol: typeof Protocol;
  readonly timeoutMilliseconds: number | undefined;
  /** Tells the person, where the server has a way to. */
  onAsked(asked: Asked): void;
  /** Resolves when the client has taken what it was answered: until then nothing more is done for it. */
  room(): Promise<void>;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** A word every second while a call is at work, so that the client knows that it is, and may wait longer for it. */
class Progress {
  readonly #extra: Extra;
  readonly #start = performance.now();
  #message: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #told = 0;

  constructor(extra: Extra) {
    this.#extra = extra;
    if (extra._meta?.progressToken === undefined) return;
    this.#timer = setInterval(() => this.#tell(), toolProgressMilliseconds);
  }

  say(message: string): void {
    this.#message = message;
  }

  /** What cannot wait for the next second. */
  sayNow(message: string): void {
    this.#message = message;
    if (this.#timer !== undefined) this.#tell();
  }

  #tell(): void {
    const progressToken = this.#extra._meta?.progressToken;
    if (progressToken === undefined) return;
    // It has to grow, whatever the clock says.
    this.#told = Math.max(this.#told + 0.001, (performance.now() - this.#start) / 1000);
    const message = this.#message === undefined ? {} : { message: this.#message };
    this.#extra
      .sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: this.#told, ...message },
      })
      // A client that has gone is told nothing; that it has gone ends the call.
      .catch(() => this.end());
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function described({ name, title, description, input, effect }: McpTool) {
  return {
    name,
    title,
    description,
    inputSchema: jsonSchemaOf(input),
    annotations: {
      title,
      readOnlyHint: effect === 'reads',
      // What changes the fork can be undone.
      destructiveHint: effect === 'changes the directory',
      openWorldHint: false,
    },
  };
}

async function call(serving: McpServing, run: (context: Context) => Promise<ToolAnswer>, extra: Extra) {
  const progress = new Progress(extra);
  try {
    const { workspace, timeoutMilliseconds } = serving;
    return await run({
      workspace,
      signal: extra.signal,
      timeoutMilliseconds,
      say: (message) => progress.say(message),
      asked: (asked) => {
        serving.onAsked(asked);
        progress.sayNow(`waits for a person: ctx approvals grant ${asked.id}, or deny`);
      },
    });
  } catch (thrown) {
    const error = orSystemError(thrown);
    if (error instanceof ErrnoError) return refusal(error);
    throw error;
  } finally {
    progress.end();
  }
}

/** To be connected to a transport. */
export function makeServer(serving: McpServing): Protocol.Server {
  const { Server, ListToolsRequestSchema, CallToolRequestSchema, McpError, ErrorCode } = serving.protocol;
  const server = new Server({ name: 'ctx', version }, { capabilities: { tools: { listChanged: true } }, instructions });
  const own = tools.map(({ name }) => name);
  let listed: string | undefined;
  /** As policy and objects are now: the process that has an older list is told that there is another. */
  const offered = async () => {
    const found = offeredTools(await serving.workspace.tools(), own);
    const list = JSON.stringify(found);
    if (listed !== undefined && listed !== list) await server.sendToolListChanged();
    if (listed !== undefined) listed = list;
    return found;
  };
  const runOf = async (name: string, given: Readonly<Record<string, unknown>>) => {
    const tool = tools.find((each) => each.name === name);
    if (tool !== undefined) return (context: Context) => tool.run(new ToolInput(name, tool.input, given), context);
    const ofAgent = await offered();
    // One that is there and not allowed is called, too: that is refused with the rule that it lacks, and recorded.
    const found = ofAgent.find((each) => each.name === name) ?? notOffered(name);
    return (context: Context) =>
      callAgentTool(found, given, context).catch((error: unknown) => {
        if (!hasCode(error, 'ENOENT')) throw error;
        const known = [...own, ...ofAgent.map((each) => each.name)].join(', ');
        throw new McpError(ErrorCode.InvalidParams, `expected a tool (${known}), got ${JSON.stringify(name)}`);
      });
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const found = await offered();
    listed = JSON.stringify(found);
    return { tools: [...tools.map(described), ...found.map(describedTool)] };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    await serving.room();
    const run = await runOf(params.name, params.arguments ?? {});
    const { text, facts, isError } = await call(serving, run, extra);
    return {
      content: [{ type: 'text', text }],
      ...(facts === undefined ? {} : { structuredContent: { ...facts } }),
      ...(isError === undefined ? {} : { isError }),
    };
  });
  return server;
}
