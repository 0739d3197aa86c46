/**
 * One file of a fork's group (`group`): who is at work, or for whose kept jail the file is kept while nothing is mounted. Always as
 * long: coming and going makes no room on a full disk, and takes none.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../base/errno.js';
import { flag, having, integer, list, nullable, ofShape, optional, parsedAs, word } from '../../base/shape.js';
import type { Tree } from '../tree/tree.js';
import type { ForkPaths } from './layout.js';
import { isFree } from './locks.js';

/** Somebody who uses a fork now, as people are told of it. */
export interface AtWork {
  readonly pid: number;
  /** The process to name instead, and to end: of a kept jail whose process `pid` keeps others, too. */
  readonly jailProcess?: number | undefined;
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
}

/** As `ctx ps` names it. */
export const namedProcess = ({ pid, jailProcess }: AtWork): number => jailProcess ?? pid;

/** A run that has begun, and whose chain says how it ends; null for the person's. */
export interface BegunRun {
  readonly run: string;
  readonly agent: string | null;
}

export interface Worker extends AtWork {
  readonly name: string;
  /** The owner of its jail, from when that has mounted everything. */
  readonly jail: number | null;
  /** Roots that it mounts, or is about to. */
  readonly roots: readonly string[];
  /** Whose the fork's files are shown to be: a mount shows them one way only. */
  readonly owners: string;
  /** The checkpoint before the group, for `ctx rollback`. */
  readonly checkpoint: number | null;
  readonly runs: readonly BegunRun[];
  /** Its command was approved once, for what it finds: no one else may write to the fork while it runs. */
  readonly bound?: boolean | undefined;
  /** The directory at which a person has the fork mounted, where that is its work. */
  readonly mount?: string | undefined;
}

/** Of such a file. */
const size = 4_096;

export const padded = (text: string) => text.padEnd(Math.max(size, text.length + 1) - 1).concat('\n');

const processId = integer(1);
const workerShape = having({
  pid: processId,
  command: word,
  since: word,
  name: word,
  jail: nullable(processId),
  roots: list(word),
  owners: word,
  checkpoint: nullable(integer(0)),
  runs: list(having({ run: word, agent: nullable(word) })),
  bound: optional(flag),
  mount: optional(word),
});
const keptShape = having({ kept: processId, jail: optional(processId) });

/** What a file of the group says: somebody, or for whose kept jail it is kept while nothing is mounted there; or nothing. */
export function readWorkerFile(descriptor: number): Partial<Worker & { readonly kept: number }> {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  const text = bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0)).trim();
  // What is of neither shape is being written, or was cut off by its end.
  return parsedAs(text, workerShape) ?? parsedAs(text, keptShape) ?? {};
}

export const isWorker = (value: Partial<Worker>): value is Worker => ofShape(value, workerShape) !== undefined;

export function openWorker(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined; // the fork is gone
    throw error;
  }
}

export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/**
 * A file of the group that one can have; with the fork's lock held. A process that was killed there has been forgotten.
 */
export async function freePlace(tree: Tree, { group }: ForkPaths): Promise<KeptPlace> {
  for (let number = 0; ; number += 1) {
    const name = String(number);
    const descriptor = openPlace(group, name);
    const { kept, ...found } = readWorkerFile(descriptor);
    const isKept = kept !== undefined && isThere(kept);
    if (!isKept && !isWorker(found) && (await isFree(tree, descriptor))) return { name, descriptor };
    closeSync(descriptor);
  }
}

function openPlace(group: string, name: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT;
  try {
    return openSync(join(group, name), flags, 0o600);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    mkdirSync(group, { recursive: true, mode: 0o700 });
    return openSync(join(group, name), flags, 0o600);
  }
}

/** A file of the group that a kept jail has open, too, from its start to its end. */
export interface KeptPlace {
  readonly name: string;
  readonly descriptor: number;
  /** Of the jail, where the process that keeps it keeps others, too; known once it is kept. */
  jailProcess?: number | undefined;
  /** The owner of the jail, once that is made. */
  jail?: number | undefined;
}

export const keptText = ({ jail }: Pick<KeptPlace, 'jail'>) =>
  padded(JSON.stringify({ kept: process.pid, ...(jail === undefined ? {} : { jail }) }));

/** With the fork's lock held. */
export async function keepPlace(tree: Tree, place: ForkPaths): Promise<KeptPlace> {
  const kept = await freePlace(tree, place);
  writeSync(kept.descriptor, keptText(kept), 0);
  tree.unlock(kept.descriptor);
  return kept;
}

function keptIn({ group }: ForkPaths): readonly { readonly kept: number; readonly jail?: number | null }[] {
  return namesIn(group).flatMap((name) => {
    const descriptor = openWorker(join(group, name));
    if (descriptor === undefined) return [];
    try {
      const { kept, jail } = readWorkerFile(descriptor);
      return kept !== undefined && isThere(kept) ? [{ kept, ...(jail === undefined ? {} : { jail }) }] : [];
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Processes that have a kept jail on the fork, and no command of it running. */
export const keepersOf = (place: ForkPaths): readonly number[] => keptIn(place).map(({ kept }) => kept);

/** Owners of such jails: they have caches of the fork mounted, and not the fork. */
export const idleJailsOf = (place: ForkPaths): readonly number[] => keptIn(place).flatMap(({ jail }) => jail ?? []);

/** When its jail has ended. */
export function leavePlace({ descriptor }: KeptPlace): void {
  writeSync(descriptor, padded(''), 0);
  closeSync(descriptor);
}

export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}
