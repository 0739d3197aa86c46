/** What a fork holds, for anyone who asks, while commands run in it, too. */
import { existsSync, readdirSync } from 'node:fs';
import { ErrnoError } from '../base/errno.js';
import { diffedBytesAtOnce } from '../base/limits/store.js';
import type { Host } from '../proxy/host.js';
import { forkChanges, readChanges, standingClashes, type TextChange } from '../vault/forks/changes.js';
import { findCheckpoint } from '../vault/forks/checkpoint.js';
import { withRenames } from '../vault/forks/renames.js';
import { workspaceRoot } from '../vault/store/layout.js';
import { refuseForeign } from '../vault/store/root-paths.js';
import { trashCount } from '../vault/store/trash.js';
import { lookAtRoot } from '../vault/store/trunk-look.js';
import type { AtWork } from '../vault/store/worker-file.js';
import type { Change } from '../vault/tree/tree.js';
import { countUsage } from '../vault/tree/usage.js';
import type { OpenFork } from '../vault/vault.js';
import type { ForkRequest } from './fork-verbs.js';
import { lookIntoFork } from './look-into-fork.js';

export interface ForkStatus {
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
  readonly layers: number;
  readonly changes: readonly Change[];
  readonly clashes: readonly string[];
  readonly checkpoints: number;
  /** What its `/tmp` holds: no change of the fork, and no rollback undoes it. */
  readonly temporary: { readonly bytes: number; readonly files: number };
  /** Directories of the store that were thrown away, by any verb, and are still being freed. */
  readonly freeing: number;
  /** Commands that were at work on it: of what they write, what they had written so far. */
  readonly running: readonly AtWork[];
  /** Paths of the directory that changed while they work: these enter the fork when all of them have ended. */
  readonly waiting: number;
}

function isEmpty(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false; // what may not be listed is the program's to report
  }
}

async function temporaryOf({ place, tree }: OpenFork): Promise<ForkStatus['temporary']> {
  // Mostly empty, and then no program has to be started to count it.
  if (!existsSync(place.temporary) || isEmpty(place.temporary)) return { bytes: 0, files: 0 };
  const { bytes, files } = await countUsage(tree.program, [place.temporary]);
  return { bytes, files };
}

/** Nothing is written: the signatures belong to who has the fork's lock. */
async function waitingEdits(fork: OpenFork): Promise<number> {
  // Where nothing is copied an edit shows at once.
  if (fork.vault.uncopied === true) return 0;
  try {
    return (await lookAtRoot({ access: fork, key: workspaceRoot, path: fork.vault.origin })).length;
  } catch (error) {
    // The directory is away, or the disk is full: the next command says so, and this is about the fork.
    if (error instanceof ErrnoError) return 0;
    throw error;
  }
}

async function statusOf(
  fork: OpenFork,
  { since, about }: Pick<LookRequest, 'since' | 'about'>,
  running: readonly AtWork[],
): Promise<ForkStatus> {
  const { meta } = fork;
  const moment = since === undefined ? undefined : findCheckpoint(fork, since);
  const found = await forkChanges(fork, moment, about);
  return {
    origin: fork.vault.origin,
    vault: fork.id,
    fork: fork.name,
    layers: meta.base.length + meta.deltas.length,
    changes: running.length === 0 ? await withRenames(fork, found, moment) : found,
    clashes: await standingClashes(fork),
    checkpoints: meta.checkpoints.length,
    temporary: await temporaryOf(fork),
    freeing: trashCount(fork.store),
    running,
    waiting: running.length === 0 ? 0 : await waitingEdits(fork),
  };
}

export interface LookRequest extends ForkRequest {
  /** Shown paths that are asked for: those of no root are refused. */
  readonly about?: readonly string[] | undefined;
  /** A checkpoint: only what changed after it. */
  readonly since?: string | undefined;
}

export function lookAtFork(host: Host, request: LookRequest): Promise<ForkStatus> {
  return lookIntoFork(host, request, 'ctx status', async (fork, running) => {
    refuseForeign(fork.vault.roots, request.about ?? [], 'look at the fork');
    return statusOf(fork, request, running);
  });
}

export interface ForkReading {
  /** Of the changes, those whose contents are wanted. */
  choose(status: ForkStatus): readonly Change[];
  /** Each of them, with both its sides: a few are in memory at a time, whatever their number. */
  visit(text: TextChange): void | Promise<void>;
  /** Bytes of one file beyond which it is not read to its end. */
  readonly most: number;
}

/** The status, and the contents on both sides of some of its changes. */
export function readFork(host: Host, request: LookRequest, { choose, visit, most }: ForkReading): Promise<ForkStatus> {
  return lookIntoFork(host, request, 'ctx diff', async (fork, running) => {
    const { since, about = [] } = request;
    refuseForeign(fork.vault.roots, about, 'ctx diff');
    const status = await statusOf(fork, request, running);
    const moment = since === undefined ? undefined : findCheckpoint(fork, since);
    const chosen = choose(status);
    const atOnce = Math.max(1, Math.floor(diffedBytesAtOnce / (2 * most)));
    for (let at = 0; at < chosen.length; at += atOnce) {
      const part = chosen.slice(at, at + atOnce);
      for (const text of await readChanges(fork, part, moment, { most, digests: true })) await visit(text);
    }
    return status;
  });
}
