/**
 * A fork opened for a command that has a jail of its own.
 *
 * It is locked until the command has started, and again while its report is made; meanwhile others may join (group.ts of the vault).
 * Whatever happens nothing stays mounted: the jail ends with this process, and is in the group until it has.
 */
import type { RunningJail } from '../../jail/launch.js';
import { writtenTrees } from '../../vault/fork-trees.js';
import { commandText } from '../../vault/store/group.js';
import { rootKey, workspaceRoot } from '../../vault/store/layout.js';
import { Member } from '../../vault/store/member.js';
import { closeFork, lookAhead, type OpenFork, openFork } from '../../vault/vault.js';
import { homesIn } from '../grants/agent-home.js';
import { viewServer } from '../grants/agent-view.js';
import { ownersOf } from '../grants/jail-identity.js';
import { serversOf } from '../grants/served-trees.js';
import { type Host, placeOf } from '../host.js';
import type { Envelope } from '../report/envelope.js';
import { hostApart } from './beside-runs.js';
import { EditsFollowed } from './follow-edits.js';
import { type ForkTarget, forkTarget } from './fork-target.js';
import { joinedFork, refuseOthers } from './join-fork.js';
import { readyFork } from './ready-fork.js';
import { ownJailOf } from './run-on-target.js';
import { openSettled } from './settled-fork.js';
import type { Decided, OpenTarget, TargetKind } from './target.js';
import { vaultWatchOf } from './watch-limits.js';

/** For a command that has a jail of its own. */
export interface OwnJail extends Decided {
  readonly keptJail?: string | undefined;
  /** Where it is not the one that the request names. */
  readonly fork?: string | undefined;
  /** Where a person sees the fork by it: not a command, then. */
  readonly mount?: string | undefined;
}

/** By itself, or with the commands at work on it. */
export async function openForkTarget(host: Host, own: OwnJail): Promise<OpenTarget<Envelope>> {
  const { request } = own;
  const { origin, owner } = own.place;
  const { store, tree } = host;
  const opening = {
    ...{ store, tree, origin, owner, ahead: own.ahead },
    fork: own.fork ?? request.fork,
    wait: request.wait,
    onWait: host.warn,
    beside: request.alone !== true && !request.wait,
    purpose: commandText(request.argv),
    onProgress: request.onProgress,
    signal: request.signal,
  };
  const opened = await openSettled(rootsOf(own), (look) => openFork({ ...opening, look }));
  // Said even where a command changes nothing, and has no report.
  for (const text of opened.warnings ?? []) host.warn?.(text);
  try {
    return await enterOpened(host, own, opened);
  } catch (error) {
    closeFork(opened);
    throw error;
  }
}

function rootsOf({ resolved }: Decided): readonly string[] {
  return [workspaceRoot, ...resolved.roots.map(rootKey)];
}

async function enterOpened(host: Host, own: OwnJail, opened: OpenFork): Promise<OpenTarget<Envelope>> {
  const { request, place, resolved } = own;
  const { others } = opened;
  const owners = ownersOf(place, resolved);
  refuseOthers(opened, owners, request.readonly !== true);
  const synced =
    others.length === 0
      ? await readyFork(host, place, opened, resolved, request)
      : await joinedFork(host, opened, resolved, request);
  const facts = {
    command: commandText(request.argv),
    roots: rootsOf(own),
    owners,
    mount: own.mount,
    bound: resolved.permission.isBound,
    checkpoint: synced.checkpoint ?? others[0]?.checkpoint ?? null,
  };
  const member = await Member.enter(opened.tree, opened.place, facts, others);
  try {
    member.foundWaiting(synced.waiting?.length ?? 0);
    const there = others.map(({ command }) => command);
    const target = await forkTarget(host, { ...own, synced, member, there });
    return withOwnJail(host, own, target, { opened, fork: synced.fork, member });
  } catch (error) {
    member.leave();
    throw error;
  }
}

interface Entered {
  readonly opened: OpenFork;
  /** The same, ready. */
  readonly fork: OpenFork;
  readonly member: Member;
}

function withOwnJail(
  host: Host,
  own: OwnJail,
  target: ForkTarget,
  { opened, fork, member }: Entered,
): OpenTarget<Envelope> {
  const { request } = own;
  const { trees = [], view } = request;
  let followed: EditsFollowed | undefined;
  const onStarted = (jail: RunningJail) => {
    request.onStarted?.(jail);
    // Everything is mounted: a command that comes joins it.
    void jail.started.then(() => {
      member.mounted(jail.pid);
      opened.lock?.letGo();
      if (request.alone !== true) followed = new EditsFollowed(fork, hostApart(host)().tree, member);
    });
  };
  let run: string | undefined;
  return {
    ...target,
    fork: fork.name,
    jail: (command) => {
      run = command.run;
      return {
        ...ownJailOf(host, own),
        ...command,
        beside: view?.commands,
        counted: [...writtenTrees(fork), ...homesIn(host.root, command.view.jail)],
        vault: vaultWatchOf(fork),
        servers: serversOf(command.view, [...trees, ...viewServer(view, command.view, fork.name)]),
        lockDescriptor: member.descriptor,
        onStarted,
      };
    },
    callers: () =>
      view && run !== undefined
        ? { ...target, commands: view.commands, facts: { caller: run }, note: () => member }
        : undefined,
    ended: async () => {
      await followed?.stop();
      await opened.lock?.takeAgain();
    },
    look: () => target.look(true, [...(followed?.entered ?? [])]),
    close: () => {
      member.leave();
      closeFork(opened);
    },
  };
}

export const onFork: TargetKind<Envelope> = {
  verb: 'exec',
  isLive: false,
  placeOf: (host, { cwd }) => placeOf(host, cwd),
  lookAhead: ({ store, tree }, { origin, owner }) => lookAhead({ store, tree, origin, owner }),
  open: openForkTarget,
};
