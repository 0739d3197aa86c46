/** `ctx mcp`: the server on stdin and stdout. What is for people goes to stderr, which clients keep as its log. */
import { resolve } from 'node:path';
import { ExitCode } from '../base/errno.js';
import { makeServer } from '../mcp/server.js';
import { currentDirectory } from '../sdk/current-directory.js';
import { askedLines } from './ask-approval.js';
import { painter } from './output.js';
import { parseDuration } from './parse-arguments.js';
import type { Arguments, Run } from './verb.js';
import { optionsOf, workspaceHere } from './workspace-here.js';

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
  const workspace = await workspaceHere(host, options, resolve(currentDirectory(), call.value('cwd') ?? '.'));
  // A client shows why a server did not start, and seldom why its tools fail.
  await workspace.check();
  const paint = painter(process.stderr);
  const protocol = await import('../mcp/mcp-protocol.js');
  const server = makeServer({
    workspace,
    protocol,
    timeoutMilliseconds: durationOf(call, 'timeout'),
    onAsked: (asked) => {
      const how = `  ctx approvals grant ${asked.id}, or deny`;
      process.stderr.write(`${[...askedLines(asked, paint), how].join('\n')}\n`);
    },
  });
  if (process.stdin.isTTY === true)
    process.stderr.write('ctx mcp: expects an MCP client on stdin; docs/mcp.md tells\n');
  const end = ended();
  try {
    await server.connect(new protocol.StdioServerTransport());
    await end;
  } finally {
    await workspace.close();
    await server.close();
  }
  return ExitCode.ok;
};
