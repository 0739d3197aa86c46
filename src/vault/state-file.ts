/**
 * State that changes with every command. Each version is a file of its own and the newest whole one counts: replacing one
 * file by rename makes some file systems write its data out first, which costs more than all the rest of a checkpoint.
 * One process writes, under the lock of what the state is of; anybody may read.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';

const pattern = /^state-(\d{1,15})\.json$/;
/** The one before stays: after a power cut the newest may be empty. */
const versionsKept = 2;

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
const known = new Map<string, { readonly identity: string; readonly value: unknown }>();
const mostKnown = 100;

function identityOf(path: string): string | undefined {
  const about = statSync(path, { bigint: true, throwIfNoEntry: false });
  return about === undefined ? undefined : `${path} ${about.ino} ${about.mtimeNs} ${about.size}`;
}

function remember(directory: string, identity: string | undefined, value: unknown): void {
  if (known.size >= mostKnown) known.clear();
  if (identity !== undefined) known.set(directory, { identity, value });
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || hasCode(error, 'ENOENT')) return undefined;
    throw fromSystemError(error, 'read', path);
  }
}

/** Undefined where none was ever written. */
export function readState(directory: string): unknown {
  const versions = versionsIn(directory);
  for (const version of versions) {
    const path = fileOf(directory, version);
    const identity = identityOf(path);
    const last = known.get(directory);
    if (last !== undefined && last.identity === identity) return last.value;
    const value = parsed(path);
    if (value === undefined) continue;
    remember(directory, identity, value);
    return value;
  }
  if (versions.length === 0) return undefined;
  // Written on between the listing and the reading, as far as a reader without the lock can be overtaken.
  const [newest] = versionsIn(directory);
  const again = newest === versions[0] || newest === undefined ? undefined : parsed(fileOf(directory, newest));
  if (again !== undefined) return again;
  throw new ErrnoError('EIO', {
    operation: 'read',
    path: directory,
    reason: 'expected a state file that is whole; all of them are damaged',
  });
}

export function writeState(directory: string, value: unknown, options: { readonly durable: boolean }): void {
  const versions = versionsIn(directory);
  const next = (versions[0] ?? 0) + 1;
  const path = fileOf(directory, next);
  try {
    const temporary = join(directory, 'state.new');
    const descriptor = openSync(temporary, 'w', 0o600);
    try {
      writeSync(descriptor, `${JSON.stringify(value)}\n`);
      if (options.durable) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
    remember(directory, identityOf(path), value);
    for (const old of versions.slice(versionsKept - 1)) rmSync(fileOf(directory, old), { force: true });
  } catch (error) {
    throw fromSystemError(error, 'write', path);
  }
}
