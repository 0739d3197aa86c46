/**
 * What of ours goes on running: commands, kept jails, mounts, keepers, MCP servers, and what frees the store in the background. Nothing keeps a list of it: locks and
 * process numbers in the store say who lives, so that a kill leaves nothing wrong. Whatever comes to stay running later is a kind more.
 */
import { readdirSync } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';
import {
  environmentOf,
  familyOf,
  memoryOf,
  ownerOf,
  type ProcessTable,
  readProcessTable,
  wordsOf,
} from '../../base/process-table.js';
import { shellWord } from '../../base/visible-text.js';
import { ownMounts } from '../../fuse/mount.js';
import { livingKeepers } from '../../keeper/living-keepers.js';
import type { Host } from '../../proxy/host.js';
import { livingRuns } from '../../proxy/run/live-runs.js';
import { readGroup } from '../../vault/store/group.js';
import { storePaths, type VaultPaths, vaultPaths } from '../../vault/store/layout.js';
import { trashCount } from '../../vault/store/trash.js';
import { isForkName, readVaultMeta } from '../../vault/store/vault-meta.js';
import { keepersOf } from '../../vault/store/worker-file.js';
import { isHostOf } from '../host.js';
import { type KeptJailFacts, KeptJails } from '../workspace/kept-jails.js';

export interface Living {
  readonly kind: 'command' | 'kept jail' | 'fork mount' | 'tree mount' | 'MCP server' | 'keeper' | 'freeing';
  /** The process to end. */
  readonly pid: number;
  /** The process that keeps it, where that is another one and may keep others, too. */
  readonly keeper?: number;
  /** ISO 8601. */
  readonly since: string;
  /** The workspace and its fork; null for what belongs to the whole store, and no fork where it works on the directory itself. */
  readonly origin: string | null;
  readonly fork: string | null;
  /** Commands that run in it now, or the program that keeps it. */
  readonly what: string;
  /** Whether the fork is mounted: then what freezes or applies it has to wait. */
  readonly holdsFork: boolean;
  /** Its processes, those in the jail too, and their memory. */
  readonly processes: number;
  readonly bytes: number;
  /** How to end it, in words. */
  readonly end: string;
}

type Found = Omit<Living, 'processes' | 'bytes' | 'since'> & { readonly since?: string };

/** Of what keeps several each of them has a part. */
function measured(table: ProcessTable, found: Found, all: readonly Found[]): Living {
  const { keeper } = found;
  // What a keeper runs is listed as commands.
  const family = found.kind === 'keeper' ? [found.pid] : familyOf(table, found.pid);
  const shared = keeper === undefined ? 0 : memoryOf(keeper) / all.filter((each) => each.keeper === keeper).length;
  return {
    ...found,
    since: found.since ?? table.get(found.pid)?.since ?? new Date().toISOString(),
    processes: family.length + (keeper === undefined ? 0 : 1),
    bytes: family.reduce((sum, pid) => sum + memoryOf(pid), Math.round(shared)),
  };
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // gone meanwhile
  }
}

/** Of one fork: those that keep a jail, and those that only run a command. */
async function onFork(
  { tree }: Host,
  paths: VaultPaths,
  origin: string,
  fork: string,
  facts: KeptJailFacts | undefined,
): Promise<readonly Found[]> {
  const place = paths.fork(fork);
  const { live } = await readGroup(tree, place);
  const workers = new Map(live.map((worker) => [worker.pid, worker]));
  const found = facts?.keeper ?? facts?.pid;
  const keepers = new Set([...keepersOf(place), ...live.map(({ pid }) => pid).filter((pid) => pid === found)]);
  const kept = [...keepers].map((keeper): Found => {
    const worker = workers.get(keeper);
    const about = { kind: 'kept jail', origin, fork, holdsFork: worker !== undefined } as const;
    if (keeper !== found) {
      const what = worker?.command ?? `idle, kept by ${wordsOf(keeper).join(' ')}`;
      return { ...about, pid: keeper, what, end: `ctx stop ${keeper}` };
    }
    const { pid = keeper } = facts ?? {};
    const end = `ctx jail stop --fork ${fork} in that directory`;
    return { ...about, pid, what: worker?.command ?? 'idle', end, ...(pid === keeper ? {} : { keeper }) };
  });
  const commands = live
    .filter(({ pid }) => !keepers.has(pid))
    .map(({ pid, since, command, mount }): Found => {
      if (mount !== undefined) {
        const end = `ctx fork unmount ${shellWord(mount)}`;
        return { kind: 'fork mount', pid, since, origin, fork, what: mount, holdsFork: true, end };
      }
      return { kind: 'command', pid, since, origin, fork, what: command, holdsFork: true, end: `ctx stop ${pid}` };
    });
  return [...kept, ...commands];
}

function freeing({ store }: Host, table: ProcessTable): readonly Found[] {
  const { trash } = storePaths(store.directory);
  const isOurs = (pid: number) => {
    const [, verb, directory] = wordsOf(pid);
    return verb === 'empty' && directory === trash;
  };
  return [...table.keys()].filter(isOurs).map((pid): Found => {
    const end = `ctx stop ${pid}; the next verb continues it`;
    const what = `${trashCount(store)} deleted directories`;
    return { kind: 'freeing', pid, origin: null, fork: null, what, holdsFork: false, end };
  });
}

/** Trees that a person mounted. They belong to no store, so those count whose server has the same one. Mounted forks are known already. */
function treeMounts(host: Host, known: ReadonlySet<number>): readonly Found[] {
  return ownMounts()
    .filter(({ server }) => !known.has(server) && ownerOf(server) === host.uid && isHostOf(environmentOf(server), host))
    .map(({ directory, server }): Found => {
      const end = `ctx vfs unmount ${shellWord(directory)}`;
      return { kind: 'tree mount', pid: server, origin: null, fork: null, what: directory, holdsFork: false, end };
    });
}

/** Commands on a directory itself. One process may run several, and may be known by what else it does: it ends as a whole. */
function liveCommands(host: Host, known: ReadonlySet<number>): readonly Found[] {
  const byProcess = new Map(livingRuns(host).map((run) => [run.pid, run]));
  return [...byProcess.values()]
    .filter(({ pid }) => !known.has(pid))
    .map(({ pid, origin, command }): Found => {
      const end = `ctx stop ${pid}`;
      return { kind: 'command', pid, origin, fork: null, what: command, holdsFork: false, end };
    });
}

/** Verbs that run a command, or go on until they are ended: the rest is done at once, or waits for one of these. */
const lasting = ['exec', 'run', 'mcp', 'jail run', 'jail exec', 'tool call', 'audit tail'];

/**
 * Verbs in a process of their own that are at no work so far: a server that waits for its client, a command that waits for a person, a
 * fork or its turn. Those in copies of a keeper end with that.
 */
function waitingVerbs(host: Host, table: ProcessTable, known: ReadonlySet<number>): readonly Found[] {
  const verbOf = (pid: number): readonly string[] => {
    const [, program = '', ...words] = wordsOf(pid);
    const isVerb = lasting.includes(words[0] ?? '') || lasting.includes(words.slice(0, 2).join(' '));
    return isVerb && /\/dist\/cli\/ctx\.cjs$/.test(program) && ownerOf(pid) === host.uid ? words : [];
  };
  return [...table.keys()]
    .filter((pid) => !known.has(pid) && verbOf(pid).length > 0 && isHostOf(environmentOf(pid), host))
    .map((pid): Found => {
      const words = verbOf(pid);
      const isServer = words[0] === 'mcp';
      const what = isServer ? 'waits for its client' : `waits: ctx ${words.join(' ')}`;
      const kind = isServer ? 'MCP server' : 'command';
      return { kind, pid, origin: null, fork: null, what, holdsFork: false, end: `ctx stop ${pid}` };
    });
}

/** Copies of it, which run calls, have its words too: the one that keeps them is in its lock. */
function keepers({ store }: Host): readonly Found[] {
  return livingKeepers(store.directory).map(({ pid, since }): Found => {
    const end = `ctx stop ${pid}; what it runs ends first`;
    const what = 'runs verbs without a start of Node';
    return { kind: 'keeper', pid, since, origin: null, fork: null, what, holdsFork: false, end };
  });
}

/** What runs in a vault that cannot be read has to be found and ended like all else; its own directory stands for the workspace. */
function originOf(paths: VaultPaths): string | undefined {
  try {
    return readVaultMeta(paths.meta)?.origin;
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return paths.directory;
  }
}

/** Of the whole store, oldest first. */
export async function listLiving(host: Host): Promise<readonly Living[]> {
  const { directory } = host.store;
  const keptJails = await new KeptJails(host).list();
  const found: Found[] = [];
  for (const id of namesIn(storePaths(directory).vaults)) {
    const paths = vaultPaths(directory, id);
    const origin = originOf(paths);
    if (origin === undefined) continue;
    for (const fork of namesIn(paths.forks).filter(isForkName)) {
      const facts = keptJails.find((each) => each.origin === origin && each.fork === fork);
      found.push(...(await onFork(host, paths, origin, fork, facts)));
    }
  }
  const table = readProcessTable();
  const pidsOf = (some: readonly Found[]) =>
    some.flatMap(({ pid, keeper }) => [pid, ...(keeper === undefined ? [] : [keeper])]);
  found.push(...liveCommands(host, new Set(pidsOf(found))));
  const known = new Set(pidsOf(found));
  const more = [
    ...treeMounts(host, known),
    ...waitingVerbs(host, table, known),
    ...keepers(host),
    ...freeing(host, table),
  ];
  const all = [...found, ...more].map((each, _index, every) => measured(table, each, every));
  return all.sort((left, right) => left.since.localeCompare(right.since));
}
