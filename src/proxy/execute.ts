/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork is locked until the command has started, and again while its report is made; meanwhile others may join (group.ts of
 * the vault). Whatever happens nothing stays mounted: the jail ends with this process, and is in the group until it has.
 */
import { join } from 'node:path';
import type { Json } from '../base/canonical-json.js';
import { commandsBesideNamed } from '../base/limits.js';
import { uniqueName } from '../base/unique-name.js';
import type { RunningJail } from '../jail/launch.js';
import { isLiveTouched, writtenTrees } from '../vault/fork-trees.js';
import { reportOf } from '../vault/forks/changes.js';
import { saveCheckpoint } from '../vault/forks/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../vault/forks/flatten.js';
import { addRoots } from '../vault/forks/roots.js';
import { stateAfter, stateBefore } from '../vault/forks/state-digest.js';
import { syncFork } from '../vault/forks/sync.js';
import type { Arrived } from '../vault/store/arrivals.js';
import { commandText } from '../vault/store/group.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { countChanges, unlistedNotes } from '../vault/tree/too-deep.js';
import type { Problem } from '../vault/tree/tree.js';
import { collectInPassing } from '../vault/upkeep/collect-in-passing.js';
import { closeFork, type OpenFork, openFork } from '../vault/vault.js';
import { secretNames } from './grants/injected-secrets.js';
import { ownersOf } from './grants/jail-identity.js';
import { readOnlyByRequest } from './grants/read-only-by-request.js';
import { withheld } from './grants/runnable.js';
import { serversOf, treeText, treeWarnings, withTrees } from './grants/served-trees.js';
import { type Host, type Place, placeOf } from './host.js';
import { driftWarnings } from './report/drift-warnings.js';
import type { Envelope } from './report/envelope.js';
import { heldCachesText } from './report/held-caches.js';
import type { RunNote } from './report/last-run.js';
import { nestingHint } from './report/nesting-hint.js';
import { authorityFor, type Permitted } from './run/authority-for.js';
import { type ExecRequest, refuseNoCommand, shortest } from './run/exec-request.js';
import { mountsOf } from './run/fork-mounts.js';
import { refreshGitIndex } from './run/git-index.js';
import { changesBetween } from './run/group-part.js';
import { recordInterrupted } from './run/interrupted-run.js';
import { joinedFork, type Ready, refuseOtherOwners } from './run/join-fork.js';
import { recordInterruptedLive } from './run/live-runs.js';
import { recordedRun } from './run/recorded-run.js';
import { requestedOf } from './run/requested.js';
import { type JailRun, type RunRequest, runInJail } from './run/run.js';
import { openSettled, untilJoined } from './run/settled-fork.js';
import { viewOf } from './run/view.js';
import { vaultWatchOf } from './run/watch-limits.js';

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
}

/** An approval is of this fork, as it is. Frozen first, so that whatever the command writes is told apart from what was there, and can be undone alone. */
export async function readyFork(
  host: Host,
  place: Place,
  opened: OpenFork,
  { permission, roots }: Permitted,
  request: Pick<ExecRequest, 'argv' | 'weakened' | 'signal' | 'onProgress'>,
): Promise<Ready> {
  await permission.confirm(opened);
  await recordInterrupted(host, opened);
  const saved = saveCheckpoint(opened, { automatic: true, reason: request.argv.join(' ') });
  await flattenTrunk(saved.fork);
  const flat = await flattenDeltas(saved.fork);
  await collectInPassing(opened, flat);
  const rooted = await addRoots(flat, { ...request, paths: roots });
  const synced = await syncFork(rooted.fork, [workspaceRoot, ...rooted.keys], rooted.imported);
  const fork = await refreshGitIndex(host, place, synced, request.weakened, request.signal);
  await permission.confirmDirectories();
  const checkpoint = saved.checkpoint.id;
  return { ...synced, fork, checkpoint, problems: [...rooted.problems, ...synced.problems] };
}

/** Those that were there, and those that came. */
export function withArrived(there: readonly string[], { commands, count, waiting }: Arrived): Arrived {
  return { commands: [...there, ...commands], count: there.length + count, waiting };
}

function besideFacts({ commands, count }: Arrived): Readonly<Record<string, Json>> {
  if (count === 0) return {};
  return count === commands.length ? { beside: commands } : { beside: commands, besideCount: count };
}

function waitingText(count: number): readonly string[] {
  if (count === 0) return [];
  return [`${count} of your own edits enter the fork when all commands that are at work on it have ended`];
}

/** One command, as the proxy has it run. */
export interface BenchCommand extends Pick<RunRequest, 'view' | 'events' | 'onConnection' | 'outputs' | 'onOutput'> {
  readonly timeoutMilliseconds: number | undefined;
}

/** What a command runs on, all of it ready: the fork is locked until it has started, and again when it has ended. */
export interface Bench {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly synced: Ready;
  /** Of this run, beyond what the authority and the fork say. */
  readonly warnings: readonly string[];
  readonly session?: string | undefined;
  readonly note: RunNote;
  /** Asked after the run: other commands that were at work on the fork at the same time, and whether nobody is any more. */
  beside(): Promise<Arrived & { readonly isStill: boolean }>;
  run(command: BenchCommand): Promise<JailRun>;
}

export async function executeOn(host: Host, request: ExecRequest, bench: Bench): Promise<Envelope> {
  const { place, resolved, synced } = bench;
  const { fork } = synced;
  const { argv, environmentAdditions, weakened } = request;
  const { origin, directory } = place;
  const shown = viewOf({
    host,
    place,
    resolved,
    mounts: mountsOf(fork, resolved.roots, request),
    argv,
    environmentAdditions,
    weakened,
  });
  const { disk, inodes } = resolved.authority.quota;
  const countsHeld = disk !== undefined || inodes !== undefined || fork.vault.limits !== undefined;
  const readOnly = [...readOnlyByRequest(place, resolved, request), ...shown.readOnly];
  const trees = request.trees ?? [];
  const view = withTrees(host, { ...shown, readOnly, jail: { ...shown.jail, countsHeld } }, trees);
  const timeoutMilliseconds = shortest(request.timeoutMilliseconds, resolved.authority.quota.wallTime);
  const { agent, permission } = resolved;
  const { decision, approval } = permission;
  const object = `fork/${fork.id}/${fork.name}`;
  const run = uniqueName();
  let beside: Arrived = { commands: [], count: 0, waiting: 0 };
  const { report, seen, heldCaches, unwritten } = await recordedRun(
    host,
    {
      run,
      note: bench.note,
      whose: { object, agent: agent?.name, parent: agent?.parent?.agent, session: bench.session },
      facts: {
        argv,
        directory,
        origin,
        authority: resolved.digest,
        weakened,
        decision: { ...decision },
        approval,
        injected: secretNames(request.secrets),
        stateBefore: await stateBefore(fork),
        checkpoint: synced.checkpoint,
        ...(trees.length === 0 ? {} : { trees: trees.map(treeText) }),
      },
      onLimit: request.onLimit,
      signal: request.signal,
    },
    (events, onConnection) => {
      request.onReady?.();
      const outputs = join(fork.place.runs, run);
      return bench.run({ view, events, onConnection, outputs, onOutput: request.onOutput, timeoutMilliseconds });
    },
    async () => {
      const { isStill, ...arrived } = await bench.beside();
      beside = { ...arrived, commands: arrived.commands.slice(0, commandsBesideNamed) };
      const touched = isLiveTouched(fork);
      const [all, state] = await Promise.all([reportOf(fork, touched), isStill ? stateAfter(fork, touched) : null]);
      const after = { ...all, changes: changesBetween(synced.before ?? [], all.changes) };
      const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
      return { seen: after, facts: { changes, stateAfter: state, ...besideFacts(beside) } };
    },
  );
  const drift = await driftWarnings(fork, synced.entered);
  return {
    version: 1,
    argv,
    directory,
    request: requestedOf(request, false),
    workspace: { origin, vault: fork.id, fork: fork.name },
    session: bench.session ?? null,
    checkpoint: synced.checkpoint,
    agent: agent?.name ?? null,
    authority: resolved.digest,
    decision,
    approval,
    roots: resolved.roots,
    live: resolved.live,
    ...report,
    weakened,
    changes: seen.changes,
    beside: beside.commands,
    besideCount: beside.count,
    pending: countChanges(seen.pending),
    entered: synced.entered,
    clashes: synced.clashes,
    warnings: [
      ...(fork.warnings ?? []),
      ...unwritten,
      ...heldCachesText(heldCaches),
      ...nestingHint(report),
      ...(report.exitCode === 0 ? [] : permission.hints),
      ...resolved.warnings,
      ...withheld(place, resolved),
      ...[...fork.problems, ...synced.problems].map(describe),
      ...drift,
      ...unlistedNotes(seen.pending),
      // Of use to whoever made a commit, and to nobody else.
      ...(seen.changes.some(({ path }) => path.startsWith('.git/')) ? resolved.git.notes : []),
      ...waitingText(Math.max(synced.waiting?.length ?? 0, beside.waiting)),
      ...bench.warnings,
      ...treeWarnings(trees),
    ],
  };
}

/** How a command is run that has a jail of its own. */
export interface OwnJail {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly warnings: readonly string[];
  readonly session?: string | undefined;
  /** Where it is not the one that the request names. */
  readonly fork?: string | undefined;
  run(command: BenchCommand, fork: OpenFork, lock: Pick<RunRequest, 'lockDescriptor' | 'onStarted'>): Promise<JailRun>;
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
  const { place, resolved, warnings, session } = own;
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
    checkpoint: synced.checkpoint ?? others[0]?.checkpoint ?? null,
  };
  const member = await Member.enter(tree, opened.place, facts, others);
  member.foundWaiting(synced.waiting?.length ?? 0);
  const arrivals = member.arrivals;
  try {
    return await executeOn(host, request, {
      place,
      resolved,
      synced,
      session,
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

export async function execute(host: Host, request: ExecRequest): Promise<Envelope> {
  refuseNoCommand(request, 'exec');
  recordInterruptedLive(host);
  const place = placeOf(host, request.cwd);
  const resolved = await authorityFor(host, place, request);
  return executeInOwnJail(host, request, {
    place,
    resolved,
    warnings: [],
    run: (command, fork, lock) =>
      runInJail({
        ...command,
        ...lock,
        program: host.jailProgram,
        authority: resolved.authority,
        privateHosts: request.privateHosts ?? [],
        secrets: request.secrets ?? [],
        streams: request.streams,
        treeProgram: host.tree.program,
        starter: host.starter,
        lockLibrary: host.lockLibrary,
        counted: writtenTrees(fork),
        vault: vaultWatchOf(fork),
        servers: serversOf(command.view, request.trees),
      }),
  });
}
