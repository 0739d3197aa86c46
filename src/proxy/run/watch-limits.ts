/**
 * Watches a command's limits while it runs. The kernel holds memory and processes, this process the time. Disk and
 * inodes no one holds for us: the fork is looked at again and again, and when it is full the jail is ended. So a
 * command can be a little above its limit, never much more. What ended between two looks is judged by a last one.
 */
import type { Quota } from '../../authority/quota.js';
import { ErrnoError } from '../../base/errno.js';
import { groupPollMilliseconds } from '../../base/limits/commands.js';
import type { ControlGroup } from '../../jail/cgroup.js';
import type { HeldFiles } from '../../jail/report.js';
import { countedPlaces, exceeded, limitUses, refuseBeyond, together } from '../../vault/store/vault-limits.js';
import type { VaultLimits } from '../../vault/store/vault-meta.js';
import { countUsage, type TreeUsage, type UsageWatch, watchUsage } from '../../vault/tree/usage.js';
import type { OpenFork } from '../../vault/vault.js';
import type { LimitEvents } from '../report/limit-events.js';
import { HeldRoom, usedBytes } from './held-room.js';
import { watchTemporary } from './temporary-room.js';

export interface WatchRequest {
  readonly quota: Quota;
  readonly events: LimitEvents;
  readonly group: Pick<ControlGroup, 'usage'> | undefined;
  /** Path of the native tree program, and the directories that disk and inodes are counted in. */
  readonly treeProgram: string;
  readonly roots: readonly string[];
  /** What the vault may hold, where a person has said so, and where all of it is. */
  readonly vault?: VaultWatch | undefined;
  /** The fork's `/tmp`, of the host; undefined where it ends with the command. */
  readonly temporary?: string | undefined;
  /** Ends the jail at once. */
  readonly end: () => void;
}

export interface VaultWatch {
  readonly limits: VaultLimits;
  readonly places: readonly string[];
}

/** Undefined for a vault without limits. */
export function vaultWatchOf(fork: OpenFork): VaultWatch | undefined {
  const { limits } = fork.vault;
  return limits === undefined ? undefined : { limits, places: countedPlaces(fork) };
}

export interface LimitWatch {
  /** To be told what the jail reports of deleted files. */
  readonly held: (held: HeldFiles) => void;
  /** Limits for which the jail was ended, or which it was found to be above when it had ended, in words. */
  readonly reached: readonly string[];
  /** To be called when the command has ended: looks a last time at what it used; nothing is told after it. */
  stop(): Promise<void>;
}

const nothing: TreeUsage = { bytes: 0, inodes: 0, unseen: 0, files: 0, content: 0, longest: 0 };
const vaultReached = 'limit of the vault reached: ';

function fullFork(quota: Quota, { bytes, inodes }: TreeUsage): ErrnoError {
  const most = [
    ...(quota.disk === undefined ? [] : [`${quota.disk} bytes`]),
    ...(quota.inodes === undefined ? [] : [`${quota.inodes} files`]),
  ];
  return new ErrnoError('EDQUOT', {
    operation: 'exec',
    reason: `the fork and its private home hold ${bytes} bytes in ${inodes} files already, and may hold ${most.join(' and ')}`,
    remedy: 'ctx apply or ctx drop empties the fork; a larger limit lets the command run',
  });
}

function isFull(quota: Quota, usage: TreeUsage): boolean {
  const { disk = Number.POSITIVE_INFINITY, inodes = Number.POSITIVE_INFINITY } = quota;
  return usage.bytes >= disk || usage.inodes >= inodes || usage.unseen > 0;
}

/** What the vault holds beside the trees that are watched; EDQUOT where it is too much already. */
async function restOfVault({ vault, treeProgram }: WatchRequest, watched: TreeUsage): Promise<TreeUsage> {
  if (vault === undefined) return nothing;
  const whole = await countUsage(treeProgram, vault.places);
  refuseBeyond(vault.limits, { ...whole, longest: watched.longest }, 'exec');
  const bytes = Math.max(0, whole.bytes - watched.bytes);
  const inodes = Math.max(0, whole.inodes - watched.inodes);
  return { ...nothing, bytes, inodes };
}

interface ForkWatch extends Pick<LimitWatch, 'held'>, Pick<UsageWatch, 'stop'> {}

/** One watcher of the fork: undefined where neither disk nor inodes are limited, nor the vault. */
async function watchFork(request: WatchRequest, reached: string[]): Promise<ForkWatch | undefined> {
  const { quota, events, end, vault } = request;
  const { disk, inodes } = quota;
  if (disk === undefined && inodes === undefined && vault === undefined) return undefined;
  let hasEnded = false;
  const endBecause = (words: string) => {
    reached.push(hasEnded ? words : `${words}; the command was ended`);
    if (!hasEnded) end();
  };
  let room: HeldRoom | undefined;
  let counted = nothing;
  let rest = nothing;
  const judge = (usage: TreeUsage) => {
    if (disk !== undefined && events.observe('disk', usage.bytes, disk) && usage.bytes >= disk)
      endBecause(`disk limit reached: the fork holds ${usage.bytes} of ${disk} bytes`);
    if (inodes !== undefined && events.observe('inodes', usage.inodes, inodes) && usage.inodes >= inodes)
      endBecause(`file limit reached: the fork holds ${usage.inodes} of ${inodes} files`);
    const whole = together(rest, usage);
    for (const { limit, used, most } of vault === undefined ? [] : limitUses(vault.limits, whole))
      events.observe(limit, used, most, used > most);
    const beyond = vault === undefined ? undefined : exceeded(vault.limits, whole);
    if (beyond !== undefined && !reached.some((words) => words.startsWith(vaultReached)))
      endBecause(`${vaultReached}${beyond}`);
    if (usage.unseen > 0) endBecause('the fork is too deep to be counted');
  };
  const lowest = Math.min(disk ?? Number.POSITIVE_INFINITY, vault?.limits.maxBytes ?? Number.POSITIVE_INFINITY);
  const watch = watchUsage({
    program: request.treeProgram,
    roots: request.roots,
    wakeBytes: Number.isFinite(lowest) ? lowest / 16 : undefined,
    onUsage(usage) {
      counted = usage;
      // Before the command runs, nothing is judged.
      if (room !== undefined) judge(room.with(usage));
    },
    onLost: () => endBecause('the fork could no longer be counted'),
  });
  const first = await watch.first;
  if (isFull(quota, first)) {
    await watch.stop();
    throw fullFork(quota, first);
  }
  try {
    rest = await restOfVault(request, first);
  } catch (error) {
    await watch.stop();
    throw error;
  }
  const opened = new HeldRoom(first, () => usedBytes(request.roots[0] ?? '/'));
  room = opened;
  return {
    async stop() {
      await watch.stop();
      if (reached.length > 0) return;
      hasEnded = true;
      // A quick command has ended between two looks. What it deleted and held is gone with it.
      judge(await countUsage(request.treeProgram, request.roots));
    },
    held(held) {
      opened.held = held;
      judge(opened.with(counted));
    },
  };
}

function lookAtGroup({ group, quota, events }: WatchRequest): void {
  if (group === undefined) return;
  const { memory, pids } = group.usage();
  if (quota.memory !== undefined) events.observe('memory', memory.used, quota.memory, memory.held);
  if (quota.pids !== undefined) events.observe('pids', pids.used, quota.pids, pids.held);
}

/** EDQUOT where the fork is full before anything ran. */
export async function watchLimits(request: WatchRequest): Promise<LimitWatch> {
  const { quota } = request;
  const reached: string[] = [];
  const fork = await watchFork(request, reached);
  const watchesGroup = quota.memory !== undefined || quota.pids !== undefined;
  const temporary = watchTemporary({
    directory: request.temporary,
    treeProgram: request.treeProgram,
    end(reason) {
      reached.push(reason);
      request.end();
    },
  });
  const timer = watchesGroup ? setInterval(() => lookAtGroup(request), groupPollMilliseconds) : undefined;
  return {
    reached,
    held: (held) => fork?.held(held),
    async stop() {
      clearInterval(timer);
      lookAtGroup(request);
      await temporary.stop();
      await fork?.stop();
    },
  };
}
