/** A command on a fork: what the fork shows of it, what it changed there, and who was at work beside it. */
import { join } from 'node:path';
import type { Json } from '../../base/canonical-json.js';
import { commandsBesideNamed } from '../../base/limits/commands.js';
import { isLiveTouched } from '../../vault/fork-trees.js';
import { reportOf } from '../../vault/forks/changes.js';
import { noteTrees } from '../../vault/forks/checkpoint.js';
import { stateAfter, stateBefore } from '../../vault/forks/state-digest.js';
import type { Arrived } from '../../vault/store/arrivals.js';
import { countChanges, unlistedNotes } from '../../vault/tree/too-deep.js';
import type { Problem } from '../../vault/tree/tree.js';
import { withAgentView } from '../grants/agent-view.js';
import { apartView } from '../grants/apart-view.js';
import { readOnlyByRequest } from '../grants/read-only-by-request.js';
import { treeText, withTrees } from '../grants/served-trees.js';
import type { Host, Place } from '../host.js';
import { driftWarnings } from '../report/drift-warnings.js';
import type { Envelope } from '../report/envelope.js';
import type { RunNote } from '../report/last-run.js';
import { mountReports, mountWarnings } from '../report/mount-reports.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import { type Permitted, refusedEntry } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { mountsOf } from './fork-mounts.js';
import { changesBetween } from './group-part.js';
import type { Ready } from './join-fork.js';
import type { JailRun } from './run.js';
import { runOnTarget, type TargetCommand } from './run-on-target.js';
import { viewOf } from './view.js';

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
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
  return [`${count} of your own edits will be picked up when all running commands have ended`];
}

/** The fork is locked until the command has started, and again when it has ended. */
export interface ForkTarget {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly synced: Ready;
  /** Of this run, beyond what the authority and the fork say. */
  readonly warnings: readonly string[];
  readonly keptJail?: string | undefined;
  readonly note: RunNote;
  /**
   * Asked after the run: other commands that were at work on the fork at the same time, and whether no one is any more.
   */
  beside(): Promise<Arrived & { readonly isStill: boolean }>;
  run(command: TargetCommand): Promise<JailRun>;
}

function viewOfFork(host: Host, request: ExecRequest, { place, resolved, synced }: ForkTarget): TargetCommand['view'] {
  const { fork } = synced;
  const { argv, environmentAdditions, weakened, trees = [], view: agentView } = request;
  const mounts = mountsOf(fork, resolved.roots, request);
  const agentHome = agentView?.home;
  const isHomeGiven = request.home !== undefined;
  const asked = { host, place, resolved, mounts, argv, environmentAdditions, weakened, agentHome, isHomeGiven };
  const shown = viewOf(asked);
  const { disk, inodes } = resolved.authority.quota;
  const countsHeld = disk !== undefined || inodes !== undefined || fork.vault.limits !== undefined;
  const readOnly = [...readOnlyByRequest(place, resolved, request), ...shown.readOnly];
  const own = request.apart === undefined ? shown : apartView(shown, request.apart);
  return withAgentView(withTrees(host, { ...own, readOnly, jail: { ...own.jail, countsHeld } }, trees), agentView);
}

export async function runOnFork(host: Host, request: ExecRequest, target: ForkTarget): Promise<Envelope> {
  const { place, resolved, synced, keptJail, note } = target;
  const { fork, checkpoint } = synced;
  const { trees = [] } = request;
  const facts = {
    stateBefore: await stateBefore(fork),
    checkpoint,
    ...(keptJail === undefined ? {} : { keptJail }),
    ...(trees.length === 0 ? {} : { trees: trees.map(treeText) }),
  };
  const { report, seen } = await runOnTarget(host, request, {
    place,
    resolved,
    note,
    facts,
    view: await recordedRefusal(
      host,
      () => refusedEntry(place, request, resolved.agent),
      () => viewOfFork(host, request, target),
    ),
    isLive: false,
    object: `fork/${fork.id}/${fork.name}`,
    outputsOf: (run) => join(fork.place.runs, run),
    run: (command) => target.run(command),
    look: async () => {
      const { isStill, ...arrived } = await target.beside();
      const beside = { ...arrived, commands: arrived.commands.slice(0, commandsBesideNamed) };
      const touched = isLiveTouched(fork);
      const [all, state] = await Promise.all([reportOf(fork, touched), isStill ? stateAfter(fork, touched) : null]);
      const after = { ...all, beside, changes: changesBetween(synced.before ?? [], all.changes) };
      const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
      return { seen: after, facts: { changes, stateAfter: state, ...besideFacts(beside) } };
    },
  });
  const { beside } = seen;
  const drift = await driftWarnings(fork, synced.entered);
  const how = { isKept: keptJail !== undefined, hasCheckpoint: checkpoint !== null };
  const mounts = mountReports(trees, how);
  if (checkpoint !== null && mounts.some(({ undoable }) => undoable)) {
    const undo = trees.flatMap((tree) => tree.outcome()?.undo ?? []);
    if (undo.length > 0) noteTrees(fork, checkpoint, undo);
  }
  return {
    ...report,
    workspace: { origin: place.origin, vault: fork.id, fork: fork.name },
    keptJail: keptJail ?? null,
    checkpoint,
    roots: resolved.roots,
    live: resolved.live,
    changes: seen.changes,
    ...(mounts.length === 0 ? {} : { mounts }),
    beside: beside.commands,
    besideCount: beside.count,
    pending: countChanges(seen.pending),
    entered: synced.entered,
    clashes: synced.clashes,
    warnings: [
      ...(fork.warnings ?? []),
      ...report.warnings,
      ...[...fork.problems, ...synced.problems].map(describe),
      ...drift,
      ...unlistedNotes(seen.pending),
      // Of use to the one who made a commit, and to no other.
      ...(seen.changes.some(({ path }) => path.startsWith('.git/')) ? resolved.git.notes : []),
      ...waitingText(Math.max(synced.waiting?.length ?? 0, beside.waiting)),
      ...target.warnings,
      ...mountWarnings(trees, how),
    ],
  };
}
