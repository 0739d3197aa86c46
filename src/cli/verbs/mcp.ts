/** `ctx mcp`: the server on stdin and stdout. What is for people goes to stderr, which clients keep as its log. */
import { ExitCode } from '../../base/errno.js';
import { uniqueName } from '../../base/unique-name.js';
import { LineTransport } from '../../mcp/line-transport.js';
import { readWithRoom, roomOf } from '../../mcp/room.js';
import { makeServer } from '../../mcp/server.js';
import { Approvals } from '../../sdk/operator/approvals.js';
import { askedLines } from '../input/ask-approval.js';
import { optionsOf } from '../input/asked-options.js';
import { directoryAsked } from '../input/directory-asked.js';
import { parseDuration } from '../input/parse-arguments.js';
import { workspaceHere } from '../input/workspace-here.js';
import { painter, printError } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

function durationOf(call: Arguments, name: string): number | undefined {
  const given = call.value(name);
  return given === undefined ? undefined : parseDuration(given);
}

/** The client closed our input or its output, or somebody told us to end. */
function ended(): Promise<void> {
  return new Promise((done) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => done());
    process.stdin.once('end', done);
    process.stdin.once('close', done);
    process.stdout.once('error', () => done());
  });
}

export const run: Run = async (call, host) => {
  const options = { ...optionsOf(call), approvalMilliseconds: durationOf(call, 'approval-wait') };
  // What a person grants this server is for no other, and ends with it.
  const requester = `MCP server ${process.pid}, ${uniqueName()}`;
  const asking = { ...(await host()), requester };
  const approvals = new Approvals(asking);
  const workspace = await workspaceHere(async () => asking, options, directoryAsked(call.value('cwd')));
  // A client shows why a server did not start, and seldom why its tools fail.
  await workspace.check();
  const paint = painter(process.stderr);
  const protocol = await import('../../mcp/mcp-protocol.js');
  const input = readWithRoom(process.stdin, process.stdout);
  const server = makeServer({
    workspace,
    protocol,
    timeoutMilliseconds: durationOf(call, 'timeout'),
    room: roomOf(input, process.stdout),
    onAsked: (asked) => {
      const how = `  ctx approvals grant ${asked.id}, or deny`;
      printError(`${[...askedLines(asked, paint, approvals.steps(asked.id)), how].join('\n')}\n`);
    },
  });
  if (process.stdin.isTTY === true) printError('ctx mcp: expects an MCP client on stdin: see docs/mcp.md\n');
  // Each answer that waits for room listens for it.
  process.stdout.setMaxListeners(0);
  const end = ended();
  try {
    await server.connect(new LineTransport(input, process.stdout, protocol.JSONRPCMessageSchema));
    await end;
  } finally {
    await workspace.close();
    await server.close();
    // Its reader waits for more: after a signal the process would stay for as long as the client leaves it open.
    input.destroy();
    process.stdin.destroy();
  }
  return ExitCode.ok;
};
