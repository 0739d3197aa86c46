/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork is locked until the command has started, and again while its report is made; meanwhile others may join (group.ts of
 * the vault). Whatever happens nothing stays mounted: the jail ends with this process, and is in the group until it has.
 */
import { join } from 'node:path';
import type { RunningJail } from '../jail/launch.js';
import { writtenTrees } from '../vault/fork-trees.js';
import { commandText } from '../vault/store/group.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { closeFork, type OpenFork, openFork } from '../vault/vault.js';
import type { AgentView } from './agent-views.js';
import { homesIn } from './grants/agent-home.js';
import { agentViewFor, viewServer } from './grants/agent-view.js';
import { ownersOf } from './grants/jail-identity.js';
import { serversOf } from './grants/served-trees.js';
import { type Host, type Place, placeOf } from './host.js';
import type { Envelope } from './report/envelope.js';
import type { RunNote } from './report/last-run.js';
import { withMounts, withTreesOf } from './run/asked-mounts.js';
import { authorityFor, type Permitted } from './run/authority-for.js';
import { runsBeside } from './run/beside-runs.js';
import { type ExecRequest, refuseNoCommand } from './run/exec-request.js';
import type { CallersJail } from './run/in-callers-jail.js';
import { joinedFork, refuseOthers } from './run/join-fork.js';
import { recordInterruptedLive } from './run/live-runs.js';
import { readyFork } from './run/ready-fork.js';
import { type JailRun, type RunRequest, runInJail } from './run/run.js';
import { runOnFork, withArrived } from './run/run-on-fork.js';
import { ownJailOf, type TargetCommand } from './run/run-on-target.js';
import { openSettled, untilJoined } from './run/settled-fork.js';
import { vaultWatchOf } from './run/watch-limits.js';

/** What it holds of the fork while it runs. */
export interface OwnLock extends Pick<RunRequest, 'lockDescriptor' | 'onStarted'> {
  readonly note: RunNote;
}

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
  run(command: TargetCommand, fork: OpenFork, lock: OwnLock): Promise<JailRun>;
}

/** On the fork by itself, or with the commands at work on it. */
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
  refuseOthers(opened, owners, request.readonly !== true);
  const synced =
    others.length === 0
      ? await readyFork(host, place, opened, resolved, request)
      : await joinedFork(host, opened, resolved, request);
  const facts = {
    command: commandText(request.argv),
    roots: [workspaceRoot, ...resolved.roots.map(rootKey)],
    owners,
    mount: own.mount,
    bound: resolved.permission.isBound,
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
          // Everything is mounted: a command that comes joins it.
          void jail.started.then(() => {
            member.mounted(jail.pid);
            lock?.letGo();
          });
        };
        try {
          return await own.run(command, synced.fork, { lockDescriptor: member.descriptor, onStarted, note: member });
        } finally {
          await lock?.takeAgain();
        }
      },
    });
  } finally {
    member.leave();
  }
}

/** `permitted` is what was decided about it, where somebody did. */
export async function execute(host: Host, asked: ExecRequest, permitted?: Permitted): Promise<Envelope> {
  refuseNoCommand(asked, 'exec');
  const read = await withMounts(host, asked);
  recordInterruptedLive(host);
  const place = placeOf(host, read.cwd);
  const resolved = permitted ?? (await authorityFor(host, place, read));
  const request = await withTreesOf(host, read, resolved);
  let name = request.fork;
  const startsIn = resolved.agent?.cwd ?? place.directory;
  const pending = request.pending ?? [];
  let caller: CallersJail | undefined;
  const ofCaller = () => ({ ...request, fork: name, pending });
  const runs = runsBeside(host, ofCaller, startsIn, execute, () => caller);
  const asking = { ...resolved, tool: request.calledTool };
  const { view, warnings } = await agentViewFor(host, place, asking, { ...runs, pending });
  let envelope: Envelope;
  try {
    envelope = await executeInOwnJail(
      host,
      { ...request, view },
      {
        place,
        resolved,
        warnings,
        run: (command, fork, { note, ...lock }) => {
          name = fork.name;
          caller = view && {
            ...{ place, resolved, view: command.view, commands: view.commands, isLive: false },
            object: `fork/${fork.id}/${fork.name}`,
            facts: { caller: command.run },
            note: () => note,
            outputsOf: (run) => join(fork.place.runs, run),
          };
          return runInJail({
            beside: view?.commands,
            ...ownJailOf(host, resolved, request),
            ...command,
            ...lock,
            counted: [...writtenTrees(fork), ...homesIn(host.root, command.view.jail)],
            vault: vaultWatchOf(fork),
            servers: serversOf(command.view, [...(request.trees ?? []), ...viewServer(view, command.view, fork.name)]),
          });
        },
      },
    );
  } finally {
    await view?.end();
  }
  // A command beside its caller leaves it to that one's end.
  return request.pending === undefined ? settled(envelope, view) : envelope;
}

/** With what became of what its tools asked of the fork. */
export async function settled(envelope: Envelope, view: AgentView | undefined): Promise<Envelope> {
  const notes = (await view?.settle()) ?? [];
  return notes.length === 0 ? envelope : { ...envelope, warnings: [...envelope.warnings, ...notes] };
}
