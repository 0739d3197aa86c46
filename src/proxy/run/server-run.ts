/**
 * The server of a tool source, run for the callers of its tools: decided and recorded as every command, in a jail of
 * its own.
 */
import { closeSync } from 'node:fs';
import type { SharedPath } from '../../jail/plan.js';
import { toolHome } from '../../vault/store/tool-home.js';
import type { BesideEnd, ServerCommand, ToolCommand } from '../agent-views.js';
import { type Host, placeOf } from '../host.js';
import { serverRequest } from './beside-request.js';
import type { ExecRequest } from './exec-request.js';
import { executeApart, nowhere } from './execute-apart.js';

export function endOf({ exitCode, signal, timedOut }: BesideEnd): BesideEnd {
  return { exitCode, signal, timedOut };
}

export function programOf({ name, program: { path, identity } }: Pick<ToolCommand, 'name' | 'program'>): SharedPath {
  return { source: path, target: `/ctx/tool/${name}`, access: 'read only', identity };
}

/** On its caller's fork, by `execute`, where its cap says so; else apart from every workspace. */
export async function runServer(
  host: Host,
  caller: Pick<ExecRequest, 'cwd' | 'fork' | 'weakened'>,
  command: ServerCommand,
  execute: (host: Host, request: ExecRequest) => Promise<BesideEnd>,
): Promise<BesideEnd> {
  const { grants, name, input } = command;
  try {
    const isApart = grants.fork === undefined;
    const owner = isApart ? nowhere(host).owner : placeOf(host, caller.cwd).owner;
    const home = toolHome(host.store.directory, name, owner);
    const request = serverRequest(caller, command, programOf(command), home);
    return endOf(isApart ? await executeApart(host, request) : await execute(host, request));
  } finally {
    closeSync(input);
  }
}
