/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork stays locked from before the command until its report is made, so that the report is exact. Whatever happens
 * the lock is released and nothing stays mounted: the jail holds both, and ends with this process.
 */
import { join } from 'node:path';
import { uniqueName } from '../base/unique-name.js';
import { reportOf } from '../vault/changes.js';
import { saveCheckpoint } from '../vault/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../vault/flatten.js';
import { workspaceRoot } from '../vault/layout.js';
import { addRoots } from '../vault/roots.js';
import { stateAfter, stateBefore } from '../vault/state-digest.js';
import { type Synced, syncFork } from '../vault/sync.js';
import type { Problem } from '../vault/tree.js';
import { closeFork, isLiveTouched, type OpenFork, openFork, writtenTrees } from '../vault/vault.js';
import { authorityFor, type Permitted } from './authority-for.js';
import { driftWarnings } from './drift-warnings.js';
import type { Envelope } from './envelope.js';
import { type ExecRequest, refuseNoCommand, shortest } from './exec-request.js';
import { mountsOf } from './fork-mounts.js';
import { refreshGitIndex } from './git-index.js';
import { type Host, type Place, placeOf } from './host.js';
import { secretNames } from './injected-secrets.js';
import { recordInterrupted } from './interrupted-run.js';
import { forkNote } from './last-run.js';
import { recordInterruptedLive } from './live-runs.js';
import { recordedRun } from './recorded-run.js';
import { requestedOf } from './requested.js';
import { type JailRun, type RunRequest, runInJail } from './run.js';
import { withheld } from './runnable.js';
import { viewOf } from './view.js';
import { vaultWatchOf } from './watch-limits.js';

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
}

/** A fork that is ready for a command, and the moment to go back to. */
export interface Ready extends Synced {
  readonly checkpoint: number | null;
}

/** An approval is of this fork, as it is. Frozen first, so that whatever the command writes is told apart from what was there, and can be undone alone. */
export async function readyFork(
  host: Host,
  place: Place,
  opened: OpenFork,
  { leave, roots }: Permitted,
  request: Pick<ExecRequest, 'argv' | 'weakened' | 'signal' | 'onProgress'>,
): Promise<Ready> {
  leave.confirm(opened);
  await recordInterrupted(host, opened);
  const saved = saveCheckpoint(opened, { automatic: true, reason: request.argv.join(' ') });
  await flattenTrunk(saved.fork);
  const rooted = await addRoots(await flattenDeltas(saved.fork), { ...request, paths: roots });
  const synced = await syncFork(rooted.fork, [workspaceRoot, ...rooted.keys], rooted.imported);
  const fork = await refreshGitIndex(host, place, synced, request.weakened, request.signal);
  const checkpoint = saved.checkpoint.id;
  return { ...synced, fork, checkpoint, problems: [...rooted.problems, ...synced.problems] };
}

/** One command, as the proxy has it run. */
export interface BenchCommand extends Pick<RunRequest, 'view' | 'events' | 'outputs' | 'onOutput'> {
  readonly timeoutMilliseconds: number | undefined;
}

/** What a command runs on, all of it ready: the fork is locked, and its delta is the command's alone. */
export interface Bench {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly synced: Ready;
  /** Of this run, beyond what the authority and the fork say. */
  readonly warnings: readonly string[];
  readonly session?: string | undefined;
  /** Whether nobody writes the fork after the run; without it, nobody does. */
  isStill?(): boolean;
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
    mounts: mountsOf(fork, resolved.roots, request.home),
    argv,
    environmentAdditions,
    weakened,
  });
  const { disk, inodes } = resolved.authority.quota;
  const countsHeld = disk !== undefined || inodes !== undefined || fork.vault.limits !== undefined;
  const readOnly = request.readonly === true ? [origin, ...resolved.roots, ...shown.readOnly] : shown.readOnly;
  const view = { ...shown, readOnly, jail: { ...shown.jail, countsHeld } };
  const timeoutMilliseconds = shortest(request.timeoutMilliseconds, resolved.authority.quota.wallTime);
  const { agent, leave } = resolved;
  const { decision, approval } = leave;
  const object = `fork/${fork.id}/${fork.name}`;
  const run = uniqueName();
  const { report, seen, unwritten } = await recordedRun(
    host,
    {
      run,
      note: forkNote(fork.place.lastRun),
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
      },
      onLimit: request.onLimit,
      signal: request.signal,
    },
    (events) => {
      request.onReady?.();
      const outputs = join(fork.place.runs, run);
      return bench.run({ view, events, outputs, onOutput: request.onOutput, timeoutMilliseconds });
    },
    async () => {
      const isStill = bench.isStill?.() ?? true;
      const touched = isLiveTouched(fork);
      const [after, state] = await Promise.all([reportOf(fork, touched), isStill ? stateAfter(fork, touched) : null]);
      const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
      return { seen: after, facts: { changes, stateAfter: state } };
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
    pending: seen.pending.length,
    entered: synced.entered,
    clashes: synced.clashes,
    warnings: [
      ...unwritten,
      ...leave.warnings,
      ...resolved.warnings,
      ...withheld(place, resolved),
      ...[...fork.problems, ...synced.problems].map(describe),
      ...drift,
      ...bench.warnings,
    ],
  };
}

export async function execute(host: Host, request: ExecRequest): Promise<Envelope> {
  refuseNoCommand(request, 'exec');
  recordInterruptedLive(host);
  const place = placeOf(host, request.cwd);
  const resolved = await authorityFor(host, place, request);
  const opened = await openFork({
    store: host.store,
    tree: host.tree,
    origin: place.origin,
    owner: place.owner,
    fork: request.fork,
    wait: request.wait,
    look: true,
    purpose: request.argv.join(' '),
    onProgress: request.onProgress,
    signal: request.signal,
  });
  try {
    const synced = await readyFork(host, place, opened, resolved, request);
    return await executeOn(host, request, {
      place,
      resolved,
      synced,
      warnings: [],
      run: (command) =>
        runInJail({
          ...command,
          program: host.jailProgram,
          authority: resolved.authority,
          privateHosts: request.privateHosts ?? [],
          secrets: request.secrets ?? [],
          streams: request.streams,
          treeProgram: host.tree.program,
          counted: writtenTrees(synced.fork),
          vault: vaultWatchOf(synced.fork),
          lockDescriptor: synced.fork.lockDescriptor,
          onStarted: request.onStarted,
        }),
    });
  } finally {
    closeFork(opened);
  }
}
