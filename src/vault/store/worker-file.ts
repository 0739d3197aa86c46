/**
 * One file of a fork's group (`group`): who is at work, or for whose kept jail the file is kept while nothing is mounted. Always as
 * long: coming and going makes no room on a full disk, and takes none.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { isThere, startOf } from '../../base/process-table.js';
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

export function padded(text: string): string {
  const missing = size - 1 - Buffer.byteLength(text);
  return `${text}${' '.repeat(Math.max(0, missing))}\n`;
}

/** What it says from now on. Of a longer text nothing is left: with its end behind another one the file would say nothing. */
export function say(descriptor: number, text: string): void {
  const bytes = Buffer.from(padded(text));
  writeSync(descriptor, bytes, 0, bytes.length, 0);
  if (fstatSync(descriptor).size > bytes.length) ftruncateSync(descriptor, bytes.length);
}

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
/** `start` tells the process from a later one of the same number; an earlier version did not write it. */
interface KeptFor {
  readonly kept: number;
  readonly start?: string | undefined;
  readonly jail?: number | undefined;
}

const keptShape = having({ kept: processId, start: optional(word), jail: optional(processId) });

/** What a file of the group says: somebody, or for whose kept jail it is kept while nothing is mounted there; or nothing. */
export function readWorkerFile(descriptor: number): Partial<Worker & Omit<KeptFor, 'jail'>> {
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
    let isFound = false;
    try {
      const { kept, start, ...found } = readWorkerFile(descriptor);
      isFound = !isKeptFor(kept, start) && !isWorker(found) && (await isFree(tree, descriptor));
    } finally {
      if (!isFound) closeSync(descriptor);
    }
    if (isFound) return { name, descriptor };
  }
}

function openPlace(group: string, name: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT;
  try {
    return openSync(join(group, name), flags, 0o600);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    makeDirectory(group);
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

export function keptText({ jail }: Pick<KeptPlace, 'jail'>): string {
  const found: KeptFor = { kept: process.pid, start: startOf(process.pid), jail };
  return JSON.stringify(found);
}

/** With the fork's lock held. */
export async function keepPlace(tree: Tree, place: ForkPaths): Promise<KeptPlace> {
  const kept = await freePlace(tree, place);
  try {
    say(kept.descriptor, keptText(kept));
    tree.unlock(kept.descriptor);
    return kept;
  } catch (error) {
    closeSync(kept.descriptor);
    throw error;
  }
}

/** Whether the process that a place is kept for lives. */
function isKeptFor(kept: number | undefined, start: string | undefined): kept is number {
  if (kept === undefined) return false;
  return start === undefined ? isThere(kept) : startOf(kept) === start;
}

function keptIn({ group }: ForkPaths): readonly (Omit<KeptFor, 'jail'> & Partial<Pick<Worker, 'jail'>>)[] {
  return namesIn(group).flatMap((name) => {
    const descriptor = openWorker(join(group, name));
    if (descriptor === undefined) return [];
    try {
      const { kept, start, jail } = readWorkerFile(descriptor);
      return isKeptFor(kept, start) ? [{ kept, start, ...(jail === undefined ? {} : { jail }) }] : [];
    } finally {
      closeSync(descriptor);
    }
  });
}

/**
 * Processes that have a kept jail on the fork, and no command of it running. They are named to be ended: one that may have got its number
 * later, from one that was killed, is not.
 */
export const keepersOf = (place: ForkPaths): readonly number[] =>
  keptIn(place).flatMap(({ kept, start }) => (start === undefined ? [] : [kept]));

/** Owners of such jails: they have caches of the fork mounted, and not the fork. */
export const idleJailsOf = (place: ForkPaths): readonly number[] => keptIn(place).flatMap(({ jail }) => jail ?? []);

/** When its jail has ended. */
export function leavePlace({ descriptor }: KeptPlace): void {
  try {
    say(descriptor, '');
  } finally {
    closeSync(descriptor);
  }
}
