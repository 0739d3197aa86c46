/** A fork as what a command works on: what it shows, what the command changed there, and who was at work beside it. */
import { join } from 'node:path';
import type { Json } from '../../base/canonical-json.js';
import { commandsBesideNamed } from '../../base/limits/commands.js';
import { isLiveTouched } from '../../vault/fork-trees.js';
import { type CommandReport, reportOf } from '../../vault/forks/changes.js';
import { noteTrees } from '../../vault/forks/checkpoint.js';
import { withRenames } from '../../vault/forks/renames.js';
import { stateAfter, stateBefore } from '../../vault/forks/state-digest.js';
import type { Arrived } from '../../vault/store/arrivals.js';
import { readForkMeta } from '../../vault/store/fork-meta.js';
import type { Member } from '../../vault/store/member.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { countChanges, unlistedNotes } from '../../vault/tree/too-deep.js';
import type { Problem } from '../../vault/tree/tree.js';
import type { OpenFork } from '../../vault/vault.js';
import type { AskedTree } from '../asked-tree.js';
import { withAgentView } from '../grants/agent-view.js';
import { apartView } from '../grants/apart-view.js';
import { readOnlyByRequest } from '../grants/read-only-by-request.js';
import { treeText, withTrees } from '../grants/served-trees.js';
import type { Host } from '../host.js';
import { driftWarnings } from '../report/drift-warnings.js';
import type { Envelope } from '../report/envelope.js';
import { type MountedFor, mountReports, mountWarnings } from '../report/mount-reports.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import { refusedEntry } from './authority-for.js';
import { mountsOf } from './fork-mounts.js';
import { changesBetween } from './group-part.js';
import type { Ready } from './join-fork.js';
import { keepGoing } from './recorded-run.js';
import type { CommandTarget, Decided, Seen, TargetCommand, TargetReport } from './target.js';
import { viewOf } from './view.js';

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
}

/** Those that were there, and those that came. */
function withArrived(there: readonly string[], { commands, count, waiting }: Arrived): Arrived {
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

/** What a command finds there: the fork, made ready for it. */
export interface OnFork extends Decided {
  readonly synced: Ready;
  readonly member: Member;
  /** Commands that are at work already. */
  readonly there: readonly string[];
  readonly keptJail?: string | undefined;
}

function viewOfFork(host: Host, { request, place, resolved, synced }: OnFork): TargetCommand['view'] {
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

export interface ForkTarget extends CommandTarget {
  /**
   * After the run. `isDown`: nothing that this process runs is at work on the fork any more. `entered`: edits of the
   * person's that came while it ran.
   */
  look(isDown: boolean, entered?: readonly string[]): Promise<Seen<Envelope>>;
}

export async function forkTarget(host: Host, on: OnFork): Promise<ForkTarget> {
  const { request, place, resolved, synced, member, keptJail } = on;
  const { fork, checkpoint } = synced;
  const { trees = [] } = request;
  const arrivals = member.arrivals;
  const facts = {
    stateBefore: await stateBefore(fork),
    checkpoint,
    ...(keptJail === undefined ? {} : { keptJail }),
    ...(trees.length === 0 ? {} : { trees: trees.map(treeText) }),
  };
  return {
    place,
    resolved,
    facts,
    note: member,
    isLive: false,
    object: `fork/${fork.id}/${fork.name}`,
    view: await recordedRefusal(
      host,
      () => refusedEntry(place, request, resolved.agent),
      () => viewOfFork(host, on),
    ),
    outputsOf: (run) => join(fork.place.runs, run),
    look: async (isDown, entered = []) => {
      const isStill = isDown && (await member.others()).length === 0;
      return seenOf(on, withArrived(on.there, member.since(arrivals)), entered, isStill);
    },
  };
}

/** With the edits of the person's that entered since it was opened. */
function newest(fork: OpenFork): OpenFork {
  const [meta, vault] = [readForkMeta(fork.place.directory), readVaultMeta(fork.paths.meta)];
  return { ...fork, meta: meta ?? fork.meta, vault: vault ?? fork.vault };
}

/** `entered`: edits of the person's that came while it ran. `isStill`: what it changed is all there is. */
async function seenOf(
  on: OnFork,
  arrived: Arrived,
  entered: readonly string[],
  isStill: boolean,
): Promise<Seen<Envelope>> {
  const { fork, before = [] } = on.synced;
  const beside = { ...arrived, commands: arrived.commands.slice(0, commandsBesideNamed) };
  const now = newest(fork);
  const touched = isLiveTouched(now);
  const [all, state] = await Promise.all([reportOf(now, touched, isStill), isStill ? stateAfter(now, touched) : null]);
  const { clashes } = now.meta;
  const own = changesBetween(before, all.changes);
  // Beside others what is read is not yet what it will be.
  const named = isStill ? await withRenames(now, own, now.meta) : own;
  const after = { ...all, clashes, entered, changes: named };
  const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
  return {
    facts: { changes, stateAfter: state, ...besideFacts(beside) },
    envelope: (report) => envelopeOf(on, after, beside, report),
  };
}

interface WrittenTrees extends Pick<MountedFor, 'isKept'> {
  readonly fork: OpenFork;
  readonly checkpoint: number;
  readonly trees: readonly AskedTree[];
}

/** Whether a rollback to the checkpoint takes back what the command wrote to trees, too: where that cannot be written, it does not. */
export function isUndoNoted({ fork, checkpoint, isKept, trees }: WrittenTrees, unwritten: string[]): boolean {
  const undo = trees.flatMap((tree) => tree.outcome()?.undo ?? []);
  const isUndone = mountReports(trees, { isKept, hasCheckpoint: true }).some(({ undoable }) => undoable);
  if (!isUndone || undo.length === 0) return true;
  const what = 'how to undo what it changed in mounted trees';
  return keepGoing(unwritten, what, () => noteTrees(fork, checkpoint, undo)) !== undefined;
}

async function envelopeOf(
  { request, place, resolved, synced, keptJail, warnings }: OnFork,
  after: CommandReport & Pick<Envelope, 'entered' | 'clashes'>,
  beside: Arrived,
  report: TargetReport,
): Promise<Envelope> {
  const { fork, checkpoint } = synced;
  const { trees = [] } = request;
  const drift = await driftWarnings(fork, synced.entered);
  const unwritten: string[] = [];
  const isKept = keptJail !== undefined;
  const how = {
    isKept,
    hasCheckpoint: checkpoint !== null && isUndoNoted({ fork, checkpoint, isKept, trees }, unwritten),
  };
  const mounts = mountReports(trees, how);
  return {
    ...report,
    workspace: { origin: place.origin, vault: fork.id, fork: fork.name },
    keptJail: keptJail ?? null,
    checkpoint,
    roots: resolved.roots,
    live: resolved.live,
    changes: after.changes,
    ...(mounts.length === 0 ? {} : { mounts }),
    beside: beside.commands,
    besideCount: beside.count,
    pending: countChanges(after.pending),
    entered: [...new Set([...synced.entered, ...after.entered])],
    clashes: after.clashes,
    warnings: [
      ...(fork.warnings ?? []),
      ...report.warnings,
      ...unwritten,
      ...[...fork.problems, ...synced.problems].map(describe),
      ...drift,
      ...unlistedNotes(after.pending),
      // Of use to the one who made a commit, and to no other.
      ...(after.changes.some(({ path }) => path.startsWith('.git/')) ? resolved.git.notes : []),
      ...waitingText(Math.max(synced.waiting?.length ?? 0, beside.waiting)),
      ...warnings,
      ...mountWarnings(trees, how),
    ],
  };
}
