/**
 * State that changes with every command. Each version is a file of its own and the newest whole one counts: replacing one
 * file by rename makes some file systems write its data out first, which costs more than all the rest of a checkpoint.
 * One process writes, under the lock of what the state is of; anybody may read.
 *
 * A version is *synced* where everything it names was on the disk before it was written, and it is there itself. The last such
 * one stays until there is a newer one: after a power cut the others may be empty, or name what is not there (`recover`).
 */

import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../../base/atomic-file.js';
import { currentBoot } from '../../base/boot.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { membersOf, parseJson } from '../../base/shape.js';

const pattern = /^state-(\d{1,15})\.json$/;
/** The one before stays: after a power cut the newest may be empty. */
const versionsKept = 2;

export interface Version {
  readonly value: unknown;
  /** The start of the machine it was written in; undefined where it is synced. */
  readonly boot: string | undefined;
}

const fileOf = (directory: string, version: number) => join(directory, `state-${version}.json`);

/** Newest first. */
function versionsIn(directory: string): number[] {
  try {
    return readdirSync(directory)
      .map((name) => pattern.exec(name)?.[1])
      .filter((text) => text !== undefined)
      .map(Number)
      .sort((left, right) => right - left);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'list', directory);
  }
}

/** What this process read or wrote last of each directory. A version never changes: the same file is the same value. */
const known = new Map<string, { readonly identity: string; readonly version: Version }>();
const mostKnown = 100;

function identityOf(path: string): string | undefined {
  const about = statSync(path, { bigint: true, throwIfNoEntry: false });
  return about === undefined ? undefined : `${path} ${about.ino} ${about.mtimeNs} ${about.size}`;
}

function remember(directory: string, identity: string | undefined, version: Version): void {
  if (known.size >= mostKnown) known.clear();
  if (identity !== undefined) known.set(directory, { identity, version });
}

/** States of before there were versions that are not synced have no such envelope. */
function versionOf(parsed: unknown): Version {
  const { boot, state } = membersOf(parsed);
  if (state === undefined) return { value: parsed, boot: undefined };
  return { value: state, boot: typeof boot === 'string' ? boot : undefined };
}

/** Undefined for one that is not whole, or has gone by now: that is told. */
function versionAt(path: string, onGone: () => void): Version | undefined {
  try {
    return versionOf(parseJson(readFileSync(path, 'utf8')));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) onGone();
    else if (!(error instanceof SyntaxError)) throw fromSystemError(error, 'read', path);
    return undefined;
  }
}

/**
 * What is read of the versions that are there, newest first. A reader without the lock can be overtaken: where a version goes between the
 * listing and the reading there are newer ones, and it begins again. What is left then may be the last that was synced alone, or nothing.
 */
function asListed<T>(directory: string, read: (paths: readonly string[], onGone: () => void) => T): T {
  for (let before: string | undefined; ; ) {
    const paths = versionsIn(directory).map((number) => fileOf(directory, number));
    const listed = paths.join();
    let isOvertaken = false;
    const found = read(paths, () => {
      isOvertaken = true;
    });
    if (!isOvertaken || listed === before) return found;
    before = listed;
  }
}

/** Newest first, those that are whole; `damaged` are the files of the others. */
export function readVersions(directory: string): {
  readonly whole: readonly Version[];
  readonly damaged: readonly string[];
} {
  return asListed(directory, (paths, onGone) => {
    const read = paths.map((path) => [path, versionAt(path, onGone)] as const);
    return {
      whole: read.flatMap(([, version]) => version ?? []),
      damaged: read.flatMap(([path, version]) => (version === undefined ? [path] : [])),
    };
  });
}

/** The newest whole one; undefined where none was ever written. `skipped`: a newer one is damaged. */
export function readNewest(directory: string): (Version & { readonly skipped: boolean }) | undefined {
  const found = asListed(directory, (paths, onGone) => {
    for (const [index, path] of paths.entries()) {
      const identity = identityOf(path);
      const last = known.get(directory);
      if (last !== undefined && last.identity === identity) return { ...last.version, skipped: index > 0 };
      const version = versionAt(path, onGone);
      if (version === undefined) continue;
      remember(directory, identity, version);
      return { ...version, skipped: index > 0 };
    }
    return paths.length === 0 ? 'none' : 'damaged';
  });
  if (found === 'none') return undefined;
  if (found !== 'damaged') return found;
  throw new ErrnoError('EIO', {
    operation: 'read',
    path: directory,
    reason: 'expected a state file that is whole; all of them are damaged',
    remedy: 'ctx fsck --repair starts the fork afresh; its layers are plain directories',
  });
}

export function readState(directory: string): unknown {
  return readNewest(directory)?.value;
}

/** A version that is not confirmed is taken back: who was told that it failed shall find the one before, and may try again. */
function syncName(directory: string, path: string): void {
  try {
    syncDirectory(directory);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

export interface StateWriting {
  /** Whatever the value names is on the disk already: so is the version then, and older ones go. */
  readonly durable: boolean;
  /** The version is on the disk although what it names may not be: of something a person has just named. */
  readonly isKept?: boolean | undefined;
}

export function writeState(directory: string, value: unknown, options: StateWriting): void {
  const isSyncedItself = options.durable || options.isKept === true;
  const versions = versionsIn(directory);
  const path = fileOf(directory, (versions[0] ?? 0) + 1);
  const boot = options.durable ? undefined : currentBoot();
  try {
    const temporary = join(directory, 'state.new');
    const descriptor = openSync(temporary, 'w', 0o600);
    try {
      // Whole or thrown: it goes on after a short write.
      writeFileSync(descriptor, `${JSON.stringify({ boot, state: value })}\n`);
      if (isSyncedItself) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
    if (isSyncedItself) syncName(directory, path);
    remember(directory, identityOf(path), { value, boot });
    for (const old of superseded(directory, versions, options.durable)) rmSync(old, { force: true });
  } catch (error) {
    throw fromSystemError(error, 'write', path);
  }
}

/** By its first bytes alone: it is asked with every command. */
function isSynced(path: string): boolean {
  const start = Buffer.alloc(8);
  try {
    const descriptor = openSync(path, 'r');
    try {
      return readSync(descriptor, start) > 0 && start.toString('latin1') !== '{"boot":';
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Of the versions before a new one, those that no one goes back to. */
function superseded(directory: string, versions: readonly number[], durable: boolean): readonly string[] {
  const paths = versions.map((number) => fileOf(directory, number));
  if (durable) return paths;
  const older = paths.slice(versionsKept - 1);
  const last = older.findIndex(isSynced);
  return older.filter((_, index) => index !== last);
}
