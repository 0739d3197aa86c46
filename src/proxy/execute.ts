/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork is locked until the command has started, and again while its report is made; meanwhile others may join (group.ts of
 * the vault). Whatever happens nothing stays mounted: the jail ends with this process, and is in the group until it has.
 */
import { closeSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fromSystemError } from '../base/errno.js';
import { lazily } from '../base/lazily.js';
import { uniqueName } from '../base/unique-name.js';
import type { RunningJail } from '../jail/launch.js';
import { writtenTrees } from '../vault/fork-trees.js';
import { commandText } from '../vault/store/group.js';
import { rootKey, storePaths, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { Tree } from '../vault/tree/tree.js';
import { closeFork, type OpenFork, openFork } from '../vault/vault.js';
import type { AgentViewRequest } from './agent-views.js';
import { agentViewFor, viewServer } from './grants/agent-view.js';
import { ownersOf } from './grants/jail-identity.js';
import { serversOf } from './grants/served-trees.js';
import { type Host, type Place, placeOf } from './host.js';
import type { Envelope } from './report/envelope.js';
import { withMounts } from './run/asked-mounts.js';
import { authorityFor, type Permitted } from './run/authority-for.js';
import { besideRequest, toolRequest } from './run/beside-request.js';
import { type ExecRequest, refuseNoCommand } from './run/exec-request.js';
import { joinedFork, refuseOtherOwners } from './run/join-fork.js';
import { recordInterruptedLive } from './run/live-runs.js';
import { readyFork } from './run/ready-fork.js';
import { type JailRun, type RunRequest, runInJail } from './run/run.js';
import { runOnFork, withArrived } from './run/run-on-fork.js';
import { ownJailOf, type TargetCommand } from './run/run-on-target.js';
import { openSettled, untilJoined } from './run/settled-fork.js';
import { vaultWatchOf } from './run/watch-limits.js';

/** How a command is run that has a jail of its own. */
export interface OwnJail {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly warnings: readonly string[];
  readonly keptJail?: string | undefined;
  /** Where it is not the one that the request names. */
  readonly fork?: string | undefined;
  /** Where a person sees the fork by it: not a command, then. */
  readonly mount?: string | undefined;
  run(command: TargetCommand, fork: OpenFork, lock: Pick<RunRequest, 'lockDescriptor' | 'onStarted'>): Promise<JailRun>;
}

/** On the fork by itself, or with whoever is at work on it. */
export function executeInOwnJail(host: Host, request: ExecRequest, own: OwnJail): Promise<Envelope> {
  const { origin, owner } = own.place;
  const roots = [workspaceRoot, ...own.resolved.roots.map(rootKey)];
  return untilJoined(async () => {
    const opened = await openSettled(roots, (look) =>
      openFork({
        store: host.store,
        tree: host.tree,
        origin,
        owner,
        fork: own.fork ?? request.fork,
        wait: request.wait,
        beside: request.alone !== true && !request.wait,
        look,
        purpose: commandText(request.argv),
        onProgress: request.onProgress,
        signal: request.signal,
      }),
    );
    // Said even where a command changes nothing, and has no report.
    for (const text of opened.warnings ?? []) host.warn?.(text);
    try {
      return await executeOpened(host, request, own, opened);
    } finally {
      closeFork(opened);
    }
  });
}

async function executeOpened(host: Host, request: ExecRequest, own: OwnJail, opened: OpenFork): Promise<Envelope> {
  const { place, resolved, warnings, keptJail } = own;
  const { others, lock, tree } = opened;
  const owners = ownersOf(place, resolved);
  refuseOtherOwners(opened, owners);
  const synced =
    others.length === 0
      ? await readyFork(host, place, opened, resolved, request)
      : await joinedFork(host, opened, resolved, request);
  const facts = {
    command: commandText(request.argv),
    roots: [workspaceRoot, ...resolved.roots.map(rootKey)],
    owners,
    mount: own.mount,
    checkpoint: synced.checkpoint ?? others[0]?.checkpoint ?? null,
  };
  const member = await Member.enter(tree, opened.place, facts, others);
  member.foundWaiting(synced.waiting?.length ?? 0);
  const arrivals = member.arrivals;
  try {
    return await runOnFork(host, request, {
      place,
      resolved,
      synced,
      keptJail,
      warnings,
      note: member,
      beside: async () => ({
        ...withArrived(
          others.map(({ command }) => command),
          member.since(arrivals),
        ),
        isStill: (await member.others()).length === 0,
      }),
      run: async (command) => {
        const onStarted = (jail: RunningJail) => {
          request.onStarted?.(jail);
          // Everything is mounted: whoever comes joins it.
          void jail.started.then(() => {
            member.mounted(jail.pid);
            lock?.letGo();
          });
        };
        try {
          return await own.run(command, synced.fork, { lockDescriptor: member.descriptor, onStarted });
        } finally {
          await lock?.takeAgain();
        }
      },
    });
  } finally {
    member.leave();
  }
}

export async function execute(host: Host, asked: ExecRequest): Promise<Envelope> {
  refuseNoCommand(asked, 'exec');
  const request = await withMounts(host, asked);
  recordInterruptedLive(host);
  const place = placeOf(host, request.cwd);
  const resolved = await authorityFor(host, place, request);
  let name = request.fork;
  const startsIn = resolved.agent?.cwd ?? place.directory;
  const runs = runsBeside(host, () => ({ ...request, fork: name }), startsIn);
  const { view, warnings } = await agentViewFor(host, place, { ...resolved, tool: request.calledTool }, runs);
  try {
    return await executeInOwnJail(
      host,
      { ...request, view },
      {
        place,
        resolved,
        warnings,
        run: (command, fork, lock) => {
          name = fork.name;
          return runInJail({
            ...ownJailOf(host, resolved, request),
            ...command,
            ...lock,
            counted: writtenTrees(fork),
            vault: vaultWatchOf(fork),
            servers: serversOf(command.view, [...(request.trees ?? []), ...viewServer(view, command.view, fork.name)]),
          });
        },
      },
    );
  } finally {
    await view?.end();
  }
}

/** For commands beside one: how a process that runs a single command starts programs is not for several at once. */
function hostApart(host: Host): () => Host {
  const { tree, lockLibrary } = host;
  return lazily(() =>
    host.starter === undefined
      ? host
      : { ...host, starter: undefined, tree: new Tree({ program: tree.program, lockLibrary }) },
  );
}

/** For tools that the command called: decided, recorded and run as every command, in a jail of its own beside the caller's. */
function runsBeside(
  host: Host,
  request: () => ExecRequest,
  startsIn: string,
): Pick<AgentViewRequest, 'run' | 'runTool'> {
  const apart = hostApart(host);
  const ended = ({ exitCode, signal, timedOut }: Envelope) => ({ exitCode, signal, timedOut });
  return {
    run: async (command) => ended(await execute(apart(), besideRequest(request(), command, startsIn))),
    runTool: async (command) => {
      const input = inputFile(storePaths(host.store.directory).runs, command.input);
      const { path, identity } = command.program;
      const program = { source: path, target: `/ctx/tool/${command.name}`, access: 'read only', identity } as const;
      try {
        return ended(await execute(apart(), toolRequest(request(), command, program, input)));
      } finally {
        closeSync(input);
      }
    },
  };
}

/** A file without a name that holds what a tool reads. */
function inputFile(directory: string, bytes: Buffer): number {
  const path = join(directory, `input-${uniqueName()}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    // At a place, so that whoever reads begins at the start.
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at, at);
    return descriptor;
  } catch (error) {
    throw fromSystemError(error, 'keep the input of a tool', path);
  }
}
