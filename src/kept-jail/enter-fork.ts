/** A kept jail's fork made ready for one command: opened and mounted for it, or joined as it is mounted. */

import { ownersOf } from '../proxy/grants/jail-identity.js';
import type { Host } from '../proxy/host.js';
import type { Permitted } from '../proxy/run/authority-for.js';
import { recordInterrupted } from '../proxy/run/interrupted-run.js';
import { enterBeside, joinedFork, namedBeside, type Ready, refuseBound, refuseOthers } from '../proxy/run/join-fork.js';
import { readyFork } from '../proxy/run/ready-fork.js';
import { openSettled } from '../proxy/run/settled-fork.js';
import { liveChanges } from '../vault/forks/changes.js';
import { saveCheckpoint } from '../vault/forks/checkpoint.js';
import type { EnteredLive } from '../vault/forks/enter-live.js';
import { flattenDeltas } from '../vault/forks/flatten.js';
import { readForkMeta } from '../vault/store/fork-meta.js';
import { commandText } from '../vault/store/group.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { collectInPassing } from '../vault/upkeep/collect-in-passing.js';
import { closeFork, type OpenFork, openExistingFork, withMeta } from '../vault/vault.js';
import type { DecidedCommand } from './decided-command.js';
import type { Equipment, MountedFork } from './equipment.js';
import { lostJail } from './jail-request.js';

/**
 * The fork with a delta that is the next command's alone; with the commands at work on it, where somebody is. `looks`:
 * at the person's directory, so that their edits enter.
 */
export async function enterFork(
  { origin, fork: name, kept }: Equipment,
  { host, place, resolved, request }: DecidedCommand,
  looks: boolean,
): Promise<[MountedFork, Ready]> {
  const { store, tree } = host;
  const purpose = commandText(request.argv);
  const roots = [workspaceRoot, ...resolved.roots.map(rootKey)];
  const opening = { store, tree, origin, owner: place.owner, fork: name, beside: true, purpose };
  const opened = await openSettled(roots, async (again) => {
    const found = await openExistingFork({ ...opening, look: looks && again });
    if (found === undefined) throw lostJail(origin, 'its vault was deleted');
    return found;
  });
  try {
    const owners = ownersOf(place, resolved);
    refuseOthers(opened, owners, request.readonly !== true);
    const ready =
      opened.others.length > 0
        ? await joinedFork(host, opened, resolved, request)
        : looks
          ? await readyFork(host, place, opened, resolved, request)
          : await quicklyReady(host, opened, resolved, purpose);
    const checkpoint = ready.checkpoint ?? opened.others[0]?.checkpoint ?? null;
    const facts = { command: purpose, roots, owners, checkpoint, bound: resolved.permission.isBound };
    const member = await Member.enter(tree, opened.place, facts, opened.others, kept);
    member.foundWaiting(ready.waiting?.length ?? 0);
    const isReadOnly = request.readonly === true;
    return [{ fork: ready.fork, member, isReadOnly, isDown: false, running: new Set() }, ready];
  } catch (error) {
    closeFork(opened);
    throw error;
  }
}

/** Without a look at the person's directory. */
async function quicklyReady(host: Host, opened: OpenFork, resolved: Permitted, reason: string): Promise<Ready> {
  await resolved.permission.confirm(opened);
  await recordInterrupted(host, opened);
  const saved = saveCheckpoint(opened, { automatic: true, reason });
  // However quick the commands are: none is started on more layers than an overlay takes.
  const fork = await flattenDeltas(saved.fork);
  await collectInPassing(opened, fork);
  return { fork, entered: [], clashes: fork.meta.clashes, problems: [], checkpoint: saved.checkpoint.id };
}

/** As it is mounted: another command runs in it, or what one left. `looks`: what the person edited since then enters. */
export async function joinMounted(
  mounted: MountedFork,
  { resolved, request }: DecidedCommand,
  looks: boolean,
): Promise<Ready> {
  await mounted.fork.lock?.takeAgain();
  const others = await mounted.member.others();
  if (request.readonly !== true) refuseBound(mounted.fork.vault.origin, [...others, mounted.member.worker]);
  // A process that joined meanwhile may have added to its state.
  const meta = readForkMeta(mounted.fork.place.directory) ?? mounted.fork.meta;
  const found = { ...mounted.fork, meta, others, imported: false };
  await resolved.permission.confirm({ ...found, hasWriters: true });
  const command = commandText(request.argv);
  mounted.member.came(command);
  const named = namedBeside(meta, mounted.member.worker.checkpoint, command);
  const fork = named === meta ? found : withMeta(found, named, { durable: false });
  const unchanged: EnteredLive = { fork, entered: [], clashes: meta.clashes, problems: [], waiting: [] };
  const having = { ...fork, drift: undefined, others: [...others, mounted.member.worker] };
  const keys = [workspaceRoot, ...resolved.roots.map(rootKey)];
  const now = looks ? await enterBeside(having, keys, request.signal) : unchanged;
  return { ...now, fork: { ...now.fork, others }, checkpoint: null, before: await liveChanges(now.fork) };
}
