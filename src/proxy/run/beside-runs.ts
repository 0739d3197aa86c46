/** What tools run for the command that called them: decided, recorded and run as every command, in jails beside the caller's. */
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fromSystemError } from '../../base/errno.js';
import { lazily } from '../../base/lazily.js';
import { makeDirectory } from '../../base/make-directory.js';
import { uniqueName } from '../../base/unique-name.js';
import { storePaths } from '../../vault/store/layout.js';
import { Tree } from '../../vault/tree/tree.js';
import type { AgentViewRequest } from '../agent-views.js';
import type { Host } from '../host.js';
import type { Permitted } from './authority-for.js';
import { besideRequest, toolRequest } from './beside-request.js';
import type { ExecRequest } from './exec-request.js';
import { endOf, programOf, type RunsBeside, runServer } from './server-run.js';

/** For commands beside one: how a process that runs a single command starts programs is not for several at once. */
export function hostApart(host: Host): () => Host {
  const { tree, lockLibrary } = host;
  return lazily(() =>
    host.starter === undefined
      ? host
      : { ...host, starter: undefined, tree: new Tree({ program: tree.program, lockLibrary }) },
  );
}

/** A file without a name that holds what a tool reads. */
function inputFile(directory: string, bytes: Buffer): number {
  const path = join(directory, `input-${uniqueName()}`);
  try {
    makeDirectory(directory);
    const descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    // At a place, so that anyone who reads begins at the start.
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at, at);
    return descriptor;
  } catch (error) {
    throw fromSystemError(error, 'keep the input of a tool', path);
  }
}

/** `request` is the caller's own, `startsIn` where such a command starts by itself, `by` how one is run. */
export function runsBeside(
  host: Host,
  request: () => ExecRequest,
  startsIn: string,
  by: RunsBeside,
): Pick<AgentViewRequest, 'run' | 'runTool' | 'runServer'> {
  const apart = hostApart(host);
  return {
    run: async (command) => {
      const beside = besideRequest(request(), command, startsIn);
      const caller = by.callers?.();
      if (caller === undefined) return endOf(await by.execute(apart(), beside, by.on));
      const { runInCallersJail } = await import('./in-callers-jail.js');
      const otherwise = (permitted: Permitted) => by.execute(apart(), beside, by.on, permitted);
      return endOf(await runInCallersJail(apart(), beside, caller, otherwise));
    },
    runTool: async (command) => {
      const input = inputFile(storePaths(host.store.directory).runs, command.input);
      try {
        return endOf(await by.execute(apart(), toolRequest(request(), command, programOf(command), input), by.on));
      } finally {
        closeSync(input);
      }
    },
    runServer: (command) => runServer(apart(), request(), command, by),
  };
}
