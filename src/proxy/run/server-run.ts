/**
 * The server of a tool source, run for the callers of its tools: decided and recorded as every command, in a jail of
 * its own.
 */
import { closeSync } from 'node:fs';
import type { SharedPath } from '../../jail/plan.js';
import { toolHome } from '../../vault/store/tool-home.js';
import type { BesideEnd, ServerCommand, ToolCommand } from '../agent-views.js';
import { type Host, placeOf } from '../host.js';
import { nowhere, onNothing } from './apart-target.js';
import type { Permitted } from './authority-for.js';
import { serverRequest } from './beside-request.js';
import type { ExecRequest } from './exec-request.js';
import type { CallersJail, TargetKind, TargetReport } from './target.js';

export function endOf({ exitCode, signal, timedOut }: BesideEnd): BesideEnd {
  return { exitCode, signal, timedOut };
}

export function programOf({ name, program: { path, identity } }: Pick<ToolCommand, 'name' | 'program'>): SharedPath {
  return { source: path, target: `/ctx/tool/${name}`, access: 'read only', identity };
}

/** How the commands of tools are run: by `execute`, on what their caller works on. */
export interface RunsBeside {
  /** `permitted` is what was decided about it, where somebody did. */
  execute(host: Host, request: ExecRequest, on: TargetKind<TargetReport>, permitted?: Permitted): Promise<BesideEnd>;
  readonly on: TargetKind<TargetReport>;
  /** The jail that the caller is in, where that takes commands. */
  callers?(): CallersJail | undefined;
}

/** On what its caller works on, where its cap says so; else apart from every workspace. */
export async function runServer(
  host: Host,
  caller: Pick<ExecRequest, 'cwd' | 'fork' | 'weakened' | 'toolCall' | 'approvedCall'>,
  command: ServerCommand,
  { execute, on }: RunsBeside,
): Promise<BesideEnd> {
  const { grants, name, input } = command;
  try {
    const isApart = grants.fork === undefined;
    const { owner, directory } = isApart ? nowhere(host) : placeOf(host, caller.cwd);
    const home = toolHome(host.store.directory, name, owner);
    const request = serverRequest(caller, command, programOf(command), home);
    const apart = onNothing({ tool: request.apart, home });
    return endOf(await (isApart ? execute(host, { ...request, cwd: directory }, apart) : execute(host, request, on)));
  } finally {
    closeSync(input);
  }
}
